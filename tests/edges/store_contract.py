"""What every place for a run promises: a folder that is written to, and one that came out of a pack.

A subclass says how a run is begun, and how it comes to where it is read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.edges.run_folder import (
    RunFolder,
    open_run,
    read_answers,
    read_judgements,
    read_reviews,
    read_suites,
    read_telemetry,
    read_token_times,
    unused,
    with_token_times,
)
from evener.errors import HostBusy, HostError, RunUnreadable
from evener.records.answers import Answer, Asked, JudgeIdentity, Judgement, Review
from evener.records.conditions import Conditions
from evener.records.load import Request
from evener.records.questions import Suite
from evener.records.run import SCHEMA, Run, Summary
from evener.records.telemetry import CardSample, Joined, NicSample, Sample

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)
FULL_DISK = Path("/dev/full")  # every write to it fails with ENOSPC
needs_full_disk = pytest.mark.skipif(not FULL_DISK.exists(), reason="needs /dev/full")
NAME = "20261001T120000Z-users-00a1"
SAMPLE = Sample(
    at_s=1.25,
    host="alpha",
    host_clock_s=100.5,
    cards=(CardSample(card="GPU-1", name="RTX 5090", power_w=431.5, slowed_by=("heat",)),),
    nics=(NicSample(name="enp5s0", rx_bytes=5, tx_bytes=6, link="5gbe"),),
    joined=(Joined(at_s=1.25, host="alpha", card="GPU-1", pid=4, name="blender"),),
)
ASKED = Asked(question="q1", candidate="ours")
# Another session: what it is to do comes as an argument, and the run's folder after it.
OTHER = (
    "import os, sys, time; from pathlib import Path\n"
    "from evener.edges.run_folder import *; from evener.records.load import Request\n"
    "path = Path(sys.argv[2]); exec(sys.argv[1])\n"
)


def run(name: str = NAME, **sampling: str) -> Run:
    return Run(id=name, what="users", started_at=NOON, conditions=Conditions(sampling=dict(sampling)))


def request(number: int) -> Request:
    return Request(id=number, users=1, user=0, sent_s=0.5, token_times=((0.25, 1.0), (0.5, 2.0)))


def answer(text: str) -> Answer:
    return Answer(asked=ASKED, outcome="ok", text=text, seed=1, at=NOON, seconds=0.5)


def review(reviewer: str) -> Review:
    return Review(reviewer=reviewer, asked=ASKED, other=None, label="right", pool="random", at=NOON)


def requests_at(path: Path) -> tuple[Request, ...]:
    return with_token_times(open_run(path)).requests


def session(work: str, path: Path) -> subprocess.Popen[str]:
    """Another session that does this to a run, says "done", and stays."""
    argv = [sys.executable, "-c", OTHER, f"{work}\nprint('done', flush=True); time.sleep(60)", str(path)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


@contextmanager
def going_on(work: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    other = session(work, path)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "done\n"
        yield other
        assert other.poll() is None or other.returncode == -9, "it has not stayed"
    finally:
        other.kill()
        other.wait()


class StoreContract:
    """Run against each place by a subclass."""

    every_byte = 1  # how finely torn ends are tried

    def begun(self, tmp_path: Path, run: Run) -> RunFolder:
        """A run without anything in it yet."""
        raise NotImplementedError

    def arrived(self, folder: RunFolder) -> Path:
        """Where the run can be read as far as it was written."""
        raise NotImplementedError

    @pytest.fixture
    def folder(self, tmp_path: Path) -> RunFolder:
        return self.begun(tmp_path, run())

    # ---- what was written is what is read

    def test_what_was_written_is_what_is_read(self, folder: RunFolder) -> None:
        folder.fact("loaded", {"layout": "alpha", "load_s": 3.5})
        folder.fact("stopped", {})
        folder.requests([request(1), request(2)])
        folder.requests([request(3)])
        folder.finish(Summary(ended_at=NOON))
        data = open_run(self.arrived(folder))
        assert data.run == run()
        assert [(f.sequence, f.kind, f.data) for f in data.facts] == [
            (1, "loaded", {"layout": "alpha", "load_s": 3.5}),
            (2, "stopped", {}),
        ]
        assert with_token_times(data).requests == (request(1), request(2), request(3))
        assert data.summary == Summary(ended_at=NOON)

    def test_every_kind_of_line_comes_back_in_the_order_in_which_it_came(self, folder: RunFolder) -> None:
        lost = Sample(at_s=2.0, host="beta", lost="silent for 5 s")
        judge = JudgeIdentity(provider="p", model="m", prompt_sha256="0")
        judged = Judgement(judge=judge, asked=ASKED, other=None, verdict="YES", outcome="ok", raw="YES", at=NOON)
        folder.telemetry([SAMPLE])
        folder.telemetry([lost])
        folder.answer(answer("one"))
        folder.answer(answer("two"))
        folder.judgement(judged)
        folder.review(review("ada"))
        folder.suites((Suite(name="mine", title="Mine", questions=(), sha256="0"),))
        folder.log_path("alpha", "server.log").write_text("said\n")
        path = self.arrived(folder)
        assert read_telemetry(path) == (SAMPLE, lost)
        assert [one.text for one in read_answers(path)] == ["one", "two"]
        assert read_judgements(path) == (judged,)
        assert read_reviews(path) == (review("ada"),)
        assert [one.name for one in read_suites(path) or ()] == ["mine"]
        assert (path / "logs" / "alpha" / "server.log").read_text() == "said\n"

    def test_a_file_that_was_never_written_is_empty(self, folder: RunFolder) -> None:
        path = self.arrived(folder)
        data = open_run(path)
        assert (data.facts, data.requests, data.summary) == ((), (), None)
        assert (read_telemetry(path), read_answers(path), read_reviews(path), read_suites(path)) == ((), (), (), None)
        assert list(read_token_times(data)) == []

    def test_a_request_with_every_field_is_read_as_it_was_written_and_takes_one_line(self, folder: RunFolder) -> None:
        whole = replace(
            request(1), detail="für „uns“ \u2028 so", notes=("one", "two"), token_times=((0.1, 1.0), (1e-06, 2.5)),
            failure="kv_exhausted", late_s=0.0,
        )  # fmt: skip
        folder.requests([whole, whole])
        path = self.arrived(folder)
        assert (path / "requests.jsonl").read_bytes().count(b"\n") == 2
        assert requests_at(path) == (whole, whole)

    def test_requests_come_without_the_times_of_their_tokens_until_these_are_asked_for(self, folder: RunFolder) -> None:
        folder.requests([request(1), replace(request(2), token_times=())])
        path = self.arrived(folder)
        data = open_run(path)
        assert [r.token_times for r in data.requests] == [(), ()]
        assert b"token_times" not in (path / "requests.jsonl").read_bytes()
        assert [(one.row, one.at_s, one.tokens) for one in read_token_times(data)] == [
            (0, (0.25, 0.5), (1.0, 2.0)),
            (1, (), ()),
        ]

    def test_half_a_character_is_written_as_a_question_mark(self, folder: RunFolder) -> None:
        folder.fact("said", {"text": "a\ud800b"})
        folder.requests([replace(request(1), detail="a\ud800b")])
        folder.answer(answer("a\udfffb"))
        path = self.arrived(folder)
        data = open_run(path)
        assert (data.facts[0].data, data.requests[0].detail) == ({"text": "a?b"}, "a?b")
        assert read_answers(path)[0].text == "a?b"

    # ---- what a crash leaves

    def test_a_run_cut_at_any_byte_of_its_last_line_has_lost_that_line_only(self, folder: RunFolder) -> None:
        folder.requests([request(1), request(2)])
        path = folder.path / "requests.jsonl"
        whole = path.read_bytes()
        for size in range(whole.index(b"\n") + 1, len(whole), self.every_byte):
            path.write_bytes(whole[:size])
            assert requests_at(self.arrived(folder)) == (request(1),), size

    def test_times_cut_at_any_byte_of_their_last_line_take_their_request_along(self, folder: RunFolder) -> None:
        folder.requests([request(1), request(2)])
        path = folder.path / "token_times.jsonl"
        whole = path.read_bytes()
        for size in range(whole.index(b"\n") + 1, len(whole), self.every_byte):
            path.write_bytes(whole[:size])
            assert requests_at(self.arrived(folder)) == (request(1),), size

    def test_times_that_came_without_their_row_belong_to_nobody(self, folder: RunFolder) -> None:
        """Killed between the two writes: the times of a row that never came."""
        folder.requests([request(1)])
        rows = (folder.path / "requests.jsonl").read_bytes()
        folder.requests([request(2)])
        (folder.path / "requests.jsonl").write_bytes(rows)
        assert requests_at(self.arrived(folder)) == (request(1),)
        assert len(list(read_token_times(open_run(folder.path)))) == 1
        again = RunFolder.reopen(open_run(folder.path))
        later = replace(request(3), token_times=((9.0, 1.0),))
        again.requests([later])
        assert requests_at(self.arrived(again)) == (request(1), later)

    @pytest.mark.parametrize("name", ["requests.jsonl", "token_times.jsonl"])
    @pytest.mark.parametrize("cut", [1, 20])
    def test_what_follows_a_torn_end_is_not_glued_to_it_nor_mistaken_for_it(
        self, folder: RunFolder, name: str, cut: int
    ) -> None:
        """A line may be whole but for its end."""
        folder.requests([request(1), request(2)])
        path = folder.path / name
        path.write_bytes(path.read_bytes()[:-cut])
        again = RunFolder.reopen(open_run(self.arrived(folder)))
        later = replace(request(3), token_times=((9.0, 1.0),))
        again.requests([later])
        assert requests_at(self.arrived(again)) == (request(1), later)

    def test_a_fact_without_the_end_of_its_line_is_no_fact_yet(self, folder: RunFolder) -> None:
        folder.fact("one", {})
        folder.fact("two", {})
        path = folder.path / "events.jsonl"
        path.write_bytes(path.read_bytes()[:-1])
        assert [fact.kind for fact in open_run(folder.path).facts] == ["one"]
        again = RunFolder.reopen(open_run(self.arrived(folder)))
        again.fact("three", {})
        assert [(f.sequence, f.kind) for f in open_run(self.arrived(again)).facts] == [(1, "one"), (2, "three")]

    def test_times_that_are_missing_between_others_are_named(self, folder: RunFolder) -> None:
        folder.requests([request(1), request(2), request(3)])
        path = folder.path / "token_times.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0] + lines[2])
        with pytest.raises(RunUnreadable, match=r"token_times\.jsonl:2: row 1 is missing, here is row 2"):
            requests_at(self.arrived(folder))

    def test_a_torn_last_sample_is_dropped(self, folder: RunFolder) -> None:
        folder.telemetry([SAMPLE, SAMPLE])
        path = folder.path / "telemetry.jsonl"
        path.write_bytes(path.read_bytes()[:-9])
        assert read_telemetry(self.arrived(folder)) == (SAMPLE,)

    @pytest.mark.parametrize("tail", [b"\x00" * 40, b"\x00" * 40 + b"\n", b'{"id": \n', b"\n\n"])
    def test_whatever_a_power_cut_puts_at_the_end_is_dropped_and_written_over(
        self, folder: RunFolder, tail: bytes
    ) -> None:
        folder.requests([request(1)])
        folder.fact("one", {})
        for name in ("requests.jsonl", "token_times.jsonl", "events.jsonl"):
            with (folder.path / name).open("ab") as file:
                file.write(tail)
        path = self.arrived(folder)
        assert requests_at(path) == (request(1),)
        again = RunFolder.reopen(open_run(path))
        again.requests([request(2)])
        again.fact("two", {})
        data = open_run(self.arrived(again))
        assert with_token_times(data).requests == (request(1), request(2))
        assert [fact.sequence for fact in data.facts] == [1, 2]

    def test_an_earlier_torn_line_is_named_with_file_and_line(self, folder: RunFolder) -> None:
        folder.requests([request(1), request(2), request(3)])
        path = folder.path / "requests.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
        with pytest.raises(RunUnreadable, match=re.escape("requests.jsonl:2")):
            open_run(self.arrived(folder))

    def test_a_killed_writer_leaves_every_synced_fact_and_no_summary(self, folder: RunFolder) -> None:
        """kill -9 between two steps: what fact() returned for is on the disk."""
        folder.let_go()
        work = "folder = RunFolder.reopen(open_run(path)); folder.fact('one', {}); folder.fact('two', {})"
        with going_on(work, folder.path) as other:
            other.kill()
            other.wait()
        data = open_run(self.arrived(folder))
        assert [fact.kind for fact in data.facts] == ["one", "two"]
        assert data.summary is None

    # ---- a full disk

    @needs_full_disk
    def test_a_full_disk_is_one_line_and_no_fact_is_numbered(self, folder: RunFolder) -> None:
        (folder.path / "events.jsonl").symlink_to(FULL_DISK)
        with pytest.raises(HostError, match=r"cannot write .*events\.jsonl: No space left on device"):
            folder.fact("lost", {})
        (folder.path / "events.jsonl").unlink()
        assert folder.fact("kept", {}).sequence == 1

    @needs_full_disk
    @pytest.mark.parametrize("name", ["requests.jsonl", "token_times.jsonl"])
    def test_a_full_disk_takes_a_row_and_its_times_together(self, folder: RunFolder, name: str) -> None:
        folder.requests([request(1)])
        kept = {one: (folder.path / one).read_bytes() for one in ("requests.jsonl", "token_times.jsonl")}
        (folder.path / name).unlink()
        (folder.path / name).symlink_to(FULL_DISK)
        with pytest.raises(HostError, match="No space left on device"):
            folder.requests([request(2)])
        (folder.path / name).unlink()
        (folder.path / name).write_bytes(kept[name])
        assert {one: (folder.path / one).read_bytes() for one in kept} == kept
        folder.requests([request(3)])
        assert requests_at(self.arrived(folder)) == (request(1), request(3))

    @needs_full_disk
    def test_a_full_disk_leaves_no_half_written_summary(self, folder: RunFolder) -> None:
        (folder.path / "summary.json.part").symlink_to(FULL_DISK)
        with pytest.raises(HostError, match="No space left on device"):
            folder.finish(Summary(ended_at=NOON))
        assert sorted(p.name for p in folder.path.iterdir()) == ["run.json"]

    @needs_full_disk
    def test_a_full_disk_is_one_line_for_samples_too(self, folder: RunFolder) -> None:
        (folder.path / "telemetry.jsonl").symlink_to(FULL_DISK)
        with pytest.raises(HostError, match=r"cannot write .*telemetry\.jsonl: No space left on device"):
            folder.telemetry([SAMPLE])

    def test_what_a_full_disk_took_of_a_line_is_cut_off_again(self, folder: RunFolder) -> None:
        """A file size limit in a process of its own: the kernel takes ten bytes of the line, then no more."""
        folder.requests([request(1)])
        work = (
            "import resource; size = (path / 'requests.jsonl').stat().st_size\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))\n"
            "RunFolder(path).requests([Request(id=2, users=1, user=0, sent_s=0.5)])\n"
        )
        argv = [sys.executable, "-c", OTHER, work, str(folder.path)]
        ended = subprocess.run(argv, check=False, capture_output=True, text=True)
        assert "HostError" in ended.stderr
        assert "File too large" in ended.stderr
        folder.requests([request(3)])
        assert requests_at(self.arrived(folder)) == (request(1), request(3))

    # ---- several sessions

    def test_a_second_writer_is_refused_until_the_first_has_ended(self, folder: RunFolder) -> None:
        folder.let_go()
        with going_on("folder = RunFolder.reopen(open_run(path))", folder.path) as other:
            with pytest.raises(HostBusy, match="goes on in another evener session"):
                RunFolder.reopen(open_run(folder.path))
            with pytest.raises(HostBusy), unused(folder.path):
                pass
            other.kill()
            other.wait()
            RunFolder.reopen(open_run(folder.path)).fact("mine", {})
        assert [fact.kind for fact in open_run(self.arrived(folder)).facts] == ["mine"]

    def test_a_run_that_is_finished_is_in_nobodys_way(self, folder: RunFolder) -> None:
        folder.let_go()
        work = (
            "from evener.records.run import Summary; from datetime import UTC, datetime\n"
            "folder = RunFolder.reopen(open_run(path)); folder.finish(Summary(ended_at=datetime.now(UTC)))"
        )
        with going_on(work, folder.path), unused(folder.path):
            pass

    def test_labels_of_two_people_are_not_glued_together(self, folder: RunFolder) -> None:
        folder.finish(Summary(ended_at=NOON))
        work = (
            "from tests.edges.store_contract import review\n"
            "folder = RunFolder.beside(path)\n"
            "for n in range(50): folder.review(review(f'{os.getpid()}'))\n"
        )
        with going_on(work, folder.path), going_on(work, folder.path):
            pass
        reviews = read_reviews(self.arrived(folder))
        assert len(reviews) == 100
        assert len({one.reviewer for one in reviews}) == 2

    def test_whoever_labels_a_run_uses_it(self, folder: RunFolder) -> None:
        folder.finish(Summary(ended_at=NOON))
        with (
            going_on("folder = RunFolder.beside(path)", folder.path),
            pytest.raises(HostBusy),
            unused(folder.path),
        ):
            pass

    # ---- going on

    def test_facts_go_on_counting_and_requests_are_appended(self, folder: RunFolder) -> None:
        folder.fact("load", {})
        folder.requests([request(1)])
        folder.finish(Summary(ended_at=NOON, partial="interrupted"))
        again = RunFolder.reopen(open_run(self.arrived(folder)))
        assert open_run(again.path).summary is None  # it counts as unfinished until it has ended again
        again.fact("resumed", {})
        again.requests([request(2)])
        again.finish(Summary(ended_at=NOON))
        data = open_run(self.arrived(again))
        assert [(fact.sequence, fact.kind) for fact in data.facts] == [(1, "load"), (2, "resumed")]
        assert with_token_times(data).requests == (request(1), request(2))
        assert data.summary == Summary(ended_at=NOON)

    # ---- what is refused

    @pytest.mark.parametrize("name", ["run.json", "summary.json"])
    def test_a_newer_schema_is_refused_with_a_hint(self, folder: RunFolder, name: str) -> None:
        folder.finish(Summary(ended_at=NOON))
        path = folder.path / name
        newer = {"schema": SCHEMA + 1, "what": {"not": "what it was"}}
        path.write_text(json.dumps(json.loads(path.read_text()) | newer))
        with pytest.raises(RunUnreadable, match=f"schema {SCHEMA + 1}, this evener reads up to {SCHEMA}") as caught:
            open_run(self.arrived(folder))
        assert caught.value.hint == "a newer evener wrote it: upgrade"

    def test_keys_of_a_newer_minor_writer_are_dropped(self, folder: RunFolder) -> None:
        path = folder.path / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"mood": "fine"}))
        assert open_run(self.arrived(folder)).run == run()

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "x"}'])
    def test_a_run_json_that_is_none_is_one_line(self, folder: RunFolder, text: str) -> None:
        (folder.path / "run.json").write_text(text)
        with pytest.raises(RunUnreadable) as caught:
            open_run(self.arrived(folder))
        assert "\n" not in caught.value.message

    def test_a_run_is_never_written_over(self, folder: RunFolder) -> None:
        with pytest.raises(HostError, match="File exists"):
            RunFolder.create(folder.path.parent, run())

    # ---- secrets

    def test_secrets_do_not_reach_the_disk(self, tmp_path: Path) -> None:
        folder = self.begun(tmp_path, run(api_key="k1", top_k="5"))
        folder.fact("x", {"env": [{"LLAMA_API_KEY": "k1"}], "Authorization": "Bearer k1", "api_key_env": "NAME"})
        path = self.arrived(folder)
        text = "".join(p.read_text() for p in path.iterdir() if p.is_file())
        assert "k1" not in text
        assert '"api_key_env": "NAME"' in text
        assert open_run(path).run.conditions.sampling == {"api_key": "(secret)", "top_k": "5"}

    @pytest.mark.parametrize(
        ("host", "name"), [("alpha", "llama-server.log"), ("../..", "../x"), ("a/b", ".."), ("", "")]
    )
    def test_a_log_stays_in_the_run(self, folder: RunFolder, host: str, name: str) -> None:
        path = folder.log_path(host, name)
        path.write_text("x")
        assert (folder.path / "logs").resolve() == path.resolve().parent.parent
