"""The engine's log, as build 11434 printed it."""

from pathlib import Path

import pytest

from evener.dialects import llama_log
from evener.records.deployment import UsedDevice

CAPTURE = Path(__file__).parent.parent / "captures" / "llama" / "two_workers.jsonl"
MIB = 1 << 20


@pytest.fixture
def lines():
    return [llama_log.read_line(raw) for raw in CAPTURE.read_text().splitlines()]


@pytest.fixture
def loaded(lines):
    return llama_log.read_loaded(line.text for line in lines)


def test_devices_are_named_in_the_order_of_use_with_their_endpoints(loaded):
    assert loaded.devices == (
        UsedDevice(name="RPC0", description="127.0.0.1:50961", bus_id=None, free_bytes=24105 * MIB),
        UsedDevice(name="RPC1", description="127.0.0.2:50961", bus_id=None, free_bytes=24105 * MIB),
    )


def test_slots_are_counted_with_the_output_head(loaded):
    assert loaded.layers == {"RPC0": 16, "RPC1": 15}


def test_buffers_named_alike_belong_to_the_device_of_their_endpoint(loaded):
    # Both are called RPC0[...]: the index counts inside the endpoint.
    assert loaded.bytes_on("RPC0", "weights") == round(33.82 * MIB)
    assert loaded.bytes_on("RPC1", "weights") == round(58.28 * MIB)
    assert loaded.bytes_on("RPC1", "kv") == 84 * MIB
    assert loaded.bytes_on("RPC1", "compute") == round(32.91 * MIB)
    assert loaded.bytes_on("host", "weights") == round(28.69 * MIB)


def test_a_compute_buffer_reserved_again_replaces_the_first():
    said = ["sched_reserve: CUDA0 compute buffer size =   10.00 MiB"] * 2
    assert llama_log.read_loaded(said).bytes_on("host", "compute") == 10 * MIB


def test_two_caches_on_one_device_add_up():
    said = ["llama_kv_cache: CPU KV buffer size =   10.00 MiB", "llama_kv_cache: CPU KV buffer size =    5.50 MiB"]
    assert llama_log.read_loaded(said).bytes_on("host", "kv") == round(15.5 * MIB)


def test_a_draft_model_adds_its_buffers_and_leaves_the_models_devices_and_layers_alone():
    said = [
        "llama_prepare_model_devices: using device RPC0 (127.0.0.2:31000) (unknown id) - 24105 MiB free",
        "llama_prepare_model_devices: using device RPC1 (127.0.0.1:31000) (unknown id) - 24105 MiB free",
        "load_tensors: layer   0 assigned to device RPC0, is_swa = 0",
        "load_tensors: layer   1 assigned to device RPC1, is_swa = 0",
        "load_tensors: RPC0[127.0.0.1:31000] model buffer size =    49.83 MiB",
        "sched_reserve: RPC0[127.0.0.1:31000] compute buffer size =    12.88 MiB",
        "common_speculative_init_result: loading draft model '/models/small.gguf'",
        "llama_prepare_model_devices: using device RPC1 (127.0.0.1:31000) (unknown id) - 24105 MiB free",
        "load_tensors: layer   0 assigned to device RPC1, is_swa = 0",
        "load_tensors: RPC0[127.0.0.1:31000] model buffer size =    92.10 MiB",
        "sched_reserve: RPC0[127.0.0.1:31000] compute buffer size =    14.01 MiB",
    ]
    found = llama_log.read_loaded(said)
    assert ([d.name for d in found.devices], found.layers) == (["RPC0", "RPC1"], {"RPC0": 1, "RPC1": 1})
    assert found.bytes_on("RPC1", "weights") == round(141.93 * MIB)
    assert found.bytes_on("RPC1", "compute") == round(26.89 * MIB)


def test_a_projectors_buffer_does_not_replace_the_models():
    said = [
        "sched_reserve: CPU compute buffer size =  5.02 MiB",
        "reserve_compute_meta: CPU compute buffer size =  0.09 MiB",
    ]
    assert llama_log.read_loaded(said).bytes_on("host", "compute") == round(5.11 * MIB)


def test_a_local_gpu_is_known_by_its_bus_id():
    said = ["llama_prepare_model_devices: using device CUDA1 (RTX 5060 Ti) (0000:02:00.0) - 15000 MiB free"]
    device = llama_log.read_loaded(said).devices[0]
    assert (device.name, device.description, device.bus_id) == ("CUDA1", "RTX 5060 Ti", "0000:02:00.0")


def test_debug_lines_are_dropped_since_they_hold_prompts():
    assert not llama_log.worth_keeping(llama_log.Line(text="slot 0: prompt = 'secret'", level="debug"))
    kept = "load_tensors: layer   0 assigned to device RPC0, is_swa = 0"
    assert llama_log.worth_keeping(llama_log.Line(text=kept, level="debug"))


def test_an_abort_that_is_no_record_is_kept_as_text():
    text = "/src/ggml-rpc.cpp:566: Remote RPC server crashed or returned malformed response"
    line = llama_log.read_line(text)
    assert (line.text, llama_log.worth_keeping(line)) == (text, True)


def test_a_broken_record_is_kept_as_text():
    assert llama_log.read_line('{"type":"log","msg":"cut').text == '{"type":"log","msg":"cut'


def test_breakdown_rows_are_read(lines):
    rows = [row for line in lines if (row := llama_log.read_breakdown_row(line.text))]
    assert [(r.name, r.model_mib, r.context_mib, r.compute_mib, r.unaccounted_mib) for r in rows] == [
        ("RPC0 (127.0.0.1:50961)", 33, 96, 43, -172),
        ("RPC1 (127.0.0.2:50961)", 58, 84, 32, -175),
        ("Host", 28, 0, 27, None),
    ]


def test_an_unsigned_underflow_is_unknown_and_not_a_left_over():
    row = llama_log.read_breakdown_row(
        "common_memory_breakdown_print: |   - CUDA0 (RTX 3070) |  8191 = 6243 + (8130 =   686 +    6656 +     788) "
        "+ 17592186038233 |"
    )
    assert row is not None
    assert row.unaccounted_mib is None
    assert (row.total_mib, row.free_mib, row.context_mib) == (8191, 6243, 6656)


def test_fit_output_is_read_per_device():
    printed = "RPC0 35549 5248 552 \nRPC1 34880 4992 522 \nHost 1064 0 288 \n"
    assert llama_log.read_fit(printed) == {
        "RPC0": (35549, 5248, 552),
        "RPC1": (34880, 4992, 522),
        "Host": (1064, 0, 288),
    }


def test_the_most_telling_line_explains_a_failure():
    said = [
        "error loading model: unable to allocate RPC0[10.0.0.2:50052] buffer",
        "ggml-rpc.cpp:547: Failed to connect to 10.0.0.2:50052",
        "exiting due to model loading error",
    ]
    assert llama_log.failure_of(said) == "ggml-rpc.cpp:547: Failed to connect to 10.0.0.2:50052"
    assert llama_log.failure_of(["all is well"]) is None


def test_of_an_error_in_two_lines_the_line_that_says_it_is_taken():
    said = (
        "mtmd_init_from_file: error: mismatch between text model (n_embd = 576) and mmproj (n_embd = 5376)\nhint: wrong"
    )
    told = llama_log.failure_of(["srv  llama_server: exiting due to model loading error", said])
    assert told == said.splitlines()[0]
