"""The door's parts that need no engine: whom an order means, whose the machines are, what the URL is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evener.api.door import House, Machines, _tls, _url
from evener.edges import locks
from evener.errors import ConfigurationError, HostBusy, NameUnknown
from evener.state import state_folder


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))


def house(**hosts: tuple[str, ...]) -> House:
    keepers = {
        name: SimpleNamespace(post=SimpleNamespace(name=name, model="demo", candidate=SimpleNamespace(hosts=on)))
        for name, on in hosts.items()
    }
    nothing: Any = None
    return House(
        door=nothing, keepers=cast(Any, keepers), usage=nothing, welcome=nothing, run=nothing, url="", tell=nothing
    )


def test_an_order_means_a_deployment_by_its_name_its_host_its_model_or_as_the_only_one() -> None:
    two = house(one=("alpha",), other=("beta",))
    assert two.keeper("one").post.name == two.keeper("alpha").post.name == "one"
    assert two.keeper("beta").post.name == "other"
    assert house(one=("alpha",)).keeper(None).post.name == house(one=("alpha",)).keeper("demo").post.name == "one"
    for unclear in (None, "demo"):
        with pytest.raises(NameUnknown, match="several") as told:
            two.keeper(unclear)
        assert told.value.hint == "there is one, other"
    with pytest.raises(NameUnknown, match="gamma") as told:
        two.keeper("gamma")
    assert told.value.hint == "there is one, other"


@pytest.fixture
def machines() -> Iterator[Machines]:
    made = Machines()
    yield made
    made.close()


def is_held(machine: str) -> bool:
    return locks.holder_pid(state_folder() / "locks", machine) is not None


def test_a_machine_is_held_while_any_deployment_needs_it(machines: Machines) -> None:
    machines.hold("one", {"m-1": "alpha", "m-2": "beta"})
    machines.hold("other", {"m-2": "beta again"})
    machines.hold("one", {"m-1": "alpha"})
    assert is_held("m-1")
    assert is_held("m-2"), "two deployments on one machine hold it once"
    machines.hold("other", {})
    assert not is_held("m-2")
    machines.close()
    assert not is_held("m-1")


def test_a_machine_that_somebody_else_has_is_busy_and_can_be_had_later(machines: Machines) -> None:
    somebody = locks.hold(state_folder() / "locks", "m-2", what="beta", owner="bench")
    with somebody, pytest.raises(HostBusy, match="beta is held by deployment bench"):
        machines.hold("one", {"m-1": "alpha", "m-2": "beta"})
    machines.hold("one", {"m-1": "alpha", "m-2": "beta"})
    assert is_held("m-1")
    assert is_held("m-2")


def test_an_address_of_six_is_in_brackets() -> None:
    assert _url("::1", 8080, is_tls=False) == "http://[::1]:8080"
    assert _url("192.168.1.10", 443, is_tls=True) == "https://192.168.1.10:443"


def test_files_that_are_no_certificate_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cert\.pem"):
        _tls((tmp_path / "cert.pem", tmp_path / "key.pem"))
