"""The Hugging Face Hub's model names and file listings, as text. Asks nobody and chooses nothing.

Source: the Hub's HTTP API, GET /api/models/{repo}/tree/{revision}?recursive=true; llama.cpp's common/hf-cache.cpp.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import quote

ENDPOINT = "https://huggingface.co"
REVISION = "main"

_NAME = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+?)(?::(?P<quant>[\w./-]+))?", re.IGNORECASE)
_QUANT = re.compile(
    r"(?:UD-)?(?:I?Q\d(?:_[0-9A-Z]+)*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32)(?=[-./]|$)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubName:
    """What "hf:org/repo:QUANT" says. `quant` is None when it names none."""

    repo: str
    quant: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """One file of a repository. `sha256` is that of its content, None for a small one that git itself keeps."""

    path: str
    bytes: int
    sha256: str | None


def read_name(text: str) -> HubName | None:
    """None for anything that does not begin as "hf:" names do; the caller says what is wrong with the rest."""
    found = _NAME.fullmatch(text)
    return HubName(repo=found["repo"], quant=found["quant"]) if found else None


def is_name(text: str) -> bool:
    """Whether somebody means the Hub, rightly written or not."""
    return text.lower().startswith("hf:")


def tree_url(endpoint: str, repo: str) -> str:
    return f"{endpoint.rstrip('/')}/api/models/{repo}/tree/{REVISION}?recursive=true"


def file_url(endpoint: str, repo: str, path: str) -> str:
    return f"{endpoint.rstrip('/')}/{repo}/resolve/{REVISION}/{quote(path)}"


def read_tree(text: bytes) -> tuple[HubFile, ...]:
    """One page of a listing. Raises ValueError when it is none."""
    rows = json.loads(text)
    if not isinstance(rows, list):
        raise ValueError("not a list of files")
    return tuple(_file(row) for row in rows if isinstance(row, dict) and row.get("type") == "file")


def _file(row: dict[str, object]) -> HubFile:
    lfs = row.get("lfs")
    oid = lfs.get("oid") if isinstance(lfs, dict) else None
    size = row.get("size")
    if not isinstance(row.get("path"), str) or not isinstance(size, int):
        raise ValueError("a file without path or size")
    good = isinstance(oid, str) and re.fullmatch(r"[0-9a-f]{64}", oid)
    return HubFile(path=str(row["path"]), bytes=size, sha256=str(oid) if good else None)


def quant_of(path: str) -> str | None:
    """The quantisation that a file's name or folder states: "Q4_K_M", "UD-Q4_K_XL", "BF16"; None when it states none.

    >>> quant_of("UD-Q4_K_XL/M-UD-Q4_K_XL-00001-of-00002.gguf")
    'UD-Q4_K_XL'
    """
    for piece in reversed(path.split("/")):
        words = re.sub(r"\.gguf$", "", piece, flags=re.IGNORECASE)
        found = [m for m in _QUANT.finditer(words) if m.start() == 0 or words[m.start() - 1] in "-._"]
        if found:
            return found[-1][0]
    return None
