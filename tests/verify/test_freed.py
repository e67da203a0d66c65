"""After the stop: freed, drifted within tolerance, or held and by whom."""

from evener.records.card import Holder
from evener.records.deployment import Process
from evener.verify.freed import check_freed, judge
from tests.rigs import GIB, MIB, card, cpu, scan, seen
from tests.verify.test_loaded import CANDIDATE

OURS = frozenset({7})


def holder(pid, gib=8, user="eve"):
    return Holder(kind="process", bytes=gib * GIB, pid=pid, user=user, command="python train.py")


def test_memory_that_came_back_is_freed():
    assert judge(500 * MIB, 510 * MIB, (), OURS)[0] == "freed"


def test_a_floor_300_mib_higher_is_drift_and_is_noted():
    verdict, why, _ = judge(500 * MIB, 800 * MIB, (), OURS)
    assert verdict == "freed, drifted"
    assert why == "300 MiB above the figure before, within 512 MiB"


def test_eight_gib_of_another_users_process_is_held_by_name():
    verdict, why, holders = judge(500 * MIB, 500 * MIB + 8 * GIB, (holder(99),), OURS)
    assert verdict == "held"
    assert why == "held by pid 99 (python train.py of eve)"
    assert holders == (holder(99),)


def test_memory_without_a_process_is_held_and_unexplained():
    verdict, why, _ = judge(500 * MIB, 500 * MIB + 8 * GIB, (), OURS)
    assert (verdict, why) == ("held", "8192 MiB above the figure before, and no process explains it")


def test_our_own_process_left_behind_is_held_whatever_the_sums_say():
    verdict, why, _ = judge(500 * MIB, 400 * MIB, (holder(7),), OURS)
    assert (verdict, why) == ("held", "our own pid 7 still holds memory")


def test_a_card_that_does_not_tell_is_unknown():
    assert judge(None, 500 * MIB, (), OURS)[0] == "unknown"


def test_a_cpu_card_counts_our_processes_and_nobody_elses():
    ours = Process(role="worker", host="beta", pid=7, listen="127.0.0.2:50052", argv=())
    worker = Holder(kind="process", bytes=137 * MIB, pid=7, command="ggml-rpc-server")
    other = holder(99)
    before = scan(seen("beta", cpu(holders=(other,))))
    during = scan(seen("beta", cpu(holders=(other, worker))))
    after = scan(seen("beta", cpu(holders=(other,))))
    (one,) = check_freed(CANDIDATE, before, during, after, (ours,))
    assert (one.before_bytes, one.during_bytes, one.after_bytes) == (0, 137 * MIB, 0)
    assert one.verdict == "freed"


def test_a_holder_that_was_there_before_is_not_blamed():
    gpu = {"used_bytes": 8 * GIB, "holders": (holder(99),), "id": "cpu"}
    before = scan(seen("beta", card("RTX", 16 * GIB, **gpu)))
    after = scan(seen("beta", card("RTX", 16 * GIB, **(gpu | {"used_bytes": 8 * GIB + 300 * MIB}))))
    (one,) = check_freed(CANDIDATE, before, None, after, ())
    assert (one.verdict, one.during_bytes, one.holders) == ("freed, drifted", None, ())
