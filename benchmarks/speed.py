"""Hold the speed model against published measurements, and fit its constants.

python benchmarks/speed.py           predictions for the "test" rows, the targets, exit 1 when one is missed
python benchmarks/speed.py --all     the "fit" rows too, marked
python benchmarks/speed.py --fit     fit the constants of plan/speed_devices.py to the "fit" rows and print them

benchmarks/data/measurements.csv says of each row whether it is fitted, tested or left out, and why. The split was made
before the fit: rows of the case that asks for a fitted cost per hop, rows whose id is divisible by three, and the
only row of a family of cards or of a family at depth are "fit"; every other row that can be described is "test".
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from evener.models.facts import weights_of
from evener.models.skeletons import find as find_skeleton
from evener.plan.card_spec import Family
from evener.plan.cards import find as find_card
from evener.plan.links import preset
from evener.plan.speed import BEFORE_GRAPH_REUSE, CURRENT, Build, predict
from evener.plan.speed_devices import REACH, Reach, catalogue_speed
from evener.plan.speed_stage import Stage
from evener.plan.speed_values import exact
from evener.records.plan import Value, Workload
from evener.records.weights import Attention, Weights

DATA = Path(__file__).parent / "data"
TARGETS = {"decode": (0.15, 0.35), "prompt": (0.30, 0.60)}  # median absolute error, nine in ten within
BUILDS = {"E2": replace(CURRENT, prompts_overlap=False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measurement that the model can be asked about."""

    id: int
    use: str  # "fit" or "test"
    what: str  # "decode" or "prompt"
    label: str
    weights: Weights
    stages: tuple[tuple[str | None, str], ...]  # (link or None, card), in order
    workload: Workload
    depth: int
    era: str
    ubatch: int
    measured: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What is fitted."""

    reach: Mapping[Family, Reach]
    older: Build  # before graph reuse


def rows() -> list[Row]:
    models = json.loads((DATA / "models.json").read_text(encoding="utf-8"))
    with (DATA / "measurements.csv").open(encoding="utf-8", newline="") as file:
        return [_row(line, models) for line in csv.DictReader(file) if line["use"] != "excluded"]


def _row(line: Mapping[str, str], models: Mapping[str, Any]) -> Row:
    metric = re.match(r"(pp|tg)(\d*)(?:@d(\d+))?", line["metric"])
    assert metric is not None, line["metric"]
    tokens, depth = int(metric[2] or 128), int(metric[3] or 0)
    decodes = metric[1] == "tg"
    kv = "q8_0" if "q8 KV" in line["config"] else "f16"
    return Row(
        id=int(line["id"]),
        use=line["use"],
        what="decode" if decodes else "prompt",
        label=f"{line['shape']} on {line['stages']}, {line['metric']}",
        weights=_weights(line["shape"], models[line["shape"]]),
        stages=tuple(_stage(text) for text in line["stages"].split(" + ")),
        workload=Workload(context=32768, kv_type_k=kv, kv_type_v=kv, prompt_tokens=tokens),
        depth=depth + tokens // 2 if decodes else depth,
        era=line["build_era"][:2],
        ubatch=int(line["ubatch"] or 512),
        measured=float(line["value"]),
    )


def _stage(text: str) -> tuple[str | None, str]:
    link, colon, card = text.rpartition(":")
    return (link if colon else None), card


def _weights(name: str, shape: Mapping[str, Any]) -> Weights:
    if "catalogue" in shape:
        opened = find_skeleton(shape["catalogue"])
        assert opened is not None, shape["catalogue"]
        return weights_of(opened.paths, opened.headers)
    return described(name, shape)


def described(name: str, shape: Mapping[str, Any]) -> Weights:
    """A model of uniform blocks from its config and its size. Bits per weight are those of embedding, head and, where
    given, of all that is no routed expert; the rest of the file is spread over what is left."""
    layers, vocabulary, embedding = shape["layers"], shape["vocabulary"], shape["embedding"]
    matrix, experts, tied = vocabulary * embedding, shape.get("expert_parameters", 0), shape.get("tied", False)
    rest = shape["parameters"] - experts - matrix * (1 if tied else 2)
    head_bytes = matrix * shape["head_bits"] / 8
    outer_bytes = head_bytes if tied else head_bytes + matrix * shape["embedding_bits"] / 8
    inner_bytes = shape["file_bytes"] - outer_bytes
    rest_bytes = rest * shape["rest_bits"] / 8 if "rest_bits" in shape else inner_bytes * rest / (rest + experts)
    routed = range(shape.get("dense_first", 0), layers) if experts else range(0)
    per_expert_slot = (inner_bytes - rest_bytes) / len(routed) if routed else 0.0
    expert_bytes = [round(per_expert_slot) if layer in routed else 0 for layer in range(layers)]
    expert_counts = [experts // len(routed) if layer in routed else 0 for layer in range(layers)]
    return Weights(
        name=name,
        paths=(f"{name}.gguf",),
        architecture="described",
        quantisation=name.rsplit(" ", 1)[-1],
        file_bytes=shape["file_bytes"],
        layers=layers,
        mtp_layers=0,
        parameters=shape["parameters"],
        active_parameters=None,
        context_train=None,
        vocabulary=vocabulary,
        embedding=embedding,
        feed_forward=0,
        slot_bytes=(*(round(rest_bytes / layers) + b for b in expert_bytes), round(head_bytes)),
        host_bytes=round(outer_bytes - head_bytes),
        tied_head=tied,
        largest_tensor_bytes=round(head_bytes),
        attention=_attention(shape, layers),
        recurrent_bytes_per_sequence=tuple(
            0 if _is_full(shape, layer) else shape.get("recurrent_bytes", 0) for layer in range(layers)
        ),
        experts=shape.get("experts", 0),
        experts_used=shape.get("experts_used", 0),
        slot_expert_bytes=(*expert_bytes, 0),
        slot_parameters=(*(rest // layers + c for c in expert_counts), matrix),
        slot_expert_parameters=(*expert_counts, 0),
        position_numbers=shape.get("position_numbers", 1),
    )


def _is_full(shape: Mapping[str, Any], layer: int) -> bool:
    return (layer + 1) % shape.get("full_every", 1) == 0


def _attention(shape: Mapping[str, Any], layers: int) -> Attention:
    key = shape["key_length"]
    held = shape.get("value_length", key)
    period = shape.get("window_period")
    return Attention(
        kv_heads=tuple(shape["kv_heads"] if _is_full(shape, layer) else 0 for layer in range(layers)),
        key_length=key,
        value_length=held,
        window=tuple(shape["window"] if period and layer % period != period - 1 else None for layer in range(layers)),
        key_length_swa=key,
        value_length_swa=held,
        mla=shape.get("mla", False),
        heads=tuple(shape["heads"] if _is_full(shape, layer) else 0 for layer in range(layers)),
    )


def stages(row: Row, reach: Mapping[Family, Reach]) -> list[Stage]:
    """Equal shares: unequal cards whose split nobody stated are not asked about."""
    slots, count, result = row.weights.layers + 1, len(row.stages), []
    bounds = [slots * i // count for i in range(count + 1)]
    for index, (link, name) in enumerate(row.stages):
        card = find_card(name)
        assert card is not None, name
        result.append(
            Stage(
                host=f"host{index}",
                card=card.name,
                speed=catalogue_speed(card, reach[card.family]),
                start=bounds[index],
                count=bounds[index + 1] - bounds[index],
                endpoint=f"host{index}:50052" if link else None,
                link=preset(link) if link else None,
            )
        )
    return result


def predicted(row: Row, constants: Constants) -> Value:
    build = constants.older if row.era == "E1" else BUILDS.get(row.era, CURRENT)
    answer = predict(
        stages(row, constants.reach), row.weights, row.workload, depth=row.depth, build=build, ubatch=row.ubatch
    )
    speed = answer.decode_tokens_per_s if row.what == "decode" else answer.prefill_tokens_per_s
    assert speed is not None, row.label
    return speed


SHIPPED = Constants(reach=REACH, older=BEFORE_GRAPH_REUSE)


def report(chosen: Sequence[Row]) -> None:
    for row in chosen:
        speed = predicted(row, SHIPPED)
        error = speed.value / row.measured - 1
        inside = "" if speed.low <= row.measured <= speed.high else "  outside"
        mark = " (fit)" if row.use == "fit" else ""
        print(
            f"{row.id:>4} {row.what:<6} {row.measured:>9.2f} measured {speed.value:>9.2f} predicted"
            f" [{speed.low:.1f} to {speed.high:.1f}] {error:>+6.0%}{inside}  {row.label}{mark}"
        )


def verdict(tested: Iterable[Row], what: str) -> bool:
    mine = [row for row in tested if row.what == what]
    speeds = [predicted(row, SHIPPED) for row in mine]
    errors = sorted(abs(s.value / row.measured - 1) for s, row in zip(speeds, mine, strict=True))
    inside = sum(s.low <= row.measured <= s.high for s, row in zip(speeds, mine, strict=True))
    middle, wide = median(errors), TARGETS[what][1]
    within = sum(error <= wide for error in errors) / len(errors)
    met = middle <= TARGETS[what][0] and within >= 0.9
    print(
        f"{what}: median absolute error {middle:.1%} (target {TARGETS[what][0]:.0%}), {within:.0%} within {wide:.0%}"
        f" (target 90%), worst {errors[-1]:.0%}, {inside} of {len(mine)} inside the stated interval, n={len(mine)}:"
        f" {'met' if met else 'MISSED'}"
    )
    return met


PULL = 0.15  # squared log of what a constant moved: at 0.15 one row of thirty moves a constant by a tenth at most
FITTED = ("weights", "cache", "multiply", "attend", "layer_us", "expert_layer_us")


def fit(chosen: Sequence[Row]) -> Constants:
    """Coordinate descent on the mean absolute log error, with a pull towards the start (what is known of such cards)
    that keeps constants no row speaks about where they are."""
    best = SHIPPED
    for step in (1.12, 1.05, 1.02):
        for _ in range(3):
            for family in REACH:
                for name in FITTED:
                    best = _better(best, chosen, family, name, step)
            for change in (_with_hop, _with_share):
                best = min((change(best, f) for f in (1, step, 1 / step)), key=lambda c: loss(c, chosen))
    return best


def loss(constants: Constants, chosen: Sequence[Row]) -> float:
    errors = [abs(math.log(predicted(row, constants).value / row.measured)) for row in chosen]
    moved = [math.log(_constant(constants, f, n).value / _constant(SHIPPED, f, n).value) for f in REACH for n in FITTED]
    return sum(errors) / len(errors) + PULL * sum(m * m for m in moved)


def _better(best: Constants, chosen: Sequence[Row], family: Family, name: str, step: float) -> Constants:
    return min((_with(best, family, name, f) for f in (1, step, 1 / step)), key=lambda c: loss(c, chosen))


def _constant(constants: Constants, family: Family, name: str) -> Value:
    found: Value = getattr(constants.reach[family], name)
    return found


def _with(constants: Constants, family: Family, name: str, factor: float) -> Constants:
    moved = exact(_constant(constants, family, name).value * factor)
    reach = {**constants.reach, family: replace(constants.reach[family], **{name: moved})}
    return replace(constants, reach=reach)


def _with_hop(constants: Constants, factor: float) -> Constants:
    older = constants.older
    return replace(constants, older=replace(older, hop_us=exact(older.hop_us.value * factor)))


def _with_share(constants: Constants, factor: float) -> Constants:
    older = constants.older
    return replace(constants, older=replace(older, multiply_share=older.multiply_share * factor))


def main() -> None:
    known = rows()
    if "--fit" in sys.argv:
        best = fit([row for row in known if row.use == "fit"])
        for family in REACH:
            print(family, {name: round(_constant(best, family, name).value, 3) for name in FITTED})
        print(
            f"before graph reuse: {best.older.hop_us.value:.0f} us a hop, {best.older.multiply_share:.2f} of the rate"
        )
        return
    tested = [row for row in known if row.use == "test"]
    report(known if "--all" in sys.argv else tested)
    met = [verdict(tested, what) for what in TARGETS]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
