"""Runs in one file: what goes in, and what a file that somebody mailed cannot do."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from evener.edges import run_pack
from evener.edges.run_folder import RunFolder, inner_runs, open_run
from evener.edges.run_pack import pack, unpack
from evener.errors import ConfigurationError, HostBusy, HostError, RunUnreadable
from evener.records.run import Summary
from tests.edges.store_contract import FULL_DISK, NOON, going_on, needs_full_disk, request, run

GIB = 1 << 30
OUTER, INNER = "20261001T120000Z-compare-00a1", "20261001T120100Z-users-00b2"


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A run that holds another, with logs, tags and a page."""
    folder = RunFolder.create(tmp_path / "runs", run(OUTER))
    folder.fact("begun", {})
    folder.log_path("alpha", "server.log").write_text("said\n")
    (folder.path / "tags").mkdir()
    (folder.path / "tags" / "blog").touch()
    (folder.path / "campaign.toml").write_text("[models]\n")
    inner = RunFolder.create(folder.path / "runs", run(INNER))
    inner.requests([request(1)])
    inner.finish(Summary(ended_at=NOON))
    folder.finish(Summary(ended_at=NOON))
    return folder.path


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst"])
def test_a_run_arrives_whole_with_all_that_it_holds(campaign: Path, tmp_path: Path, suffix: str) -> None:
    into = tmp_path / f"a{suffix}"
    packed = pack([campaign], into, keys={})
    assert (packed.runs, packed.files, packed.left_out) == ((OUTER,), len(files(campaign)), ())
    assert packed.bytes == into.stat().st_size
    opened = unpack(into, tmp_path / "there", most_bytes=GIB)
    assert (opened.runs, opened.already) == ((OUTER,), ())
    assert files(tmp_path / "there" / OUTER) == files(campaign)
    assert [path.name for path in inner_runs(tmp_path / "there" / OUTER)] == [INNER]
    assert sorted(p.name for p in (tmp_path / "there").iterdir()) == [OUTER]


def test_other_programs_read_a_pack(campaign: Path, tmp_path: Path) -> None:
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert tar.getnames() == sorted(f"{OUTER}/{name}" for name in files(campaign))
        assert {(m.uid, m.gid, m.uname, m.mode, m.mtime) for m in tar.getmembers()} == {
            (0, 0, "", 0o644, int(NOON.timestamp()))
        }


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst"])
def test_the_same_runs_give_the_same_bytes_wherever_and_whenever(campaign: Path, tmp_path: Path, suffix: str) -> None:
    copy = Path(shutil.copytree(campaign, tmp_path / "elsewhere" / "renamed"))
    os.utime(copy / "run.json", (1, 1))
    (copy / "run.json").chmod(0o600)
    for path, into in ((campaign, f"a{suffix}"), (copy, f"b{suffix}")):
        pack([path], tmp_path / into, keys={})
    assert suffix != ".tar.gz" or (tmp_path / "a.tar.gz").read_bytes()[4:8] == bytes(4)  # gzip's own time
    digests = {hashlib.sha256((tmp_path / f"{one}{suffix}").read_bytes()).hexdigest() for one in "ab"}
    assert len(digests) == 1


def test_nothing_outside_a_run_goes_in(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "outside").mkdir()
    (campaign / "logs" / "link").symlink_to(tmp_path / "secret.txt")
    (campaign / "logs" / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(campaign / "logs" / "pipe")
    (campaign / "summary.json.part").write_text("half")
    packed = pack([campaign], tmp_path / "a.tar.gz", keys={})
    assert sorted(packed.left_out) == [f"{OUTER}/logs/{name}" for name in ("folder", "link", "pipe")]
    assert b"outside" not in gzip.decompress((tmp_path / "a.tar.gz").read_bytes())
    unpack(tmp_path / "a.tar.gz", tmp_path / "there", most_bytes=GIB)
    assert "summary.json.part" not in files(tmp_path / "there" / OUTER)


# ---- secrets


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("run.json", '{\n"env": {"LLAMA_API_KEY": "k1"}}', "run.json:2"),
        ("events.jsonl", '{"a": 1}\n{"Authorization" : "Bearer x"}\n', "events.jsonl:2"),
        (f"runs/{INNER}/answers.jsonl", '{"access_token":"t"}\n', "answers.jsonl:1"),
    ],
)
def test_a_value_under_the_name_of_a_secret_is_not_packed(
    campaign: Path, tmp_path: Path, name: str, text: str, where: str
) -> None:
    run_json = (campaign / "run.json").read_text()
    merged = run_json.rstrip()[:-1] + "," + text.lstrip("{") if name == "run.json" else text
    (campaign / name).write_text(merged)
    with pytest.raises(ConfigurationError, match=r"holds a value under the name of a secret") as caught:
        pack([campaign], tmp_path / "a.tar.gz", keys={})
    assert where.partition(":")[0] in caught.value.message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["runs"]


def test_the_name_of_a_variable_and_words_in_an_answer_are_no_secrets(campaign: Path, tmp_path: Path) -> None:
    (campaign / "answers.jsonl").write_text(
        '{"api_key_env": "NAME", "password": "", "api_key": "(secret)", "text": "{\\"api_key\\": \\"sk-1\\"}"}\n'
    )
    assert pack([campaign], tmp_path / "a.tar.gz", keys={}).runs == (OUTER,)


@pytest.mark.parametrize("name", ["logs/alpha/server.log", "report.html", f"runs/{INNER}/requests.jsonl"])
def test_a_key_of_ours_is_found_in_any_file(campaign: Path, tmp_path: Path, name: str) -> None:
    with (campaign / name).open("a") as file:
        file.write("Authorization: Bearer hf_0123456789\n")
    with pytest.raises(ConfigurationError, match=r"holds the value of \$HF_TOKEN"):
        pack([campaign], tmp_path / "a.tar.gz", keys={"HF_TOKEN": "hf_0123456789"})
    assert pack([campaign], tmp_path / "a.tar.gz", keys={"EVENER_API_KEY": "short"}).runs == (OUTER,)


# ---- what pack refuses


def test_a_file_that_is_there_is_not_written_over(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_text("mine")
    with pytest.raises(ConfigurationError, match="is there already"):
        pack([campaign], tmp_path / "a.tar.gz", keys={})
    assert (tmp_path / "a.tar.gz").read_text() == "mine"


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a"])
def test_a_name_that_says_no_compression_is_refused(campaign: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="says no compression"):
        pack([campaign], tmp_path / name, keys={})


def test_a_pack_does_not_hold_itself(campaign: Path) -> None:
    with pytest.raises(ConfigurationError, match="would lie in a run that it holds"):
        pack([campaign], campaign / "logs" / "a.tar.gz", keys={})


def test_without_zstandard_packs_are_gzip(campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_pack.default_name([campaign]) == f"{OUTER}.tar.zst"
    pack([campaign], tmp_path / "a.tar.zst", keys={})
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert run_pack.default_name([campaign]) == f"{OUTER}.tar.gz"
    with pytest.raises(ConfigurationError, match="needs the package zstandard"):
        pack([campaign], tmp_path / "b.tar.zst", keys={})
    with pytest.raises(ConfigurationError, match="needs the package zstandard"):
        unpack(tmp_path / "a.tar.zst", tmp_path / "there", most_bytes=GIB)


def test_a_run_that_goes_on_is_not_packed_nor_is_one_whose_inner_run_does(campaign: Path, tmp_path: Path) -> None:
    with (
        going_on("folder = RunFolder.reopen(open_run(path))", campaign / "runs" / INNER),
        pytest.raises(HostBusy, match=INNER),
    ):
        pack([campaign], tmp_path / "a.tar.gz", keys={})
    assert pack([campaign], tmp_path / "a.tar.gz", keys={}).runs == (OUTER,)


@needs_full_disk
def test_a_full_disk_leaves_no_half_of_a_pack(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz.part").symlink_to(FULL_DISK)
    with pytest.raises(HostError, match="No space left on device"):
        pack([campaign], tmp_path / "a.tar.gz", keys={})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["runs"]


# ---- what comes out


def test_a_run_that_is_here_already_is_left_alone_whatever_people_added_to_it(campaign: Path, tmp_path: Path) -> None:
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    (campaign / "tags" / "mine").touch()
    (campaign / "report.html").write_text("mine")
    opened = unpack(tmp_path / "a.tar.gz", campaign.parent, most_bytes=GIB)
    assert (opened.runs, opened.already) == ((), (OUTER,))
    assert (campaign / "report.html").read_text() == "mine"


def test_another_run_of_the_same_name_is_refused_and_nothing_is_opened(campaign: Path, tmp_path: Path) -> None:
    other = RunFolder.create(tmp_path / "runs", run("20261005T120000Z-users-0005"))
    other.let_go()
    pack([campaign, other.path], tmp_path / "a.tar.gz", keys={})
    shutil.rmtree(other.path)
    with (campaign / "runs" / INNER / "events.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(ConfigurationError, match="is here already, and another one"):
        unpack(tmp_path / "a.tar.gz", campaign.parent, most_bytes=GIB)
    assert [p.name for p in campaign.parent.iterdir()] == [OUTER]


Member = tuple[str, bytes]


def packed_by_hand(path: Path, members: list[Member | tarfile.TarInfo], *, form: int = tarfile.USTAR_FORMAT) -> Path:
    with tarfile.open(path, "w:gz", format=form) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            tar.addfile(info, io.BytesIO(member[1]))
    return path


def a_run(campaign: Path) -> list[Member | tarfile.TarInfo]:
    return [(f"{OUTER}/run.json", (campaign / "run.json").read_bytes())]


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


HOSTILE = {
    "above": (lambda: (f"{OUTER}/../../x", b"x"), "lies in no run"),
    "absolute": (lambda: ("/tmp/x", b"x"), "lies in no run"),
    "dot": (lambda: (f"./{OUTER}/x", b"x"), "lies in no run"),
    "beside": (lambda: ("x", b"x"), "lies in no run"),
    "hidden": (lambda: (".ssh/authorized_keys", b"x"), "lies in no run"),
    "double": (lambda: (f"{OUTER}//x", b"x"), "lies in no run"),
    "backslash": (lambda: (f"{OUTER}/..\\x", b"x"), "lies in no run"),
    "escape": (lambda: (f"{OUTER}/\x1b[2Jx", b"x"), "lies in no run"),
    "link": (lambda: special(f"{OUTER}/x", tarfile.SYMTYPE, "/etc/passwd"), "no plain file"),
    "hard link": (lambda: special(f"{OUTER}/x", tarfile.LNKTYPE, "/etc/passwd"), "no plain file"),
    "device": (lambda: special(f"{OUTER}/x", tarfile.CHRTYPE), "no plain file"),
    "pipe": (lambda: special(f"{OUTER}/x", tarfile.FIFOTYPE), "no plain file"),
    "folder": (lambda: special(f"{OUTER}/x", tarfile.DIRTYPE), "no plain file"),
    "twice": (lambda: (f"{OUTER}/run.json", b"{}"), "holds a file twice"),
    "file as folder": (lambda: (f"{OUTER}/run.json/x", b"x"), "holds a file twice"),
    "no run": (lambda: ("20261009T000000Z-users-0009/x", b"x"), "holds no run, or more than runs"),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_pack_is_refused_in_one_line_and_leaves_nothing(campaign: Path, tmp_path: Path, how: str) -> None:
    make, told = HOSTILE[how]
    made: Callable[[], Member | tarfile.TarInfo] = make
    path = packed_by_hand(tmp_path / "bad.tar.gz", [*a_run(campaign), made()])
    with pytest.raises(RunUnreadable, match=told) as caught:
        unpack(path, tmp_path / "there", most_bytes=GIB)
    assert "\n" not in caught.value.message
    assert "\x1b" not in caught.value.message
    assert list((tmp_path / "there").iterdir()) == []


def test_long_names_in_headers_of_their_own_are_refused_before_they_are_read(campaign: Path, tmp_path: Path) -> None:
    """Such a header may say any length, and would be read into memory."""
    long = (f"{OUTER}/" + "x" * 300, b"x")
    for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        path = packed_by_hand(tmp_path / "bad.tar.gz", [*a_run(campaign), long], form=form)
        with pytest.raises(RunUnreadable, match="no plain file"):
            unpack(path, tmp_path / "there", most_bytes=GIB)


def test_a_small_file_that_unfolds_to_a_huge_one_is_stopped(campaign: Path, tmp_path: Path) -> None:
    path = packed_by_hand(tmp_path / "bomb.tar.gz", [*a_run(campaign), (f"{OUTER}/x", bytes(20 << 20))])
    assert path.stat().st_size < 100_000
    with pytest.raises(RunUnreadable, match="holds more than was allowed") as caught:
        unpack(path, tmp_path / "there", most_bytes=10 << 20)
    assert caught.value.hint == "--most-gib allows more"
    assert list((tmp_path / "there").iterdir()) == []


def test_more_files_than_a_run_can_have_are_stopped(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_pack, "MOST_FILES", 3)
    path = packed_by_hand(tmp_path / "a.tar.gz", [*a_run(campaign), *((f"{OUTER}/{n}", b"") for n in range(3))])
    with pytest.raises(RunUnreadable, match="holds more than 3 files"):
        unpack(path, tmp_path / "there", most_bytes=GIB)


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst"])
def test_a_pack_that_was_cut_short_anywhere_brings_nothing(campaign: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    pack([campaign], path, keys={})
    whole = path.read_bytes()
    for size in range(0, len(whole) - 12, 41):
        path.write_bytes(whole[:size])
        with pytest.raises(RunUnreadable):
            unpack(path, tmp_path / "there", most_bytes=GIB)
        assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("suffix", [".tar.gz", ".tar.zst"])
def test_a_pack_with_a_byte_changed_anywhere_is_refused_or_brings_what_was_packed(
    campaign: Path, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"a{suffix}"
    pack([campaign], path, keys={})
    whole = path.read_bytes()
    for at in range(0, len(whole), 29):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        there = tmp_path / f"there-{at}"
        try:
            unpack(path, there, most_bytes=GIB)
        except RunUnreadable:
            assert list(there.iterdir()) == []
        else:
            assert files(there / OUTER) == files(campaign)  # e.g. a byte of gzip's own header


@pytest.mark.parametrize("text", [b"", b"PK\x03\x04zip", gzip.compress(b"no tar"), gzip.compress(bytes(1024))])
def test_what_is_no_pack_is_told_so(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "a").write_bytes(text)
    with pytest.raises(RunUnreadable, match=r"is no pack|is broken|holds no run"):
        unpack(tmp_path / "a", tmp_path / "there", most_bytes=GIB)
    with pytest.raises(RunUnreadable, match="No such file"):
        unpack(tmp_path / "nowhere", tmp_path / "there", most_bytes=GIB)


def test_a_window_of_gigabytes_is_not_made_for_a_stranger(campaign: Path, tmp_path: Path) -> None:
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    text = gzip.decompress((tmp_path / "a.tar.gz").read_bytes())
    for window, opens in ((27, True), (28, False)):
        parameters = zstandard.ZstdCompressionParameters(window_log=window, write_content_size=False)
        compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        (tmp_path / "a.tar.zst").write_bytes(compressor.compress(text) + compressor.flush())
        if opens:
            assert unpack(tmp_path / "a.tar.zst", tmp_path / f"there-{window}", most_bytes=GIB).runs == (OUTER,)
            continue
        with pytest.raises(RunUnreadable, match="is broken"):
            unpack(tmp_path / "a.tar.zst", tmp_path / f"there-{window}", most_bytes=GIB)


def test_a_run_that_calls_itself_otherwise_is_refused(campaign: Path, tmp_path: Path) -> None:
    text = (campaign / "run.json").read_bytes()
    path = packed_by_hand(tmp_path / "a.tar.gz", [("20261009T000000Z-users-0009/run.json", text)])
    with pytest.raises(RunUnreadable, match=f"calls itself '{OUTER}'"):
        unpack(path, tmp_path / "there", most_bytes=GIB)


def test_sizes_and_times_that_no_file_has_are_refused_or_harmless(campaign: Path, tmp_path: Path) -> None:
    size = tarfile.TarInfo(f"{OUTER}/x")
    size.size = -512
    raw = b"".join((_entry(OUTER, (campaign / "run.json").read_bytes()), size.tobuf(tarfile.GNU_FORMAT), bytes(1024)))
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(raw))
    with pytest.raises(RunUnreadable):
        unpack(tmp_path / "a.tar.gz", tmp_path / "there", most_bytes=GIB)
    late = tarfile.TarInfo(f"{OUTER}/x")
    late.mtime = 1 << 80
    raw = b"".join((_entry(OUTER, (campaign / "run.json").read_bytes()), late.tobuf(tarfile.GNU_FORMAT), bytes(1024)))
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(raw))
    assert unpack(tmp_path / "a.tar.gz", tmp_path / "there", most_bytes=GIB).runs == (OUTER,)


def _entry(run_id: str, text: bytes) -> bytes:
    info = tarfile.TarInfo(f"{run_id}/run.json")
    info.size = len(text)
    return info.tobuf(tarfile.USTAR_FORMAT) + text + bytes(-len(text) % 512)


def test_what_a_killed_session_left_is_swept_and_two_do_not_open_at_once(campaign: Path, tmp_path: Path) -> None:
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    there = tmp_path / "there"
    (there / ".opening-dead" / OUTER).mkdir(parents=True)
    (there / ".pruned-dead").mkdir()
    with (
        going_on("held = alone_in(path); held.__enter__()", there),
        pytest.raises(HostBusy, match="another evener session adds or removes runs"),
    ):
        unpack(tmp_path / "a.tar.gz", there, most_bytes=GIB)
    unpack(tmp_path / "a.tar.gz", there, most_bytes=GIB)
    assert [p.name for p in there.iterdir()] == [OUTER]


def test_a_full_disk_while_opening_leaves_nothing(campaign: Path, tmp_path: Path) -> None:
    """A file size limit in a process of its own."""
    (campaign / "logs" / "alpha" / "server.log").write_bytes(bytes(100_000))
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    work = (
        "import resource, sys; from pathlib import Path; from evener.edges.run_pack import unpack\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "unpack(Path(sys.argv[1]), Path(sys.argv[2]), most_bytes=1 << 30)\n"
    )
    argv = [sys.executable, "-c", work, str(tmp_path / "a.tar.gz"), str(tmp_path / "there")]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True)
    assert "HostError: cannot write" in ended.stderr
    assert list((tmp_path / "there").iterdir()) == []


def test_an_opened_run_can_be_gone_on_with(campaign: Path, tmp_path: Path) -> None:
    pack([campaign], tmp_path / "a.tar.gz", keys={})
    unpack(tmp_path / "a.tar.gz", tmp_path / "there", most_bytes=GIB)
    RunFolder.reopen(open_run(tmp_path / "there" / OUTER)).fact("resumed", {})
    assert [f.kind for f in open_run(tmp_path / "there" / OUTER).facts] == ["begun", "resumed"]
