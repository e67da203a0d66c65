"""A campaign's models as their headers tell: here, to be fetched, or to be made here. Fetches and makes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from evener.api import models, quantising
from evener.api.models import Beside
from evener.dialects import hf_hub
from evener.errors import ModelMissing
from evener.fetching import is_url
from evener.models import skeletons
from evener.models.quantise import require_type
from evener.models.shelf import DEMO_FILE, DEMO_NAME
from evener.records.campaign import Contestant, Fetch
from evener.records.weights import Weights

DEMO_STAND_IN = "smollm2-135m:Q5_K_M"  # the catalogue's next larger one to Q4_1
NOT_FETCHED = "demo is not fetched yet: sizes are those of the catalogue's Q5_K_M"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKnown:
    """A contestant's model as it is known, and where it has to come from."""

    weights: Weights
    beside: Beside
    how: Literal["here", "fetch", "quantise"]
    source: Weights | None = None  # what it is made of, where it is made here


async def known(one: Contestant) -> ModelKnown:
    """The header of what a contestant runs. Raises ModelMissing, BadHeader, FetchFailed; NameUnknown for a type that
    llama-quantize does not make."""
    assert one.model is not None
    beside = await models.beside(one.mmproj, one.draft)
    source = await _weights(one.model)
    if one.quantise is None:
        return ModelKnown(weights=beside.of(source), beside=beside, how="here" if source.origin == "file" else "fetch")
    kind = require_type(one.quantise)
    made = await _made(one.model, source, kind)
    if made is not None:
        return ModelKnown(weights=beside.of(await models.weights(made)), beside=beside, how="here", source=source)
    return ModelKnown(weights=beside.of(_to_be_made(source, kind)), beside=beside, how="quantise", source=source)


async def _weights(model: str) -> Weights:
    """Of the demo's model also before it is fetched."""
    try:
        return await models.weights(model)
    except ModelMissing:
        if model.lower() != DEMO_NAME:
            raise
    return replace(await models.weights(DEMO_STAND_IN), name=Path(DEMO_FILE).stem, estimate=NOT_FETCHED)


async def _made(model: str, source: Weights, kind: str) -> str | None:
    """The path of what is made of a model, where it is there."""
    if source.origin != "file":
        return None
    return await quantising.made(model, kind, report=lambda _progress: None)


def _to_be_made(source: Weights, kind: str) -> Weights:
    """What llama-quantize would make of a model: as the catalogue has it, else as large as what it is made of."""
    alike = (one for one in skeletons.alternatives(source) if _is_same_model(one, source))
    found = next((one for one in alike if one.quantisation.upper() == kind.upper()), None)
    if found is not None:
        return replace(found, estimate=f"{kind} of {source.name} is made here: sizes are those of the catalogue")
    return replace(source, estimate=f"{kind} of {source.name} is made here: planned as large as {source.quantisation}")


def _is_same_model(one: Weights, other: Weights) -> bool:
    return (one.architecture, one.layers, one.parameters) == (other.architecture, other.layers, other.parameters)


def is_nowhere(model: str, one: ModelKnown) -> bool:
    """Whether nobody has said where the file itself is."""
    return (one.source or one.weights).origin == "catalogue" and not can_be_fetched(model)


def fetch_of(contestant: str, model: str, weights: Weights) -> Fetch:
    here = weights.origin == "file"
    return Fetch(
        contestant=contestant, model=model, bytes=0 if here else weights.file_bytes, how="here" if here else "fetch"
    )


def can_be_fetched(model: str) -> bool:
    return is_url(model) or hf_hub.is_name(model) or model.lower() == DEMO_NAME
