"""Bring a model here by its URL: all of its parts, each a GGUF or refused. How bytes travel is not its concern."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from evener.dialects.gguf import read_header
from evener.errors import FetchFailed
from evener.fetching import PAUSE_S, Prove, fetch_file
from evener.models.names import siblings
from evener.ports import Downloads, Report


def file_name(url: str) -> str:
    """The name a URL's file gets here. Raises FetchFailed for a URL without one."""
    name = unquote(urlsplit(url).path).rsplit("/", 1)[-1]
    if not name.strip(". ") or name.startswith(".") or "\0" in name:
        raise FetchFailed(f"{url}: names no file", hint="the link ends in the model's file, …/model.gguf")
    return name if name.lower().endswith(".gguf") else f"{name}.gguf"


def part_urls(url: str) -> tuple[str, ...]:
    """The URLs of all parts of a split model, from any one of them."""
    split = urlsplit(url)
    folder, _, name = split.path.rpartition("/")
    return tuple(split._replace(path=f"{folder}/{sibling}").geturl() for sibling in siblings(name))


async def fetch_url(
    downloads: Downloads,
    url: str,
    *,
    folder: Path,
    report: Report,
    sha256: str | None = None,
    pause_s: float = PAUSE_S,
) -> Path:
    """The file behind `url`, in `folder`; every part of a split model. The path is that of the first part.

    Raises FetchFailed, ModelMissing (the server has no such file) or BadHeader (it is no GGUF).
    """
    urls = part_urls(url)
    if sha256 and len(urls) > 1:
        raise FetchFailed(f"{url}: one sha256 cannot hold for {len(urls)} parts", hint="fetch it without --sha256")
    folder.mkdir(parents=True, exist_ok=True)
    landed = [
        await fetch_file(
            downloads, each, folder / file_name(each), report=report, sha256=sha256, prove=is_gguf(each),
            pause_s=pause_s,
        )
        for each in urls
    ]  # fmt: skip
    return landed[0]


def is_gguf(url: str) -> Prove:
    """Refuses what has no GGUF header with BadHeader. `url` stands in error lines."""

    def prove(path: Path) -> None:
        with path.open("rb") as file:
            read_header(file, name=url)

    return prove
