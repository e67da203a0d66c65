"""Names of model files: split parts and their siblings, short names. Pure text."""

from __future__ import annotations

import re

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
MOST_PARTS = 1000


def siblings(name: str) -> tuple[str, ...]:
    """The names of all parts, in order, from any one part's name; (name,) for a file that is not split.

    >>> siblings("m-00002-of-00002.gguf")
    ('m-00001-of-00002.gguf', 'm-00002-of-00002.gguf')
    """
    part = _PART.fullmatch(name)
    count = int(part["count"]) if part else 0
    if part is None or not 0 < int(part["number"]) <= count <= MOST_PARTS:
        return (name,)
    ending = name[len(part["stem"]) + len("-00001-of-00001") :]
    return tuple(f"{part['stem']}-{number:05d}-of-{count:05d}{ending}" for number in range(1, count + 1))


def stem(name: str) -> str:
    """A model's short name: without `.gguf` and without the number of the part."""
    part = _PART.fullmatch(name)
    return part["stem"] if part else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
