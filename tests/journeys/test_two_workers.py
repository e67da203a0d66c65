"""Two workers of one host are two endpoints: each has its own layers and buffers, and both are gone afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evener.journeys.deploy import Life, deployed
from tests.journeys.test_deploy import Loopback, free_port

pytestmark = pytest.mark.engine


def on_one_host(candidate):
    """The cluster of two hosts with both workers on alpha."""
    there, here = (next(w for w in candidate.workers if w.host == name) for name in ("beta", "alpha"))
    listen = f"{here.listen.partition(':')[0]}:{free_port()}"
    address, _, port = listen.partition(":")
    argv = list(there.argv)
    argv[argv.index("-H") + 1], argv[argv.index("-p") + 1] = address, port
    moved = replace(there, host="alpha", listen=listen, argv=tuple(argv))
    server = candidate.servers[0]
    asked = tuple(word.replace(there.listen, listen) for word in server.argv)
    return replace(
        candidate, hosts=("alpha",), servers=(replace(server, argv=asked),),
        workers=tuple(moved if w is there else w for w in candidate.workers),
        devices=tuple(replace(d, host="alpha") for d in candidate.devices),
    )  # fmt: skip


async def test_each_worker_is_seen_by_its_port(engine, model, tmp_path):
    loopback = Loopback(engine, tmp_path)
    planned = on_one_host(await loopback.cluster(model))
    life = Life(candidate=planned)
    async with deployed(life, loopback.world(), model_bytes=model.stat().st_size) as up:
        assert [p.host for p in up.processes if p.role == "worker"] == ["alpha", "alpha"]
        assert len({p.log for p in up.processes}) == 3
        assert [c.layers_seen for c in life.checks] == [d.layers for d in planned.devices]
        for device, check in zip(planned.devices, life.checks, strict=True):
            held = device.weights_bytes + device.kv_bytes
            assert held <= check.reported_bytes <= check.ceiling_bytes
    assert [f.verdict for f in life.freed] == ["freed", "freed"]
