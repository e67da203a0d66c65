"""A layout that would exist if a host answered is no unknown name."""

from dataclasses import replace

import pytest

from evener.api.campaign_plan import Prepared, require_real
from evener.api.plans import planned_for
from evener.api.rig import Rig
from evener.errors import HostError, HostUnreachable, NameUnknown
from evener.plan.commands import Tools
from evener.plan.what_if import World
from evener.records.campaign import Campaign, Contestant, Schedule
from evener.records.card import HostSeen
from evener.records.plan import Workload
from evener.records.rig import Host
from tests import rigs

BETA = Host(name="beta", connection="ssh", ssh="beta", address="10.0.0.2")
GONE = HostSeen(name="beta", connection="ssh", fault="no answer from beta port 22")
WORLD = World(
    rig=replace(rigs.rig("alpha"), hosts=(*rigs.rig("alpha").hosts, BETA)),
    scan=rigs.scan(rigs.seen("alpha", rigs.cpu()), GONE),
)


@pytest.mark.parametrize("layout", ["beta", "cluster", "cluster-on-beta"])
def test_what_needs_the_host_says_that_it_does_not_answer(layout):
    with pytest.raises(HostError, match=f"--layout {layout}: beta: no answer from beta port 22"):
        planned_for(WORLD, rigs.weights(), Workload(), Tools(engines={}, ports={}), layout)


def test_any_other_name_is_unknown():
    with pytest.raises(NameUnknown, match="no such layout"):
        planned_for(WORLD, rigs.weights(), Workload(), Tools(engines={}, ports={}), "gamma")


def campaign(*layouts, contestant=Contestant(name="ours", model="demo")):  # noqa: B008 (frozen)
    return Prepared(
        campaign=Campaign(name="tonight", contestants=(contestant,), layouts=layouts),
        text="",
        rig=Rig(WORLD.rig),
        scan=WORLD.scan,
        schedule=Schedule(visits=(), fetches=(), minutes=None, disk_bytes=None),
    )


@pytest.mark.parametrize("layouts", [("auto",), ("alpha", "cluster"), ("beta",)])
def test_no_campaign_begins_without_a_host_that_it_may_need(layouts):
    with pytest.raises(HostUnreachable, match=r"^beta: no answer from beta port 22$"):
        require_real(campaign(*layouts))


def test_a_campaign_on_other_hosts_or_on_servers_that_run_already_begins():
    require_real(campaign("alpha"))
    require_real(campaign("auto", contestant=Contestant(name="there", url="http://10.0.0.9:8000")))
