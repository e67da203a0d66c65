"""A toy llama.cpp and a toy toolchain: shell scripts that say what the real ones say, at once."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from evener.engine.source import Pin

CAPTURES = Path(__file__).parent.parent / "captures" / "llama"


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def toy_engine(folder: Path, *, devices: str = "  (none)", token: str = f"cat {CAPTURES}/bench.json") -> Path:
    """The five programs. `devices` is the body of --list-devices; `token` is what llama-bench does."""
    script(
        folder / "llama-server",
        f"""case $1 in
--version) cat {CAPTURES}/version.txt >&2 ;;
--help) cat {CAPTURES}/server_help.txt ;;
--list-devices) printf '%s\\n' 'Available devices:' '{devices}' ;;
esac""",
    )
    script(folder / "llama-fit-params", f"cat {CAPTURES}/server_help.txt; echo '-fitp, --fit-print [on|off]   print'")
    script(
        folder / "ggml-rpc-server",
        f"if [ $1 = --help ]; then cat {CAPTURES}/worker_help.txt; else cat {CAPTURES}/worker_banner.txt; fi",
    )
    script(folder / "llama-bench", token)
    script(folder / "llama-quantize", "true")
    return folder


def toy_toolchain(folder: Path, *, engine: Path, gate: Path | None = None) -> Path:
    """cmake and ninja. ninja has three steps, skips those whose object is there, counts what it made in `made`.

    With a `gate`, it waits at its second step until that file exists.
    """
    waits = f"if [ $n = 2 ]; then until [ -e {gate} ]; do sleep 0.02; done; fi" if gate else ":"
    script(
        folder / "cmake",
        'while [ $# -gt 0 ]; do if [ "$1" = -B ]; then mkdir -p "$2/bin"; fi; echo "$1"; shift; done',
    )
    script(
        folder / "ninja",
        f"""cd "$2" || exit 9
for n in 1 2 3; do
    if [ -e $n.o ]; then continue; fi
    echo "[$n/3] Building CXX object $n.o"
    {waits}
    echo $n >>made
    touch $n.o
done
cp {engine}/* bin""",
    )
    script(folder / "c++", "true")
    return folder


def toy_archive(path: Path, files: dict[str, bytes] | None = None) -> Pin:
    """Write a source archive; return the pin that it satisfies."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in (files or {"toy-1/llama.cpp/CMakeLists.txt": b"project(toy)\n"}).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    raw = path.read_bytes()
    return Pin(project="toy", version="1", build=77, sha256=hashlib.sha256(raw).hexdigest(), bytes=len(raw))
