"""A pretending worker's answers, byte for byte as ggml-rpc.h lays them out."""

import struct

import pytest

from evener.dialects import rpc_wire as wire
from evener.dialects.rpc_answers import Answers, alloc_bytes, pretend

GIB = 1 << 30
Q8_0, F16, F32 = 8, 1, 0


def worker():
    return Answers(devices=[pretend("cuda", 20 * GIB, 24 * GIB), pretend("cpu", 8 * GIB, 8 * GIB)])


def payload(answer):
    assert wire.answer_size(answer[:8]) == len(answer) - 8
    return answer[8:]


def tensor(kind, elements, strides):
    return wire.TENSOR.pack(1, kind, 0, *elements, *strides, 0, *(0,) * 16, 0, *(0,) * 10, 0, 0, 0, b"", 0)


def test_it_says_hello_in_protocol_seven():
    said = payload(worker().answer(wire.HELLO, bytes(24)))
    assert wire.read_version(said) == (7, 0, 0)
    assert len(said) == wire.HELLO_ANSWER_BYTES


def test_it_has_the_devices_it_was_given():
    assert wire.read_count(payload(worker().answer(wire.DEVICE_COUNT, b""))) == 2
    asked = struct.pack("<I", 0)
    assert wire.read_memory(payload(worker().answer(wire.GET_DEVICE_MEMORY, asked))) == (20 * GIB, 24 * GIB)


@pytest.mark.parametrize(("device", "alignment"), [(0, 128), (1, 32)])
def test_cards_align_to_128_and_cpus_to_32(device, alignment):
    said = worker().answer(wire.GET_ALIGNMENT, struct.pack("<I", device))
    assert wire.read_number(payload(said)) == alignment


def test_buffers_do_not_overlap():
    pretending = worker()
    first = wire.read_buffer(payload(pretending.answer(wire.ALLOC_BUFFER, struct.pack("<IQ", 0, 1000))))
    second = wire.read_buffer(payload(pretending.answer(wire.ALLOC_BUFFER, struct.pack("<IQ", 0, 1000))))
    assert second >= first + 1000
    base = pretending.answer(wire.BUFFER_GET_BASE, struct.pack("<Q", first))
    assert wire.read_number(payload(base)) == first


def test_a_card_fills_the_last_row_of_a_quantised_tensor_to_512_elements():
    # 2880 x 10 in Q8_0: rows of 90 blocks of 34 bytes; 192 elements are missing to 3072, that is 6 blocks
    rows = tensor(Q8_0, (2880, 10, 1, 1), (34, 3060, 30600, 30600))
    assert alloc_bytes(rows, 512) == 30600 + 6 * 34
    assert alloc_bytes(rows, 1) == 30600


def test_other_tensors_take_what_they_are():
    assert alloc_bytes(tensor(F16, (100, 3, 1, 1), (2, 200, 600, 600)), 512) == 600
    assert alloc_bytes(tensor(F32, (7, 1, 1, 1), (4, 28, 28, 28)), 512) == 28


def test_a_fetched_tensor_is_zeroes():
    said = payload(
        worker().answer(wire.GET_TENSOR, tensor(F32, (4, 1, 1, 1), (4, 16, 16, 16)) + struct.pack("<QQ", 0, 16))
    )
    assert said == bytes(16)


def test_orders_are_not_answered():
    assert worker().answer(wire.SET_TENSOR, b"") is None
    assert worker().answer(wire.FREE_BUFFER, bytes(8)) is None


@pytest.mark.parametrize(("command", "asked"), [(200, b""), (wire.GET_ALIGNMENT, struct.pack("<I", 2))])
def test_what_does_not_exist_is_refused(command, asked):
    with pytest.raises(ValueError, match="no such"):
        worker().answer(command, asked)
