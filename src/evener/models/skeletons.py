"""The shipped catalogue: headers of well-known models in any standard quantisation, without a file or a network.

A skeleton is what a header says before its weights; `scripts/catalogue.py` writes them and says where each comes
from. The vocabulary's own text is left out: a real file is some MiB larger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from evener.dialects.gguf import Header, Value
from evener.dialects.gguf_types import FILE_TYPES
from evener.dialects.gguf_write import Shape, data_bytes, gguf_bytes, tensor_bytes
from evener.errors import NameUnknown
from evener.models.facts import parameters
from evener.models.parts import Opened
from evener.models.ranges import numbers
from evener.records.weights import Tensor, Weights

FOLDER = Path(__file__).parent / "catalogue"
ALIGNMENT = 32
ALIASES = {"MXFP4": "MXFP4_MOE"}  # a quantisation's common name -> its name as a file type

# Mixes that their makers choose tensor by tensor: the nearest standard one stands in, and it is said.
_CUSTOM = re.compile(r"^(?:UD-|I1-)|_(?:XL|XXL|L)$|^IQ", re.IGNORECASE)
_NEAREST = {"1": "Q2_K", "2": "Q2_K", "3": "Q3_K_M", "4": "Q4_K_M", "5": "Q5_K_M", "6": "Q6_K", "8": "Q8_0"}
_BLOCK = re.compile(r"blk\.([\d,-]+)\.(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """One model of the catalogue. `shapes` are all tensors in ggml order; `types` maps each quantisation to theirs."""

    name: str
    sources: tuple[str, ...]
    metadata: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    f32: tuple[str, ...]  # name endings of what stays F32 although it has several dimensions
    types: Mapping[str, Mapping[str, tuple[str, ...]]]

    @property
    def quantisations(self) -> tuple[str, ...]:
        """The largest first."""
        return tuple(self.types)

    def opened(self, quantisation: str) -> Opened:
        """The model as if its header had been read. Raises NameUnknown for a quantisation the catalogue has not."""
        known, estimate = self._known(quantisation)
        named = f"{self.name}-{quantisation.upper()}.gguf"
        return Opened(paths=(named,), headers=(self.header(known),), origin="catalogue", estimate=estimate)

    def header(self, quantisation: str) -> Header:
        """A standard quantisation's header; `file_bytes` leaves out what the vocabulary takes."""
        metadata = dict(self._metadata(quantisation))
        shapes = tuple(self._typed(quantisation))
        return Header(
            version=3,
            metadata=metadata,
            tensors=tuple(_laid_out(shapes)),
            alignment=ALIGNMENT,
            data_offset=(start := len(gguf_bytes(metadata, shapes))),  # type: ignore[arg-type]
            file_bytes=start + data_bytes(shapes, alignment=ALIGNMENT),
        )

    def _known(self, quantisation: str) -> tuple[str, str | None]:
        asked = quantisation.upper()
        if asked in self.types:
            return asked, None
        near = self._nearest(asked)
        if near is None:
            raise NameUnknown(
                f"{self.name}: the catalogue has no {quantisation}", hint=f"one of {', '.join(self.types)}"
            )
        return near, f"{asked} is a mix of its maker's choosing: sizes are those of {near}"

    def _nearest(self, asked: str) -> str | None:
        """The standard quantisation of as many bits, for a custom mix."""
        bits = re.search(r"\d", asked)
        near = _NEAREST.get(bits[0]) if bits and _CUSTOM.search(asked) else None
        return near if near in self.types else None

    def _metadata(self, quantisation: str) -> Iterator[tuple[str, Value]]:
        for key, value in self.metadata.items():
            yield key, tuple(value) if isinstance(value, list) else value
        file_type = ALIASES.get(quantisation, quantisation)
        yield "general.file_type", next(number for number, name in FILE_TYPES.items() if name == file_type)

    def _typed(self, quantisation: str) -> Iterator[Shape]:
        special, bulk = _spread(self.types[quantisation])
        for name, shape in self.shapes.items():
            stays = len(shape) == 1 or name.endswith(self.f32)
            yield name, "F32" if stays else special.get(name, bulk), shape


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """What the catalogue says about one model.

    `name` with a colon and one of the quantisations is what `evener plan` takes. `sizes` are file bytes per
    quantisation, without the vocabulary's own text. `parameters` are all, `active_parameters` those that one token
    reads. `context_train` is in tokens. `sources` are where the shapes were taken from. `experts` is 0 for a dense
    model. `architecture` and `layers` are as the header says.
    """

    name: str
    architecture: str
    layers: int
    experts: int
    parameters: int
    active_parameters: int | None
    context_train: int | None
    sizes: dict[str, int]
    sources: tuple[str, ...]


def entry(skeleton: Skeleton) -> CatalogueEntry:
    facts = skeleton.opened(skeleton.quantisations[0]).weights()
    return CatalogueEntry(
        name=skeleton.name,
        architecture=facts.architecture,
        layers=facts.layers,
        experts=facts.experts,
        parameters=facts.parameters,
        active_parameters=facts.active_parameters,
        context_train=facts.context_train,
        sizes={name: skeleton.header(name).file_bytes for name in skeleton.quantisations},
        sources=skeleton.sources,
    )


def _spread(types: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, str], str]:
    """(type of each tensor that is named, type of all others)."""
    special: dict[str, str] = {}
    bulk = ""
    for kind, names in types.items():
        for name in names:
            if name == "*":
                bulk = kind
            elif block := _BLOCK.match(name):
                special |= {f"blk.{layer}.{block[2]}": kind for layer in numbers(block[1])}
            else:
                special[name] = kind
    return special, bulk


def _laid_out(shapes: tuple[Shape, ...]) -> Iterator[Tensor]:
    offset = 0
    for name, kind, shape in shapes:
        size = tensor_bytes(kind, shape)
        yield Tensor(name=name, type=kind, shape=shape, bytes=size, offset=offset)
        offset += size + -size % ALIGNMENT


@cache
def everything() -> tuple[Skeleton, ...]:
    """Every model of the catalogue, the smallest first."""
    return tuple(
        sorted(map(_read, FOLDER.glob("*.json")), key=lambda s: parameters(s.header(s.quantisations[-1]).tensors))
    )


STEPS = ("Q8_0", "Q6_K", "Q4_K_M", "Q3_K_M", "MXFP4")


@cache
def in_steps() -> tuple[Weights, ...]:
    """Every model in quantisations a step of bits apart, as if its header had been read."""
    return tuple(weights for _, weights in _stepped())


@cache
def _stepped() -> tuple[tuple[Skeleton, Weights], ...]:
    every = ((skeleton, quant) for skeleton in everything() for quant in STEPS if quant in skeleton.quantisations)
    return tuple((skeleton, skeleton.opened(quant).weights()) for skeleton, quant in every)


def alternatives(mine: Weights) -> tuple[Weights, ...]:
    """`in_steps`, with every quantisation of the model itself where the catalogue has it, and what stands beside it."""
    alike = [s for s, w in _stepped() if _identity(w) == _identity(mine)]
    rest = tuple(w for w in in_steps() if _identity(w) != _identity(mine))
    if not alike:
        return rest
    every = (alike[0].opened(quant).weights() for quant in alike[0].quantisations)
    return (*(replace(one, projector=mine.projector, draft=mine.draft) for one in every), *rest)


def _identity(weights: Weights) -> tuple[str, int, int]:
    """What two quantisations of one model have in common."""
    return weights.architecture, weights.layers, weights.parameters


def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def find(name: str) -> Opened | None:
    """What `name:QUANTISATION` means in the catalogue, None when no model of it is called so.

    Raises NameUnknown when the model is there and its quantisation is not, or is not said.
    """
    wanted, _, quantisation = name.partition(":")
    if wanted.lower() not in names():
        return None
    skeleton = _read(FOLDER / f"{wanted.lower()}.json")
    if not quantisation:
        only = skeleton.quantisations
        if len(only) > 1:
            raise NameUnknown(
                f"{name}: in which quantisation?", hint=f"e.g. {wanted}:{_usual(only)}; one of {', '.join(only)}"
            )
        quantisation = only[0]
    return skeleton.opened(quantisation)


def near(name: str) -> tuple[str, ...]:
    """Names of the catalogue that come near."""
    wanted = name.partition(":")[0].lower()
    return tuple(get_close_matches(wanted, names(), n=3, cutoff=0.6))


def _usual(quantisations: tuple[str, ...]) -> str:
    return "Q4_K_M" if "Q4_K_M" in quantisations else quantisations[0]


@cache
def _read(path: Path) -> Skeleton:
    data = json.loads(path.read_text(encoding="utf-8"))
    shapes = {name: tuple(shape) for name, shape in data["tensors"].items()}
    blocks = {layer: group["tensors"] for group in data["blocks"] for layer in numbers(group["layers"])}
    for layer in sorted(blocks):
        shapes |= {f"blk.{layer}.{name}": tuple(shape) for name, shape in blocks[layer].items()}
    return Skeleton(
        name=data["name"],
        sources=tuple(data["sources"]),
        metadata=data["metadata"],
        shapes=shapes,
        f32=tuple(data["f32"]),
        types={
            name: {kind: tuple(tensors) for kind, tensors in kinds.items()}
            for name, kinds in data["quantisations"].items()
        },
    )
