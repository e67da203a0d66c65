"""`evener up --draft`, `--mmproj`: what was planned beside the model is launched, verified, shown, and freed."""

import json

import pytest

from evener.testing.gguf_files import write_gguf

pytestmark = pytest.mark.engine

TINY = ("--context", "256", "--users", "1")


@pytest.fixture
def eyes(tmp_path):
    """A vision tower of one block, whose output is as wide as the demo model."""
    width, inner, tokens = 64, 128, 576
    metadata = {
        "general.architecture": "clip", "clip.has_vision_encoder": True, "clip.projector_type": "gemma3",
        "clip.vision.image_size": 56, "clip.vision.patch_size": 14, "clip.vision.embedding_length": width,
        "clip.vision.feed_forward_length": inner, "clip.vision.block_count": 1, "clip.vision.projection_dim": tokens,
        "clip.vision.attention.head_count": 4, "clip.vision.attention.layer_norm_epsilon": 1e-6,
        "clip.use_gelu": True, "clip.vision.image_mean": [0.5] * 3, "clip.vision.image_std": [0.5] * 3,
    }  # fmt: skip
    shapes = [
        ("v.patch_embd.weight", "F16", (14, 14, 3, width)), ("v.patch_embd.bias", "F32", (width,)),
        ("v.position_embd.weight", "F32", (width, 16)), ("mm.input_projection.weight", "F16", (tokens, width)),
        ("mm.soft_emb_norm.weight", "F32", (width,)), ("v.blk.0.ffn_up.weight", "F16", (width, inner)),
        ("v.blk.0.ffn_up.bias", "F32", (inner,)), ("v.blk.0.ffn_down.weight", "F16", (inner, width)),
        ("v.blk.0.ffn_down.bias", "F32", (width,)),
    ]  # fmt: skip
    for name in ("v.post_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        shapes += [(f"{name}.{part}", "F32", (width,)) for part in ("weight", "bias")]
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        shapes += [(f"v.blk.0.{name}.weight", "F16", (width, width)), (f"v.blk.0.{name}.bias", "F32", (width,))]
    return write_gguf(tmp_path / "eyes.gguf", metadata, shapes)


def test_what_stands_beside_a_model_is_launched_as_planned_verified_and_freed(rig, eyes, model):
    deployment = rig.up("demo", *TINY, "--draft", "demo", "--drafts", "2", "--mmproj", str(eyes))
    assert (deployment["draft"], deployment["projector"]) == (str(model), str(eyes))
    argv = next(p["argv"] for p in deployment["processes"] if p["role"] == "head")
    words = " ".join(argv)
    assert f"-md {model} -devd none" in words
    assert "--spec-type draft-simple --spec-draft-n-max 2" in words
    assert f"--mmproj {eyes} --no-mmproj-offload" in words
    said = " ".join(rig.run("status").stdout.split())
    assert f"projector: {eyes} draft model: {model}" in said
    assert rig.run("down").returncode == 0
    rig.assert_nothing_left()
    (run,) = rig.runs()
    (stage,) = json.loads((run / "summary.json").read_text())["stages"]
    assert [(c["device"], c["verdict"]) for c in stage["checks"]] == [("RPC0", "as planned"), ("RPC1", "as planned")]
    assert sum(c["layers_seen"] for c in stage["checks"]) == 31, "the draft model's are not counted with them"
    assert {c["verdict"] for c in stage["freed"]} <= {"freed", "freed, drifted"}
    conditions = json.loads((run / "run.json").read_text())["conditions"]
    assert conditions["beside"] == ["projector eyes", "2 drafts of SmolLM2-135M-Instruct.Q4_1"]


def test_a_single_machine_has_room_for_its_draft_model(rig):
    up = rig.run("up", "demo", "--rig", str(rig.path), "--layout", "alpha", *TINY, "--draft", "demo", "-d")
    assert up.returncode == 0, up.stdout + up.stderr
    assert rig.run("down").returncode == 0


def test_a_projector_that_is_no_file_here_is_refused_in_one_line(rig):
    refused = rig.run("up", "demo", "--rig", str(rig.path), "--mmproj", "/nowhere/eyes.gguf")
    assert refused.returncode == 3
    assert refused.stderr.startswith("error: /nowhere/eyes.gguf: no such model")
