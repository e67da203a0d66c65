"""Ollama's model store as text: which blob a name means. Reads no file."""

from __future__ import annotations

import json
import re

MODEL = "application/vnd.ollama.image.model"
_DEFAULT = re.compile(r"^registry\.ollama\.ai/(?:library/)?")


def model_blob(manifest: str) -> str | None:
    """The file name, below `blobs/`, of the GGUF that a manifest names; None for one that names none."""
    try:
        layers = json.loads(manifest)["layers"]
        digests = [layer["digest"] for layer in layers if layer["mediaType"] == MODEL]
    except (ValueError, LookupError, TypeError):
        return None
    good = [digest for digest in digests if re.fullmatch(r"sha256:[0-9a-f]{64}", str(digest))]
    return good[0].replace(":", "-") if len(good) == 1 else None


def model_name(path: str) -> str:
    """What `ollama run` calls the manifest at `path`, below `manifests/`.

    >>> model_name("registry.ollama.ai/library/llama3/8b")
    'llama3:8b'
    """
    name, _, tag = _DEFAULT.sub("", path).rpartition("/")
    return f"{name}:{tag}"
