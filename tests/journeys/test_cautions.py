from dataclasses import replace

from evener.journeys.cautions import cautions
from evener.records.card import Holder
from tests.rigs import GIB, MIB, card, cpu, scan, seen
from tests.verify.test_loaded import CANDIDATE, PLAN

ON_GPU = replace(CANDIDATE, devices=(replace(PLAN, card="GPU-1", card_name="RTX 5080"),))


def lines(candidate, *holders, on=None):
    where = on or card("RTX 5080", 16 * GIB, id="GPU-1")
    return list(cautions(candidate, scan(seen("beta", replace(where, holders=holders)))))


def holder(**more):
    facts = {"kind": "process", "bytes": 3 * GIB, "pid": 99, "user": "eve", "command": "llama-server", "age_s": 3600.0}
    return Holder(**(facts | more))


def test_a_small_model_of_an_earlier_test_is_named_before_the_load():
    assert lines(ON_GPU, holder()) == ["beta/RTX 5080: 3072 MiB held by llama-server of eve (pid 99, for 60 min)"]


def test_memory_that_no_process_explains_is_said_too():
    unattributed = holder(kind="unattributed", pid=None, user=None, command=None, age_s=None)
    assert lines(ON_GPU, unattributed) == ["beta/RTX 5080: 3072 MiB held by nobody the driver names"]


def test_declared_residents_and_trifles_are_no_news():
    assert lines(ON_GPU, holder(resident="comfyui"), holder(bytes=63 * MIB)) == []


def test_main_memory_is_everybodys_and_only_other_engines_are_named():
    assert lines(CANDIDATE, holder(command="firefox"), on=cpu()) == []
    assert len(lines(CANDIDATE, holder(), on=cpu())) == 1


def test_a_card_nobody_can_look_into_gives_no_line():
    nobody = scan(seen("beta", replace(card("RTX 5080", 16 * GIB, id="GPU-1"), holders=None)))
    assert list(cautions(ON_GPU, nobody)) == []
