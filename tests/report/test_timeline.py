from __future__ import annotations

from dataclasses import replace

from bench_samples import LEVELS, requests, samples
from report_samples import request

from evener.records.telemetry import CardSample, NicSample, Sample
from evener.report.parts import Panel, Timeline
from evener.report.timeline import timeline


def told(*args: object) -> Timeline:
    found = timeline(*args)  # type: ignore[arg-type]
    assert found is not None
    return found


def panel(of: Timeline, name: str) -> Panel:
    return next(p for p in of.panels if p.name == name)


def test_tokens_count_when_they_came_and_not_when_their_request_began() -> None:
    one = request(1, sent_s=0.0, end_s=10.0, token_times=((0.5, 4.0), (1.1, 1.0), (9.6, 5.0)))
    speed = panel(told([one]), "speed").curves[0].points
    assert speed[:2] == ((0.125, 0.0), (0.375, 0.0))
    assert [(at, value) for at, value in speed if value] == [(0.625, 16.0), (1.125, 4.0), (9.625, 20.0)]


def test_no_token_is_lost_in_a_last_bin_that_is_short() -> None:
    found = told([request(1, sent_s=0.0, end_s=1.05, token_times=((0.1, 10.0), (1.05, 3.0)))])
    points = panel(found, "speed").curves[0].points
    widths = [found.bin_s] * (len(points) - 1) + [1.05 - found.bin_s * (len(points) - 1)]
    assert round(sum((value or 0) * w for (_, value), w in zip(points, widths, strict=True)), 6) == 13.0


def test_without_times_of_tokens_there_is_no_timeline() -> None:
    assert timeline([request(1)]) is None
    assert timeline([]) is None


def test_layouts_that_each_have_a_start_of_their_own_share_no_axis() -> None:
    one = request(1, sent_s=0.0, end_s=1.0, token_times=((0.5, 1.0),), layout="A")
    assert timeline([one, replace(one, layout="B")]) is None
    assert timeline([one]) is not None


def test_user_counts_have_their_time() -> None:
    spans = told(requests(LEVELS[:2])).spans
    assert [(s.users, s.from_s) for s in spans] == [(1, 1.0), (2, 22.0)]
    assert 20.0 < spans[0].to_s < 22.0


def test_warm_up_belongs_to_no_user_count() -> None:
    warm = request(1, sent_s=0.0, end_s=1.0, token_times=((0.5, 1.0),), warm_up=True)
    real = request(2, sent_s=1.0, end_s=1.0, token_times=((0.5, 1.0),))
    assert [s.from_s for s in told([warm, real]).spans] == [1.0]


def test_a_card_that_falls_silent_leaves_a_gap_and_not_a_zero() -> None:
    curves = panel(told(requests(), samples()), "temperature").curves
    assert [curve.label for curve in curves] == ["alpha / RTX 5090", "alpha / RTX 5060 Ti"]
    assert None not in [value for _, value in curves[0].points]
    assert [value for _, value in curves[1].points].count(None) == 1


def test_what_no_card_says_has_no_panel() -> None:
    seen = [Sample(at_s=float(at), host="alpha", cards=(CardSample(card="cpu", name="CPU"),)) for at in range(20)]
    assert [p.name for p in told(requests(LEVELS[:1]), seen).panels] == ["speed"]


def test_a_card_looks_the_same_in_every_panel() -> None:
    found = told(requests(), samples())
    styles = {(c.label, c.style) for p in found.panels if p.name in ("utilisation", "temperature") for c in p.curves}
    assert styles == {("alpha / RTX 5090", 0), ("alpha / RTX 5060 Ti", 1)}


def test_a_link_of_the_rig_is_drawn_and_an_interface_that_only_chats_is_not() -> None:
    network = panel(told(requests(), samples()), "network").curves
    assert [curve.label for curve in network] == ["alpha / enp4s0 (link 5gbe)"]
    assert network[0].points[0][1] == 16.0  # MB/s, both ways


def test_an_interface_without_a_rate_yet_is_unknown() -> None:
    def sample(at: float, rate: float | None) -> Sample:
        nic = NicSample(name="e", rx_bytes=0, tx_bytes=0, rx_bytes_per_s=rate, tx_bytes_per_s=rate)
        return Sample(at_s=at, host="alpha", nics=(nic,))

    found = told(requests(LEVELS[:1]), [sample(1.0, None), sample(2.0, 1e6), sample(3.0, 1e6)])
    assert [value for _, value in panel(found, "network").curves[0].points] == [2.0, 2.0]
