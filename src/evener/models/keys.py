"""Ask a header's metadata for what an architecture calls its shape. Knows key names' form, not their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from evener.dialects.gguf import ArrayOf, Value
from evener.errors import BadHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Metadata under one architecture's prefix. `name` stands in error lines."""

    name: str
    architecture: str
    metadata: dict[str, Value]

    def fault(self, key: str, what: str) -> NoReturn:
        raise BadHeader(f"{self.name}: {self.architecture}.{key} {what}")

    def get(self, key: str) -> Value | None:
        return self.metadata.get(f"{self.architecture}.{key}")

    def __contains__(self, key: str) -> bool:
        return f"{self.architecture}.{key}" in self.metadata

    def number(self, key: str, default: int = 0) -> int:
        """A count. Raises BadHeader when the header holds something else under `key`."""
        value = self.get(key)
        return default if value is None else self._count(key, value)

    def per_layer(self, key: str, layers: int) -> tuple[int, ...]:
        """One count per layer, from an array or from one number for all; zeros when the key is absent.

        Raises BadHeader for an array of another length.
        """
        value = self.get(key)
        if value is None:
            return (0,) * layers
        if not isinstance(value, (tuple, ArrayOf)):
            return (self._count(key, value),) * layers
        length = value.count if isinstance(value, ArrayOf) else len(value)
        if isinstance(value, ArrayOf) or length != layers:
            self.fault(key, f"has {length} entries for {layers} blocks")
        return tuple(self._count(key, entry) for entry in value)

    def flags(self, key: str) -> tuple[bool, ...] | None:
        """An array of yes and no; None when the key is absent or no array."""
        value = self.get(key)
        return tuple(bool(entry) for entry in value) if isinstance(value, tuple) else None

    def _count(self, key: str, value: object) -> int:
        if not isinstance(value, int) or value < 0:
            self.fault(key, f"is {str(value)[:40]!r}, which is no count")
        return int(value)
