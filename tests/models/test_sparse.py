"""Header-only files: the shapes of the model, holes for data, and as many rows of vocabulary as asked for."""

from evener.models import skeletons
from evener.models.parts import open_model
from evener.models.sparse import write_sparse


def written(tmp_path, name="qwen3-0.6b:q4_k_m", rows=512):
    opened = skeletons.find(name)
    vocabulary = opened.weights().vocabulary
    return opened, write_sparse(opened, tmp_path, vocabulary=vocabulary, short_rows=rows)


def test_the_full_file_reads_back_as_the_model(tmp_path):
    opened, files = written(tmp_path)
    again = open_model(files.full)
    assert again.headers[0].tensors == opened.headers[0].tensors
    assert again.weights().slot_bytes == opened.weights().slot_bytes
    assert again.weights().attention == opened.weights().attention


def test_it_takes_next_to_nothing_on_the_disk(tmp_path):
    _, files = written(tmp_path)
    assert files.full.stat().st_size > 300 << 20
    assert files.full.stat().st_blocks * 512 < 1 << 20


def test_the_short_file_differs_in_its_vocabulary_alone(tmp_path):
    opened, files = written(tmp_path, "glm-4.5-air:q2_k", rows=300)
    short = {t.name: t for t in open_model(files.short).headers[0].tensors}
    for tensor in opened.headers[0].tensors:
        per_token = tensor.name.endswith(("token_embd.weight", "output.weight", "embed_tokens.weight", "_head.weight"))
        rows = 300 if per_token and tensor.shape[-1] == 151552 else tensor.shape[-1]
        assert short[tensor.name].shape == (*tensor.shape[:-1], rows)
    assert open_model(files.short).weights().vocabulary == 300
