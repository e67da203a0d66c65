"""Which engine is carried to a host, and whom `engine check` leaves alone."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from evener.api.rig import Rig
from evener.api.rig_engines import _endpoints, _engine_here, _serving, _workers
from evener.edges.rpc_probe import RpcProbe
from evener.records.rig import Host
from evener.records.rig import Rig as Record
from tests.report.report_samples import CLUSTER

FAR = Host(name="far", connection="ssh", ssh="far", engine="/opt/far/engine")


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("EVENER_CACHE", str(tmp_path / "cache"))


def test_the_engine_of_this_machine_is_carried_and_not_that_of_a_far_head() -> None:
    near = Host(name="near", connection="local", engine="/opt/near/engine")
    assert _engine_here(Record(hosts=(FAR, near))) == "/opt/near/engine"
    assert _engine_here(Record(hosts=(FAR,))) is None


async def test_an_endpoint_that_a_client_of_this_machine_uses_is_left_alone() -> None:
    """A head that evener did not start. The worker has one client at a time: a visit would wait in its queue."""
    with socket.socket() as worker, socket.socket() as head:
        worker.bind(("127.0.0.7", 0))
        worker.listen()
        endpoint = f"127.0.0.7:{worker.getsockname()[1]}"
        windows = Host(name="windows", connection="endpoint", endpoints=(endpoint,))
        rig, rpc = Rig(Record(hosts=(Host(name="near", connection="local"), windows))), RpcProbe()
        assert endpoint not in await _serving(rig)
        head.connect(worker.getsockname())
        with worker.accept()[0]:
            found, problems = await _workers(windows, None, rpc, None, await _serving(rig))
            worker.setblocking(False)
            with pytest.raises(BlockingIOError):
                worker.accept()
    assert ([one.answer for one in found], problems) == (["it serves a client on this machine"], [])


def test_every_endpoint_of_a_deployment_serves_it() -> None:
    """Somebody else's, and our own workers, also before the head has connected."""
    assert _endpoints(CLUSTER) == ("127.0.0.1:50052", "127.0.0.1:50060")
    assert _endpoints(replace(CLUSTER, workers=CLUSTER.workers[:1])) == ("127.0.0.1:50060", "127.0.0.1:50052")
