"""Which models are here, and which one a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.errors import BadHeader, ModelMissing
from evener.models.names import siblings, stem
from evener.models.parts import all_parts, open_model
from evener.models.shelf import DEMO_FILE, Held, held_here, held_there, locate, no_such, only
from evener.models.stores import OWN, Place, Stored, stored
from evener.testing.gguf_files import Plain, write_gguf

LLAMA: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.name": "Llama",
    "general.file_type": 15,
    "llama.block_count": 1,
}


async def held(folder: Path, store: str = OWN) -> tuple[Held, ...]:
    return held_here(await stored(LocalShell("here"), [Place(store=store, folder=str(folder))]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_gguf(tmp_path / "Llama-8B-Q4_K_M.gguf", LLAMA, [("output.weight", "F32", (8,))])
    for number in (1, 2):
        write_gguf(tmp_path / f"Big-0000{number}-of-00002.gguf", LLAMA | {"split.no": number - 1, "split.count": 2})
    return tmp_path


def test_any_part_names_its_siblings() -> None:
    assert siblings("m-00002-of-00003.gguf") == tuple(f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3))
    assert siblings("M-00001-of-00001.GGUF") == ("M-00001-of-00001.GGUF",)


@pytest.mark.parametrize("name", ["m.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf", "m-00001-of-99999.gguf"])
def test_name_that_is_no_part_stands_alone(name: str) -> None:
    assert siblings(name) == (name,)


def test_stem_has_neither_ending_nor_number() -> None:
    assert stem("m-00002-of-00003.gguf") == "m"
    assert stem("M.Q4.GGUF") == "M.Q4"


def test_missing_part_is_named(folder: Path) -> None:
    (folder / "Big-00002-of-00002.gguf").unlink()
    with pytest.raises(ModelMissing, match=r"Big-00002-of-00002\.gguf: no such file") as caught:
        all_parts(folder / "Big-00001-of-00002.gguf")
    assert caught.value.hint == "all 2 parts belong in one folder"


def test_any_part_opens_the_whole(folder: Path) -> None:
    opened = open_model(folder / "Big-00002-of-00002.gguf")
    assert [Path(path).name for path in opened.paths] == ["Big-00001-of-00002.gguf", "Big-00002-of-00002.gguf"]


def test_file_that_may_not_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "loop.gguf").symlink_to(tmp_path / "loop.gguf")
    with pytest.raises(ModelMissing):
        open_model(tmp_path / "loop.gguf")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(BadHeader, match=r"text\.gguf: not a GGUF"):
        open_model(tmp_path / "text.gguf")


async def test_parts_are_one_entry_and_broken_files_say_why(folder: Path) -> None:
    (folder / "page.gguf").write_text("<html>")
    (folder / "m.gguf.0123456789ab.part").write_bytes(b"123")
    (folder / "readme.txt").write_text("not a model")
    entries = {entry.file: entry for entry in await held(folder)}
    assert list(entries) == ["Big-00001-of-00002.gguf", "Llama-8B-Q4_K_M.gguf", "m.gguf.0123456789ab.part", "page.gguf"]
    big = entries["Big-00001-of-00002.gguf"]
    assert (big.parts, big.architecture, big.quantisation, big.problem) == (2, "llama", "Q4_K_M", None)
    assert big.bytes == sum((folder / f"Big-0000{i}-of-00002.gguf").stat().st_size for i in (1, 2))
    assert entries["m.gguf.0123456789ab.part"].problem == "download not finished"
    assert entries["page.gguf"].problem is not None
    assert "a web page" in entries["page.gguf"].problem


async def test_lost_part_is_a_problem_of_its_entry(folder: Path) -> None:
    (folder / "Big-00001-of-00002.gguf").unlink()
    entry = (await held(folder))[0]
    assert entry.file == "Big-00001-of-00002.gguf"
    assert entry.problem is not None
    assert entry.problem.endswith("Big-00001-of-00002.gguf: no such file")


async def test_folder_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert await held(tmp_path / "none") == ()


async def test_what_is_no_model_is_shown_in_our_own_folder_only(folder: Path) -> None:
    (folder / "page.gguf").write_text("<html>")
    assert "page.gguf" in [one.file for one in await held(folder)]
    assert "page.gguf" not in [one.file for one in await held(folder, store="llama.cpp")]


def test_of_another_host_the_header_is_not_known() -> None:
    model = Stored(name="Big-00001-of-00002.gguf", store="lmstudio", paths=("/a", "/b"), bytes=7, missing=1)
    assert held_there("beta", [model]) == (
        Held(
            file="Big-00001-of-00002.gguf", path="/a", bytes=7, parts=2, host="beta", store="lmstudio", name="Big",
            problem="1 of 2 parts missing",
        ),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["Llama-8B-Q4_K_M.gguf", "llama-8b-q4_k_m", "LLAMA-8B-Q4_K_M.GGUF"])
def test_name_or_stem_in_any_case_finds_the_file(folder: Path, name: str) -> None:
    assert locate(name, folder) == folder / "Llama-8B-Q4_K_M.gguf"


def test_stem_of_a_split_model_finds_its_first_part(folder: Path) -> None:
    assert locate("big", folder) == folder / "Big-00001-of-00002.gguf"


def test_path_is_itself(folder: Path, tmp_path: Path) -> None:
    assert locate(str(folder / "Llama-8B-Q4_K_M.gguf"), tmp_path / "elsewhere") == folder / "Llama-8B-Q4_K_M.gguf"


def test_unknown_name_is_left_to_others_and_gets_the_nearest(folder: Path) -> None:
    assert locate("Lama-8B-Q4_K_M", folder) is None
    known = ["Big-00001-of-00002.gguf", "Llama-8B-Q4_K_M.gguf"]
    error = no_such("Lama-8B-Q4_K_M", known)
    assert (error.message, error.hint) == ("Lama-8B-Q4_K_M: no such model", "did you mean Llama-8B-Q4_K_M?")
    assert no_such("llama", known).hint == "did you mean Llama-8B-Q4_K_M?"
    assert no_such("zzz", known).hint == "evener models list shows what is here"


def test_two_models_of_one_name_are_not_guessed_between() -> None:
    def at(path: str, size: int) -> Stored:
        return Stored(name="m.gguf", store="lmstudio", paths=(path,), bytes=size)

    assert only("m", (at("/a/m.gguf", 5), at("/b/m.gguf", 5))).path == "/a/m.gguf"
    with pytest.raises(ModelMissing, match="m: 2 different models of that name") as caught:
        only("m", (at("/a/m.gguf", 5), at("/b/m.gguf", 6)))
    assert caught.value.hint == "name one by its path: /a/m.gguf (5 bytes), /b/m.gguf (6 bytes)"


def test_folder_is_no_model_and_names_those_in_it(folder: Path) -> None:
    with pytest.raises(ModelMissing, match="a folder, not a model") as caught:
        locate(str(folder), folder)
    assert caught.value.hint == "did you mean Big or Llama-8B-Q4_K_M?"


def test_url_is_to_be_fetched_first(folder: Path) -> None:
    with pytest.raises(ModelMissing, match="not a model at hand") as caught:
        locate("https://h/m.gguf", folder)
    assert caught.value.hint == "evener models fetch https://h/m.gguf"
    with pytest.raises(ModelMissing) as caught:
        locate("hf:org/m-GGUF:Q4_K_M", folder)
    assert caught.value.hint == "evener models fetch hf:org/m-GGUF:Q4_K_M"


def test_demo_model_is_found_or_its_command_named(folder: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        locate("demo", folder)
    assert caught.value.hint == "evener models fetch demo"
    write_gguf(folder / DEMO_FILE, LLAMA)
    assert locate("Demo", folder) == folder / DEMO_FILE


@pytest.mark.parametrize("name", ["9" * 5000, "a\0b", "~nobody-of-that-name/m.gguf"])
def test_a_text_that_no_file_can_be_called_by_is_no_model(folder: Path, name: str) -> None:
    assert locate(name, folder) is None
