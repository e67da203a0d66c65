"""Who holds memory, which cards take part, what a plan may use."""

from __future__ import annotations

from pathlib import Path

from evener.records.card import Card, HostSeen
from evener.records.rig import CardRules, Host, Resident
from evener.testing.fake_linux import APP_HEADER, GPU_HEADER, FakeProcess, fake_linux
from evener.testing.fake_shell import prints
from tests import case_one
from tests.case_one import GIB, MIB

CAPTURES = Path(__file__).parents[1] / "captures" / "nvidia_smi"


def alpha(**rules: object) -> Host:
    return Host(name="alpha", connection="local", **rules)  # type: ignore[arg-type]


async def gpu(host: Host, index: int = 0) -> Card:
    return (await case_one.one(host, case_one.alpha_shell())).cards[index]


async def captured(gpus: str, apps: str | None) -> Card:
    text = None if apps is None else (CAPTURES / apps).read_text()
    shell = fake_linux("box", gpus=(CAPTURES / gpus).read_text(), apps=text or "")
    return (await case_one.one(Host(name="box", connection="local"), shell)).cards[0]


async def test_a_holder_has_a_pid_a_user_a_command_an_age_and_bytes() -> None:
    (holder,) = (await gpu(alpha())).holders or ()
    assert (holder.kind, holder.pid, holder.user, holder.bytes) == ("process", 4321, "anna", 2980 * MIB)
    assert holder.command == "/opt/llama/llama-server -m /models/small.gguf --port 9000"
    assert holder.age_s == 7300


async def test_a_declared_resident_is_recognised_by_its_command() -> None:
    card = await gpu(alpha(residents=(Resident(name="comfyui", card="5060 ti", bytes=4000 * MIB),)), 1)
    resident = (card.holders or ())[0]
    assert (resident.kind, resident.resident, resident.user) == ("resident", "comfyui", "root")


async def test_a_resident_of_another_card_is_a_stranger_here() -> None:
    card = await gpu(alpha(residents=(Resident(name="comfyui", card="RTX 5090", bytes=1),)), 1)
    assert (card.holders or ())[0].kind == "process"


async def test_what_no_process_explains_has_a_row_of_its_own_and_small_change_has_none() -> None:
    big, small = await gpu(alpha(), 1), await gpu(alpha(), 0)
    assert (big.holders or ())[-1].kind == "unattributed"
    assert (big.holders or ())[-1].bytes == (4600 - 3600) * MIB
    assert [h.kind for h in small.holders or ()] == ["process"]  # 3100 used, 2980 explained


async def test_memory_that_windows_holds_behind_wsl_is_unattributed() -> None:
    (holder,) = (await captured("wsl2.csv", "wsl2_apps.csv")).holders or ()
    assert (holder.kind, holder.bytes) == ("unattributed", 3304 * MIB)


async def test_where_process_memory_is_not_told_nothing_is_called_unattributed() -> None:
    card = await captured("rtxpro6000_windows.csv", "rtxpro6000_windows_apps.csv")
    assert [(h.kind, h.bytes, h.pid) for h in card.holders or ()] == [("process", None, 3032), ("process", None, 13800)]


async def test_where_nobody_could_look_the_holder_is_unknown_and_not_none() -> None:
    shell = fake_linux("box", gpus=case_one.ALPHA_GPUS)
    ask_gpus = shell.programs["nvidia-smi"]
    fails = prints("Insufficient permissions\n", code=4)
    shell.programs = {
        **shell.programs,
        "nvidia-smi": lambda argv, stdin: (fails if "apps" in argv[1] else ask_gpus)(argv, stdin),
    }
    seen = await case_one.one(Host(name="box", connection="local"), shell)
    assert seen.cards[0].holders is None
    assert seen.cards[0].free_bytes == 29006 * MIB


async def test_a_card_with_no_process_has_nobody_and_that_is_known() -> None:
    shell = fake_linux("box", gpus=case_one.BETA_GPUS)
    assert (await case_one.one(Host(name="box", connection="local"), shell)).cards[0].holders == ()


async def test_a_pid_of_another_name_space_is_not_given_a_wrong_owner() -> None:
    stranger = FakeProcess(pid=4321, command="/usr/sbin/cron -f", uid=0)
    shell = fake_linux("box", gpus=case_one.ALPHA_GPUS, apps=case_one.ALPHA_APPS, processes=[stranger])
    (holder,) = (await case_one.one(Host(name="box", connection="local"), shell)).cards[0].holders or ()
    assert (holder.command, holder.user, holder.age_s) == ("/opt/llama/llama-server", None, None)


async def test_main_memory_names_engines_and_whoever_is_big() -> None:
    worker = FakeProcess(pid=5, command="/opt/llama/ggml-rpc-server -d CPU", rss_kib=140_000)
    database = FakeProcess(pid=6, command="/usr/bin/postgres", rss_kib=3 << 20)
    editor = FakeProcess(pid=7, command="/usr/bin/vi", rss_kib=9000)
    seen = await case_one.one(alpha(), fake_linux("alpha", processes=[worker, database, editor]))
    assert [h.pid for h in seen.cards[0].holders or ()] == [6, 5]


async def test_main_memory_offers_what_is_available_less_the_reserve() -> None:
    seen = await case_one.one(alpha(reserve_bytes=GIB), fake_linux("alpha"))
    cpu = seen.cards[0]
    assert (cpu.kind, cpu.total_bytes, cpu.free_bytes, cpu.offered_bytes) == ("cpu", 64 * GIB, 60 * GIB, 59 * GIB)
    assert (cpu.name, seen.cores, seen.threads) == ("Example CPU 8-Core", 8, 16)


async def test_a_control_group_below_main_memory_is_what_there_is() -> None:
    files = {
        "/proc/self/cgroup": b"0::/box\n",
        "/sys/fs/cgroup/memory.max": b"8589934592\n",
        "/sys/fs/cgroup/memory.current": b"2147483648\n",
        "/sys/fs/cgroup/memory.stat": b"anon 1\ninactive_file 1073741824\n",
    }
    cpu = (await case_one.one(alpha(), fake_linux("alpha", files=files))).cards[0]
    assert (cpu.total_bytes, cpu.free_bytes) == (8 * GIB, 7 * GIB)


async def test_a_card_offers_its_free_memory_less_the_reserve() -> None:
    assert (await gpu(alpha(reserve_bytes=512 * MIB))).offered_bytes == (29006 - 512) * MIB


async def test_an_offer_is_never_below_nothing() -> None:
    assert (await gpu(alpha(reserve_bytes=64 * GIB))).offered_bytes == 0


async def test_a_stated_smaller_capacity_counts_what_is_used_already() -> None:
    rules = CardRules(capacity_bytes=(("RTX 5090", 16000 * MIB),))
    assert (await gpu(alpha(cards=rules))).offered_bytes == (16000 - 3100) * MIB
    larger = CardRules(capacity_bytes=(("RTX 5090", 64000 * MIB),))
    assert (await gpu(alpha(cards=larger))).offered_bytes == 29006 * MIB


async def test_room_is_kept_for_what_a_resident_has_not_taken_yet() -> None:
    resident = Resident(name="comfyui", card="RTX 5060 Ti", bytes=4000 * MIB)
    assert (await gpu(alpha(residents=(resident,)), 1)).offered_bytes == (11400 - 400) * MIB


async def test_excluded_cards_are_shown_and_offer_nothing() -> None:
    seen = await case_one.one(alpha(cards=CardRules(exclude=("rtx 5090", "cpu"))), case_one.alpha_shell())
    assert [(c.name[-7:], c.excluded, c.offered_bytes == 0) for c in seen.cards] == [
        ("TX 5090", True, True),
        ("5060 Ti", False, False),
        (" 8-Core", True, True),
    ]


async def test_included_are_only_the_named_gpus_and_main_memory_stays() -> None:
    seen = await case_one.one(alpha(cards=CardRules(include=("GPU-A1",))), case_one.alpha_shell())
    assert [(c.id, c.excluded) for c in seen.cards] == [("GPU-a0", True), ("GPU-a1", False), ("cpu", False)]


async def test_a_rule_that_no_card_answers_to_is_told() -> None:
    rules = CardRules(exclude=("GT 1030",))
    seen = await case_one.one(alpha(cards=rules), case_one.alpha_shell())
    assert seen.fault == 'cards.exclude names "GT 1030", and no card here is called so'


async def test_free_memory_beyond_the_total_is_no_measure() -> None:
    rows = f"{GPU_HEADER}\n0, X, GPU-x, 00000000:01:00.0, 1, 32106, 100, 55372, 1, 1, 1, 12.0, Disabled\n"
    seen: HostSeen = await case_one.one(alpha(), fake_linux("alpha", gpus=rows, apps=APP_HEADER))
    assert (seen.cards[0].free_bytes, seen.cards[0].offered_bytes) == (None, None)


async def test_an_integrated_gpu_without_memory_of_its_own_has_the_hosts() -> None:
    row = "0, NVIDIA GB10, GPU-x, 0000000F:01:00.0, 1, [N/A], [N/A], [N/A], 1, [N/A], [N/A], 12.1, Disabled"
    card = (await case_one.one(alpha(), fake_linux("alpha", gpus=f"{GPU_HEADER}\n{row}\n"))).cards[0]
    assert (card.integrated, card.total_bytes, card.free_bytes) == (True, 64 * GIB, 60 * GIB)
