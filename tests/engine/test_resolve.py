from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evener.codec import to_json
from evener.edges.local_shell import LocalShell
from evener.engine import resolve
from evener.errors import EngineMissing
from evener.records.capability import Built, FoundEngine

from .toys import toy_engine

HERE = "11111111"
ELSEWHERE = "22222222"


def build_in_cache(engines: Path, key: str, *, cpu: str = HERE, day: int = 1) -> Path:
    folder = toy_engine(engines / key)
    built = Built(
        key=key, build=11434, commit="b0a2feb", backend="cpu", flags=(), cpu=cpu, compiler=None, protocol="7.0.0",
        source_sha256="00", built_at=datetime(2026, 11, day, tzinfo=UTC),
    )  # fmt: skip
    (folder / "engine.json").write_text(to_json(built))
    return folder


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    folder = tmp_path / "engines"
    folder.mkdir()
    return folder


async def found(
    engines: Path, *, asked: str | None = None, environ: dict[str, str] | None = None
) -> tuple[FoundEngine, ...]:
    return await resolve.found(LocalShell("here"), asked=asked, environ=environ or {}, engines=str(engines), cpu=HERE)


async def test_nothing_found_says_how_to_get_one_and_what_it_costs(engines: Path) -> None:
    with pytest.raises(EngineMissing) as refusal:
        resolve.demand(await found(engines))
    assert refusal.value.message == "no llama.cpp engine for this machine"
    assert "evener engine install" in (refusal.value.hint or "")
    assert "minutes" in (refusal.value.hint or "")


async def test_an_argument_wins_over_environment_cache_and_path(
    engines: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, wished = toy_engine(tmp_path / "named"), toy_engine(tmp_path / "wished")
    cached = build_in_cache(engines, "b1")
    on_path = toy_engine(tmp_path / "path")
    monkeypatch.setenv("PATH", f"{on_path}:/usr/bin:/bin")
    all_four = await found(engines, asked=str(named), environ={"EVENER_ENGINE": str(wished)})
    assert [(one.source, one.folder, one.used) for one in all_four] == [
        ("argument", str(named), True),
        ("EVENER_ENGINE", str(wished), False),
        ("cache", str(cached), False),
        ("PATH", str(on_path), False),
    ]


async def test_a_program_named_instead_of_its_folder_is_understood(engines: Path, tmp_path: Path) -> None:
    wished = toy_engine(tmp_path / "wished")
    one = resolve.demand(await found(engines, environ={"EVENER_ENGINE": str(wished / "llama-server")}))
    assert one.folder == str(wished)


async def test_a_wish_that_cannot_be_met_is_never_replaced(engines: Path, tmp_path: Path) -> None:
    build_in_cache(engines, "b1")
    seen = await found(engines, environ={"EVENER_ENGINE": str(tmp_path / "gone")})
    assert not any(one.used for one in seen)
    with pytest.raises(EngineMissing, match=r"gone \(EVENER_ENGINE\): no llama-server in it"):
        resolve.demand(seen)


async def test_the_newest_build_for_this_cpu_is_used(engines: Path) -> None:
    build_in_cache(engines, "old", day=1)
    build_in_cache(engines, "new", day=2)
    build_in_cache(engines, "newest-elsewhere", cpu=ELSEWHERE, day=3)
    seen = await found(engines)
    assert [(Path(one.folder).name, one.used) for one in seen] == [
        ("new", True),
        ("old", False),
        ("newest-elsewhere", False),
    ]


async def test_only_builds_for_another_cpu_are_named_as_the_reason(engines: Path) -> None:
    build_in_cache(engines, "b1", cpu=ELSEWHERE)
    with pytest.raises(EngineMissing, match="b1: built for another CPU"):
        resolve.demand(await found(engines))


async def test_a_folder_that_never_landed_is_no_engine(engines: Path) -> None:
    build_in_cache(engines, ".landing-b1")
    toy_engine(engines / "without-mark")
    torn = build_in_cache(engines, "torn")
    (torn / "engine.json").write_text('{"key": "to')
    assert await found(engines) == ()
