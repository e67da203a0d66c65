from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges.run_folder import (
    RunFolder,
    find_run,
    list_runs,
    new_run_id,
    open_run,
    read_token_times,
    with_token_times,
)
from evener.errors import HostError, NameUnknown, RunUnreadable
from evener.records.conditions import Conditions
from evener.records.load import Request
from evener.records.run import Run, Summary

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
FULL_DISK = Path("/dev/full")  # every write to it fails with ENOSPC


def run(name: str = "20261001T120000Z-users-00a1", **sampling: str) -> Run:
    return Run(id=name, what="users", started_at=NOON, conditions=Conditions(sampling=dict(sampling)))


def read(folder: RunFolder) -> tuple[Request, ...]:
    return with_token_times(open_run(folder.path)).requests


def request(number: int) -> Request:
    return Request(id=number, users=1, user=0, sent_s=0.5, token_times=((0.25, 1.0), (0.5, 2.0)))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", run())


def test_what_was_written_is_what_is_read(folder: RunFolder) -> None:
    folder.fact("loaded", {"layout": "alpha", "load_s": 3.5})
    folder.fact("stopped", {})
    folder.requests([request(1), request(2)])
    folder.requests([request(3)])
    folder.finish(Summary(ended_at=NOON))
    data = open_run(folder.path)
    assert data.run == run()
    assert [(f.sequence, f.kind, f.data) for f in data.facts] == [
        (1, "loaded", {"layout": "alpha", "load_s": 3.5}),
        (2, "stopped", {}),
    ]
    assert with_token_times(data).requests == (request(1), request(2), request(3))
    assert data.summary == Summary(ended_at=NOON)


def test_a_request_with_every_field_is_read_as_it_was_written_and_takes_one_line(folder: RunFolder) -> None:
    whole = replace(
        request(1), detail="für „uns“ \u2028 so", notes=("one", "two"), token_times=((0.1, 1.0), (1e-06, 2.5)),
        failure="kv_exhausted", late_s=0.0,
    )  # fmt: skip
    folder.requests([whole, whole])
    assert (folder.path / "requests.jsonl").read_bytes().count(b"\n") == 2
    assert read(folder) == (whole, whole)


def test_requests_come_without_the_times_of_their_tokens_until_these_are_asked_for(folder: RunFolder) -> None:
    folder.requests([request(1), replace(request(2), token_times=())])
    data = open_run(folder.path)
    assert [r.token_times for r in data.requests] == [(), ()]
    assert b"token_times" not in (folder.path / "requests.jsonl").read_bytes()
    assert [(one.row, one.at_s, one.tokens) for one in read_token_times(data)] == [
        (0, (0.25, 0.5), (1.0, 2.0)),
        (1, (), ()),
    ]


def test_a_run_without_a_summary_is_read_as_far_as_it_came(folder: RunFolder) -> None:
    folder.requests([request(1)])
    data = open_run(folder.path)
    assert (data.summary, data.facts, len(data.requests)) == (None, (), 1)


def test_a_run_cut_at_any_byte_of_its_last_line_has_lost_that_line_only(folder: RunFolder) -> None:
    folder.requests([request(1), request(2)])
    path = folder.path / "requests.jsonl"
    whole = path.read_bytes()
    for size in range(whole.index(b"\n") + 1, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert read(folder) == (request(1),), size


def test_an_earlier_torn_line_is_named_with_file_and_line(folder: RunFolder) -> None:
    folder.requests([request(1), request(2), request(3)])
    path = folder.path / "requests.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(RunUnreadable, match=re.escape("requests.jsonl:2")):
        open_run(folder.path)


@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_a_newer_schema_is_refused_with_a_hint(folder: RunFolder, name: str) -> None:
    folder.finish(Summary(ended_at=NOON))
    path = folder.path / name
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 3, "what": {"not": "what it was"}}))
    with pytest.raises(RunUnreadable, match="schema 3, this evener reads up to 2") as caught:
        open_run(folder.path)
    assert caught.value.hint == "a newer evener wrote it: upgrade"


def test_keys_of_a_newer_minor_writer_are_dropped(folder: RunFolder) -> None:
    path = folder.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "fine"}))
    assert open_run(folder.path).run == run()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "x"}'])
def test_a_run_json_that_is_none_is_one_line(folder: RunFolder, text: str) -> None:
    (folder.path / "run.json").write_text(text)
    with pytest.raises(RunUnreadable) as caught:
        open_run(folder.path)
    assert "\n" not in caught.value.message


def test_another_folder_is_not_a_run_folder(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="is not a run folder"):
        open_run(tmp_path)


def test_a_killed_writer_leaves_every_synced_fact_and_no_summary(tmp_path: Path) -> None:
    """kill -9 between two steps: what fact() returned for is on the disk."""
    writer = (
        "import os, sys; from pathlib import Path; from datetime import datetime, UTC\n"
        "from evener.edges.run_folder import RunFolder; from evener.records.run import Run\n"
        "from evener.records.conditions import Conditions\n"
        "run = Run(id='r', what='users', started_at=datetime.now(UTC), conditions=Conditions())\n"
        "folder = RunFolder.create(Path(sys.argv[1]), run)\n"
        "folder.fact('one', {}); folder.fact('two', {}); os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", writer, str(tmp_path)], check=False)
    assert ended.returncode == -9
    data = open_run(tmp_path / "r")
    assert [fact.kind for fact in data.facts] == ["one", "two"]
    assert data.summary is None


@pytest.mark.skipif(not FULL_DISK.exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line_and_no_fact_is_numbered(folder: RunFolder) -> None:
    (folder.path / "events.jsonl").symlink_to(FULL_DISK)
    with pytest.raises(HostError, match=r"cannot write .*events\.jsonl: No space left on device"):
        folder.fact("lost", {})
    (folder.path / "events.jsonl").unlink()
    assert folder.fact("kept", {}).sequence == 1


@pytest.mark.skipif(not FULL_DISK.exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_no_half_written_summary(folder: RunFolder) -> None:
    (folder.path / "summary.json.part").symlink_to(FULL_DISK)
    with pytest.raises(HostError, match="No space left on device"):
        folder.finish(Summary(ended_at=NOON))
    assert sorted(p.name for p in folder.path.iterdir()) == ["run.json"]


def test_what_a_full_disk_took_of_a_line_is_cut_off_again(folder: RunFolder) -> None:
    """A file size limit in a process of its own: the kernel takes ten bytes of the line, then no more."""
    folder.requests([request(1)])
    writer = (
        "import resource, sys; from pathlib import Path\n"
        "from evener.edges.run_folder import RunFolder; from evener.records.load import Request\n"
        "path = Path(sys.argv[1]); size = (path / 'requests.jsonl').stat().st_size\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))\n"
        "RunFolder(path).requests([Request(id=2, users=1, user=0, sent_s=0.5)])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", writer, str(folder.path)], check=False, capture_output=True, text=True
    )
    assert "HostError" in ended.stderr
    assert "File too large" in ended.stderr
    folder.requests([request(3)])
    assert read(folder) == (request(1), request(3))


def test_a_run_folder_is_never_written_over(folder: RunFolder) -> None:
    with pytest.raises(HostError, match="File exists"):
        RunFolder.create(folder.path.parent, run())


def test_secrets_do_not_reach_the_disk(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, run(api_key="k1", top_k="5"))
    folder.fact("x", {"env": [{"LLAMA_API_KEY": "k1"}], "Authorization": "Bearer k1", "api_key_env": "NAME"})
    text = "".join(p.read_text() for p in folder.path.iterdir())
    assert "k1" not in text
    assert '"api_key_env": "NAME"' in text
    assert open_run(folder.path).run.conditions.sampling == {"api_key": "(secret)", "top_k": "5"}


@pytest.mark.parametrize(("host", "name"), [("alpha", "llama-server.log"), ("../..", "../x"), ("a/b", ".."), ("", "")])
def test_a_log_stays_in_the_run_folder(folder: RunFolder, host: str, name: str) -> None:
    path = folder.log_path(host, name)
    path.write_text("x")
    assert (folder.path / "logs").resolve() == path.resolve().parent.parent


def test_a_run_id_sorts_by_time_and_names_what_it_is() -> None:
    assert re.fullmatch(r"20261001T120000Z-users-[0-9a-f]{4}", new_run_id("users", at=NOON))


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name in ("20261001T120000Z-users-00a1", "20261002T120000Z-users-00b2", "20261002T130000Z-demo-00c3"):
        RunFolder.create(tmp_path, run(name))
    (tmp_path / "not-a-run").mkdir()
    return tmp_path


def test_runs_are_listed_oldest_first_and_other_folders_are_not(three: Path) -> None:
    assert [p.name[-4:] for p in list_runs(three)] == ["00a1", "00b2", "00c3"]
    assert list_runs(three / "nowhere") == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("last", "00c3"),
        ("20261001", "00a1"),
        ("20261002T13", "00c3"),
        ("00b2", "00b2"),
        ("20261002T120000Z-users-00b2", "00b2"),
    ],
)
def test_a_run_is_found_by_name_beginning_end_or_last(three: Path, wanted: str, found: str) -> None:
    assert find_run(three, wanted).name.endswith(found)
    assert find_run(three / "nowhere", str(three / "20261001T120000Z-users-00a1")).name.endswith("00a1")


def test_a_beginning_of_several_runs_names_them(three: Path) -> None:
    with pytest.raises(NameUnknown, match="'20261002' names 2 runs") as caught:
        find_run(three, "20261002")
    assert "00b2" in (caught.value.hint or "")


def test_an_unknown_run_comes_with_near_misses(three: Path) -> None:
    with pytest.raises(NameUnknown) as caught:
        find_run(three, "20261001T120000Z-users-00a2")
    assert "20261001T120000Z-users-00a1" in (caught.value.hint or "")


@pytest.mark.parametrize("wanted", ["last", "x", ""])
def test_where_there_are_no_runs_none_is_found(tmp_path: Path, wanted: str) -> None:
    with pytest.raises(NameUnknown, match="there are no runs"):
        find_run(tmp_path, wanted)


def test_half_a_character_is_written_as_a_question_mark(tmp_path):
    folder = RunFolder.create(tmp_path, run())
    folder.fact("said", {"text": "a\ud800b"})
    assert open_run(folder.path).facts[0].data == {"text": "a?b"}
