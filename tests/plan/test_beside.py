"""A projector and a draft model beside a model: whole on one card of the head, in memory, commands and dry runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evener.edges.local_shell import LocalShell
from evener.edges.stand_in import StandIns
from evener.errors import EngineError
from evener.models.parts import open_model
from evener.models.sparse import write_sparse
from evener.plan import dry_run, dry_run_beside, memory
from evener.plan.candidates import make_plan
from evener.plan.commands import Tools
from evener.plan.dry_run import Asking
from evener.plan.question import Question
from evener.records.plan import Candidate, Workload
from evener.records.weights import Projector, Weights
from evener.testing.gguf_files import write_gguf
from tests.models.test_projector import gemma3
from tests.rigs import GIB, MIB, card, cpu, rig, scan, seen, weights

EYES = Projector(
    name="eyes", path="/models/mmproj.gguf", weights_bytes=800 * MIB, compute_bytes=120 * MIB, host_bytes=9 * MIB
)
SMALL = weights(blocks=2, block_bytes=100 * MIB, head_bytes=50 * MIB, paths=("/models/small.gguf",))
WORK = Workload(context=1024, users=2, drafts=3)


def question(model: Weights, *cards_gib: int, work: Workload = WORK) -> Question:
    cards = [card(f"card{i}", size * GIB, device=f"CUDA{i}") for i, size in enumerate(cards_gib)]
    host = seen("alpha", *cards, cpu(16 * GIB))
    return Question(rig=rig("alpha"), scan=scan(host), weights=model, workload=work, tools=Tools(engines={}, ports={}))


def planned(asked: Question, name: str) -> Candidate:
    found = make_plan(asked).candidate(name)
    assert found is not None
    return found


def both(**more: object) -> Weights:
    return weights(blocks=8, block_bytes=GIB // 2, head_bytes=GIB // 2, projector=EYES, draft=SMALL, **more)


def test_a_draft_model_brings_its_weights_an_f16_cache_for_every_user_and_its_buffer() -> None:
    work = replace(WORK, kv_type_k="q8_0", kv_type_v="q8_0")
    compute = memory.compute_bytes(SMALL, Workload(context=1024, users=2), devices=1, position=0)
    assert memory.draft_bytes(both(), work) == 250 * MIB + 2 * 2 * 1024 * 256 + compute


def test_smollm2_drafts_with_what_llama_server_allocated(model: Path) -> None:
    """92.10 weights, 180.00 cache and 17.51 MiB of compute on the draft's device, 2 users of 4096, build 11434."""
    own = open_model(model).weights()
    found = memory.draft_bytes(replace(own, draft=own), Workload(context=4096, users=2, drafts=3))
    assert found / MIB == pytest.approx(92.10 + 180.00 + 17.51, abs=0.1)


def test_without_a_card_a_draft_model_is_in_ram_once(model: Path) -> None:
    """92.10 weights, 180.00 cache, 18.64 compute and 0.38 MiB of logits: the same on the processor, build 11434."""
    own = open_model(model).weights()
    drafting = replace(own, draft=own)
    found = memory.beside_host_bytes(drafting, Workload(context=4096, users=2, drafts=3), on_card=False)
    assert found / MIB == pytest.approx(92.10 + 180.00 + 18.64 + 0.38, abs=0.5)


def test_drafts_of_another_model_load_no_mtp_block_and_keep_no_state() -> None:
    drafting = weights(blocks=4, mtp_layers=1, recurrent_bytes_per_sequence=(1000, 0, 0, 0))
    assert memory.mtp_drafts(drafting, WORK) == 3
    alone, helped = (memory.cache_bytes(one, WORK)[0] for one in (drafting, replace(drafting, draft=SMALL)))
    assert alone - helped == 1000 * 2 * 3  # a state for each draft and user


def test_both_stand_whole_on_the_largest_card_and_are_in_its_total() -> None:
    host = planned(question(both(), 3, 6), "alpha")
    on = {device.device: device for device in host.devices}
    assert (on["CUDA0"].projector_bytes, on["CUDA0"].draft_bytes) == (0, 0)
    large = on["CUDA1"]
    assert large.projector_bytes == 920 * MIB
    assert large.draft_bytes == memory.draft_bytes(both(), WORK, kind="cuda")
    parts = large.weights_bytes + large.kv_bytes + large.compute_bytes + large.overhead_bytes
    assert large.total_bytes == parts + large.projector_bytes + large.draft_bytes
    assert large.total_bytes <= 6 * GIB


def test_the_engines_figure_of_a_projector_is_the_least() -> None:
    small, large = (replace(both(), projector=replace(EYES, dry_run_bytes=size * MIB)) for size in (850, 990))
    assert memory.projector_bytes(small) == 920 * MIB  # the largest image takes more than what is there at first
    assert memory.projector_bytes(large) == 990 * MIB
    device = planned(question(large, 8), "alpha").devices[0]
    assert (device.projector_bytes, device.projector_dry_run_bytes) == (990 * MIB, 990 * MIB)


def test_they_take_room_that_layers_then_have_not() -> None:
    bare = weights(blocks=8, block_bytes=GIB // 2, head_bytes=GIB // 2)
    asked = question(bare, 6, work=replace(WORK, drafts=0))
    assert planned(asked, "alpha").fits
    assert not planned(question(both(), 6), "alpha").fits


def test_the_command_names_the_card_of_both() -> None:
    argv = planned(question(both(), 3, 6), "alpha").servers[0].argv
    words = " ".join(argv)
    assert "--mmproj /models/mmproj.gguf --mmproj-device CUDA1" in words
    assert "-md /models/small.gguf -devd CUDA1 -ngld 999 --spec-type draft-simple --spec-draft-n-max 3" in words
    assert "--no-mmproj" not in argv


def test_without_a_card_both_are_on_the_processor_and_in_ram() -> None:
    found = planned(question(both()), "alpha")
    words = " ".join(found.servers[0].argv)
    assert "--no-mmproj-offload" in words
    assert "-devd none -ngld 0" in words
    bare = planned(
        question(weights(blocks=8, block_bytes=GIB // 2, head_bytes=GIB // 2), work=replace(WORK, drafts=0)), "alpha"
    )
    assert found.host_bytes["alpha"] - bare.host_bytes["alpha"] >= memory.beside_bytes(both(), WORK)
    assert "the projector is on alpha's processor: alpha has no card of its own in this layout" in found.warnings


def asking(engine: Path, folder: Path, model: Path, work: Workload) -> Asking:
    opened = open_model(model)
    own = opened.weights()
    rows = dry_run.short_rows(own, work)
    files = write_sparse(opened, folder, vocabulary=own.vocabulary, short_rows=rows)
    return Asking(
        shell=LocalShell("here"), stand_ins=StandIns(), program=str(engine / "llama-fit-params"), full=str(files.full),
        short=str(files.short),
    )  # fmt: skip


@pytest.mark.engine
async def test_the_engine_says_what_a_projector_takes_from_its_header(
    engine: Path, model: Path, tmp_path: Path
) -> None:
    held = gemma3(blocks=2)
    path = tmp_path / "mmproj.gguf"
    rest = {
        "general.file_type": 1, "clip.has_vision_encoder": True, "clip.vision.block_count": 2, "clip.use_gelu": True,
        "clip.vision.attention.head_count": 16, "clip.vision.attention.layer_norm_epsilon": 1e-6,
        "clip.vision.projection_dim": 5376, "clip.vision.image_mean": [0.5] * 3, "clip.vision.image_std": [0.5] * 3,
    }  # fmt: skip
    write_gguf(path, {**held.metadata, **rest}, [(t.name, t.type, t.shape) for t in held.tensors])
    ask = asking(engine, tmp_path, model, WORK)
    bare = Projector(name="eyes", path=str(path), weights_bytes=0, compute_bytes=0, host_bytes=0)
    found = await dry_run_beside.measured_projector(bare, ask, server=str(engine / "llama-server"))
    weights_mib = sum(t.bytes for t in held.tensors) / MIB
    assert found.dry_run_bytes is not None
    assert found.dry_run_bytes / MIB == pytest.approx(weights_mib + 121.25, abs=0.1)
    assert found.host_bytes / MIB == pytest.approx(9.19, abs=0.01)
    with pytest.raises(EngineError, match="cannot say what this projector takes"):
        await dry_run_beside.measured_projector(
            replace(bare, path=str(model)), ask, server=str(engine / "llama-server")
        )


@pytest.mark.engine
async def test_a_draft_model_is_confirmed_where_it_stands(engine: Path, model: Path, tmp_path: Path) -> None:
    own, work = open_model(model).weights(), Workload(context=4096, users=2, drafts=3)
    host = planned(question(replace(own, draft=own), 8, work=work), "alpha")
    ask = asking(engine, tmp_path, model, memory.drafting(work))
    done = await dry_run_beside.with_draft(host, own, work, ask, kinds={})
    device = done.devices[0]
    assert device.draft_dry_run is not None
    assert device.draft_dry_run.kv_bytes == 180 * MIB
    assert device.draft_bytes / MIB == pytest.approx(92.10 + 180.00 + 17.51, abs=1.5)
    assert device.total_bytes - host.devices[0].total_bytes == device.draft_bytes - host.devices[0].draft_bytes


@pytest.mark.engine
async def test_a_draft_model_that_outgrows_its_card_does_not_fit(engine: Path, model: Path, tmp_path: Path) -> None:
    own, work = open_model(model).weights(), Workload(context=4096, users=2, drafts=3)
    host = planned(question(replace(own, draft=own), 8, work=work), "alpha")
    tight = replace(host.devices[0], offered_bytes=host.devices[0].total_bytes - 10 * MIB)
    ask = asking(engine, tmp_path, model, memory.drafting(work))
    done = await dry_run_beside.with_draft(replace(host, devices=(tight,)), own, work, ask, kinds={})
    assert not done.fits
    assert done.short_bytes / MIB == pytest.approx(10, abs=2)
