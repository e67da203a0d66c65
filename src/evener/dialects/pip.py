"""Fetch one pinned file with pip: its command line, its environment, what it prints. Runs nothing.

pip and not a URL: it honours the user's mirror, proxy and certificates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evener.records.events import Progress

_NEEDED = re.compile(
    r"PIP_.*|(https?|no|all)_proxy|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
    r"|XDG_(CONFIG|CACHE)_HOME|NETRC"
)
_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")


def requirement(project: str, version: str, sha256: str) -> str:
    """A requirements file that only this file satisfies."""
    return f"{project}=={version} --hash=sha256:{sha256}\n"


def download_argv(python: str, project: str, *, requirements: str, into: str, binary: bool) -> tuple[str, ...]:
    """`binary` asks for a wheel, else for the source distribution of `project`; neither is installed.

    Of a source distribution pip asks its build backend for the metadata. The rule names the project alone: for
    `:all:` pip would first compile that backend's own tools, cmake for one, from their sources.
    """
    return (
        python, "-m", "pip", "download", "--no-deps", "--require-hashes",
        "--only-binary" if binary else "--no-binary", project,
        "--requirement", requirements, "--dest", into,
        "--progress-bar", "raw", "--no-input", "--disable-pip-version-check",
    )  # fmt: skip


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The part of our environment that tells pip where the index is and how to reach it."""
    return {name: value for name, value in ours.items() if _NEEDED.fullmatch(name)}


def progress(line: str, *, what: str) -> Progress | None:
    """One line of `--progress-bar raw`, in bytes; None for any other line."""
    said = _RAW_PROGRESS.search(line)
    return Progress(what=what, done=float(said[1]), of=float(said[2]) or None) if said else None


def complaint(lines: list[str]) -> str | None:
    """Why pip failed: its first error line; None when it printed none."""
    return next((line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")), None)
