from __future__ import annotations

from dataclasses import replace

import pytest
from report_samples import (
    ALONE_STAGE,
    ALPHA,
    CLUSTER,
    CLUSTER_STAGE,
    DEMO,
    FACTS,
    FAILED,
    MIB,
    MODEL,
    PARTIAL,
    PLAN,
    STARTED,
    UNKNOWN,
    check,
    freed,
    level,
    request,
    run,
    spread,
    summary,
    users_result,
)

from evener.codec import to_data
from evener.records.events import Fact
from evener.records.load import ClientCost
from evener.records.run import Stage
from evener.report import level_columns, recover, rows
from evener.report.parts import Caution, Story
from evener.report.story import tell


def grave(story: Story) -> list[str]:
    return [c.text for c in story.cautions if c.grave]


def noted(story: Story) -> list[str]:
    return [c.text for c in story.cautions if not c.grave]


def of(*stages: Stage) -> Story:
    return tell(run(scan=None), summary(*stages), (), ())


def test_a_clean_run_needs_no_caution() -> None:
    story = tell(run(scan=None), DEMO, FACTS, [request(1)])
    assert story.cautions == ()
    assert story.state == "complete"
    assert story.title == "SmolLM2-135M-Instruct Q4_1: demo"


def test_a_quantisation_is_named_once() -> None:
    plan = replace(PLAN, model=replace(MODEL, name="SmolLM2-135M-Instruct.Q4_1"))
    assert tell(run(plan=plan), DEMO, (), ()).title == "SmolLM2-135M-Instruct.Q4_1: demo"


def test_every_figure_of_the_headline_has_its_company() -> None:
    story = tell(run(scan=None), DEMO, FACTS, ())
    assert story.basis.startswith("alpha alone: n=20, 95% 60.0-62.0; alpha + beta: n=20, 95% 33.0-35.0.")


def test_findings_say_what_many_users_get_and_whether_memory_was_as_promised() -> None:
    assert tell(run(), DEMO, FACTS, ()).findings == (
        "alpha alone would do: cluster is measured because it was asked for",
        "alpha alone gives 4 users together 94.0 tok/s, each 25.0 (n=20, 95% 24.0-26.0)",
        "alpha + beta gives 4 users together 60.0 tok/s, each 16.0 (n=20, 95% 15.0-17.0)",
        "alpha alone: 1 of 1 card as planned after load; memory given back after stop by 1 of 1",
        "alpha + beta: 2 of 2 cards as planned after load; memory given back after stop by 2 of 2",
    )


def test_hosts_that_are_one_machine_are_said_to_be() -> None:
    story = tell(run(), DEMO, FACTS, ())
    assert noted(story) == ["alpha + beta: its hosts are one machine; this is the cost of splitting, not of a cable"]
    assert story.limits[0].startswith("alpha and beta are one machine under 2 names")


def test_an_interrupted_run_says_so_first() -> None:
    story = tell(run(), PARTIAL, FACTS, ())
    assert story.state == "partial"
    assert grave(story) == ["This run is partial: interrupted while measuring cluster"]


def test_a_run_without_a_summary_tells_what_was_recorded_and_planned() -> None:
    story = tell(run(), None, FACTS, [request(1), request(2, failure="timeout", end_s=None)])
    assert (story.state, story.ended_at) == ("unfinished", None)
    assert grave(story) == [
        "This run is not finished: it still goes on, or was cut off. What was recorded is shown",
        "Recorded before it ended: 2 requests, 1 completed, failed: 1 timeout",
    ]
    assert story.headline == "alpha + beta: no speed was measured"
    assert [card.layers for card in story.layouts[0].cards] == [16, 15]
    assert [moment.text for moment in story.moments] == [
        "scanned: hosts alpha beta",
        "started: host beta, pid 4711",
    ]


def recorded() -> tuple[Fact, ...]:
    said = [
        ("before", {"scan": {"hosts": []}}),
        ("layout", {"name": "alpha"}),
        ("verified", {"checks": to_data(ALONE_STAGE.checks), "processes": []}),
        ("ready", {"url": "http://127.0.0.1:8080", "load_s": 1.9}),
        ("measured", {"layout": "alpha", "users": to_data(ALONE_STAGE.users)}),
        ("freed", {"checks": to_data(ALONE_STAGE.freed)}),
        ("layout", {"name": "cluster"}),
        ("verified", {"checks": to_data(CLUSTER_STAGE.checks)}),
    ]
    return tuple(Fact(sequence=n, at=STARTED, kind=kind, data=data) for n, (kind, data) in enumerate(said, start=1))


def test_a_run_that_was_killed_keeps_what_its_facts_say() -> None:
    alone, cluster = recover.stages(recorded())
    assert alone == ALONE_STAGE
    assert cluster == Stage(layout="cluster", checks=CLUSTER_STAGE.checks)
    story = tell(run(scan=None), None, recorded(), ())
    assert story.headline.startswith("alpha alone: 61.0 tok/s for one user; alpha + beta: not measured")
    assert story.state == "unfinished"


def test_a_fact_that_cannot_be_read_leaves_its_part_unknown() -> None:
    for bad in ([{"host": 1}], 5, None):
        torn = [replace(fact, data={"checks": bad}) if fact.kind == "verified" else fact for fact in recorded()]
        assert [stage.checks for stage in recover.stages(torn)] == [(), ()]


def test_a_moment_is_one_line_whatever_was_recorded() -> None:
    assert [moment.text for moment in rows.moments(recorded())][:4] == [
        "before",
        "layout: name alpha",
        "verified: checks (1)",
        "ready: url http://127.0.0.1:8080, load_s 1.9",
    ]
    assert [moment.text for moment in rows.moments(recorded(), most=1)] == ["verified: checks (2)"]


def test_a_measurement_that_was_cut_short_says_so() -> None:
    result = replace(users_result(level(1, each=9.0, interval=None, total=9.0)), partial="interrupted", notes=("odd",))
    story = of(Stage(layout="alpha", users=result))
    assert grave(story) == ["alpha alone: measured only in part: interrupted"]
    assert noted(story) == ["alpha alone: odd"]


def test_a_run_without_plan_rig_or_scan_still_has_a_story() -> None:
    story = tell(run(plan=None, rig=None, scan=None), summary(CLUSTER_STAGE), (), ())
    assert story.title == "smollm2: demo"
    assert story.layouts[0].label == "cluster"
    assert story.headline == "34.0 tok/s for one user; 4 users together 60.0 tok/s, each 16.0"


def test_what_went_wrong_is_said_in_the_order_of_the_run() -> None:
    assert grave(tell(run(scan=None), FAILED, FACTS, ())) == [
        "alpha + beta: alpha / AMD Ryzen 7 7700 (RPC0) holds 300 MiB, over its ceiling of 136 MiB",
        "alpha + beta: beta / AMD Ryzen 7 7700 (RPC1) is missing: the plan gave it 15 layers "
        "(the engine did not list it)",
        "alpha + beta: the figures must not be used: the client was saturated",
        "alpha + beta: with 4 users, 3 of 23 requests failed: 1 connection cut, 2 timeout",
        "alpha + beta: beta / AMD Ryzen 7 7700 kept 121 MiB after the stop, held by ggml-rpc-server "
        "(pid 4711, me, 121 MiB)",
    ]


def test_drift_and_what_the_measurement_noted_itself_are_passed_on() -> None:
    assert noted(tell(run(scan=None), FAILED, FACTS, ())) == [
        "alpha + beta: with 4 users: total falls: 30.0 tok/s, 32.0 with 1",
        "alpha + beta: 1 card is freed within tolerance, with at most 9 MiB of drift",
    ]


def test_an_invalid_result_leads_the_headline() -> None:
    assert tell(run(), FAILED, FACTS, ()).headline == "alpha + beta: the result is invalid (the client was saturated)"


def test_what_nobody_could_see_stays_unknown() -> None:
    story = tell(run(scan=None), UNKNOWN, FACTS, ())
    (layout,) = story.layouts
    assert [(card.measured_bytes, card.left_bytes, card.total_bytes) for card in layout.cards] == [(None,) * 3] * 2
    assert story.speeds[0].value is None
    assert len(noted(story)) == 4
    assert grave(story) == []


def test_a_card_under_its_floor_is_grave() -> None:
    stage = Stage(layout="alpha", checks=(check(ALPHA.devices[0], 20, "under", why="weights are missing"),))
    assert grave(of(stage)) == [
        "alpha alone: alpha / AMD Ryzen 7 7700 (RPC0) holds 20 MiB, under its floor of 130 MiB (weights are missing)"
    ]


def test_layers_that_went_elsewhere_are_grave_even_where_the_memory_looks_right() -> None:
    stage = Stage(layout="alpha", checks=(check(ALPHA.devices[0], 214, layers_seen=30),))
    assert grave(of(stage)) == ["alpha alone: alpha / AMD Ryzen 7 7700 (RPC0) got 30 layers, planned 31"]


def test_a_saturated_client_is_grave() -> None:
    result = replace(
        users_result(level(1, each=9.0, interval=None, total=9.0)), client=ClientCost(cpu_s=9, saturated=True)
    )
    assert "the measuring client was saturated" in grave(of(Stage(layout="alpha", users=result)))[0]


def test_cached_prompts_are_grave_and_estimated_tokens_are_noted() -> None:
    requests = [
        request(1, cached_tokens=64),
        request(2, tokens_estimated=True),
        request(3, cached_tokens=64, tokens_estimated=True, warm_up=True),
    ]
    story = tell(run(scan=None), DEMO, (), requests)
    assert story.cautions == (
        Caution(grave=True, text="1 of 2 requests found part of the prompt in the cache: their TTFT is too good"),
        Caution(grave=False, text="1 of 2 requests: the server gave no token count, chunks were counted instead"),
    )


def test_what_is_left_is_what_was_not_there_before() -> None:
    assert rows.left_bytes(freed("alpha", 500, 700, 512)) == 12 * MIB
    assert rows.left_bytes(freed("alpha", None, 700, 512)) is None


def test_the_slow_end_is_p90_or_the_greatest_value_and_never_a_p90_that_n_does_not_allow() -> None:
    one = spread(120.0, None, 20, "ms")
    assert level_columns.slow_end(one) is None
    assert level_columns.slow_end(replace(one, most=181.2)) == "most 181"
    assert level_columns.slow_end(replace(one, p90=160.0, most=181.2)) == "160"


def test_layers_are_counted_in_device_order_whatever_the_order_of_the_rows() -> None:
    backwards = replace(CLUSTER, devices=tuple(reversed(CLUSTER.devices)))
    layouts = rows.layouts(run(plan=replace(PLAN, candidates=(backwards,))), [CLUSTER_STAGE])
    assert [(c.host, c.first_layer, c.layers) for c in layouts[0].cards] == [("alpha", 0, 16), ("beta", 16, 15)]


@pytest.mark.parametrize(
    ("change", "label"),
    [
        ({}, "alpha + beta"),
        ({"kind": "replicas"}, "alpha and beta, each its own copy"),
        ({"kind": "experts-in-ram", "hosts": ("alpha",)}, "alpha, experts in RAM"),
        ({"kind": "card", "hosts": ("alpha",)}, "AMD Ryzen 7 7700 of alpha alone"),
        ({"kind": "host", "hosts": ("alpha",)}, "alpha alone"),
        ({"hosts": ()}, "cluster"),
    ],
)
def test_a_layout_is_called_by_what_it_uses(change: dict[str, object], label: str) -> None:
    assert rows.label(replace(CLUSTER, **change)) == label  # type: ignore[arg-type]


def test_two_layouts_of_the_same_hosts_are_told_apart_by_name() -> None:
    plan = replace(PLAN, candidates=(CLUSTER, replace(CLUSTER, name="by-hand")))
    layouts = rows.layouts(run(plan=plan), [CLUSTER_STAGE, replace(CLUSTER_STAGE, layout="by-hand")])
    assert [layout.label for layout in layouts] == ["alpha + beta (cluster)", "alpha + beta (by-hand)"]


def test_every_condition_is_there_and_an_unknown_one_is_none() -> None:
    conditions = dict(tell(run(), DEMO, FACTS, ()).conditions)
    assert len(conditions) == len(run().conditions.__dataclass_fields__)
    assert conditions["model SHA-256"] is None
    assert conditions["drivers"] is None
    assert conditions["model size"] == "98 MiB (102,760,448 bytes)"
    assert conditions["engine build"] == "alpha: b11434 protocol 7.0.0; beta: b11434 protocol 7.0.0"
    assert conditions["memory held by others before"] == "alpha/cpu: 512 MiB"
    assert conditions["layers per device"] == "16, 15"


def test_commands_start_with_the_workers_and_keep_the_key_out() -> None:
    commands = tell(run(), DEMO, FACTS, ()).layouts[1].commands
    assert [(c.role, c.host) for c in commands] == [("worker", "alpha"), ("worker", "beta"), ("server", "alpha")]
    assert "sesame" not in " ".join(c.text for c in commands)


def test_the_json_keeps_its_keys() -> None:
    data = to_data(tell(run(), DEMO, FACTS, ()))
    assert list(data) == [
        "id", "what", "title", "state", "started_at", "ended_at", "headline", "basis", "headline_users", "speeds",
        "comparisons", "findings", "cautions", "layouts", "conditions", "limits", "moments",
        "pair", "timeline", "evaluation",
    ]  # fmt: skip
    assert data["comparisons"][0]["change"] == pytest.approx(34 / 61 - 1)
