"""What is read from a campaign's folder, and what its report makes of it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from eval_samples import judged_verdicts

from evener.api import campaign_data, campaign_reports
from evener.codec import to_data
from evener.errors import RunUnreadable
from evener.records.load import ClientCost
from evener.report.against_parts import SideFigure
from evener.report.campaign import written
from evener.report.campaign.pairs import ONE, by_speed, pair
from evener.report.campaign.parts import BlockFigure, CampaignStory, NoiseFigure, PlaceStory, Reading
from evener.report.campaign.second import second_machine
from evener.report.campaign.story import tell
from evener.report.campaign.told import _unsteady
from evener.report.language import Say


@pytest.fixture(scope="module")
def story(whole_campaign: Path) -> CampaignStory:
    return campaign_reports.told(whole_campaign).story


def place(story: CampaignStory, contestant: str, label: str) -> PlaceStory:
    return next(p for p in story.places if (p.contestant, p.label) == (contestant, label))


# ---- page one


def test_who_is_known_to_be_worse_and_slower_can_be_dropped(story: CampaignStory) -> None:
    assert story.headline == (
        "Cannot be ruled out: south-q5, west-q4 and cloud.",
        "Behind in answers: north-q4.",
        "Can be dropped: east-q8.",
        "Dropped on the way: old-q4.",
    )
    east = next(one for one in story.contestants if one.name == "east-q8")
    assert east.reasons == (
        "north-q4: better answers, and faster",
        "ruled out in every suite",
        "31 % slower than north-q4",
    )


def test_who_is_behind_in_answers_alone_is_not_called_out(story: CampaignStory) -> None:
    """north is ruled out in two suites, and nobody is faster: whoever needs speed needs it."""
    north = next(one for one in story.contestants if one.name == "north-q4")
    assert north.word == "behind in answers"
    assert [(s.dimension, s.best) for s in north.scores] == [
        ("translation", False), ("restraint", False), ("coding", True), ("instructions", True),
    ]  # fmt: skip
    assert "nobody is known to be faster" in north.reasons


def test_every_contestant_is_shown_where_it_is_fastest(story: CampaignStory) -> None:
    best = {one.name: story.place(one.place) for one in story.contestants}
    assert {name: at.label for name, at in best.items() if at} == {
        "north-q4": "alpha alone", "south-q5": "alpha alone", "west-q4": "alpha + beta", "east-q8": "alpha alone",
        "old-q4": "alpha alone", "cloud": "a server that runs already",
    }  # fmt: skip


def test_what_would_flip_it_names_scores_questions_and_requests(story: CampaignStory) -> None:
    assert any(
        line.startswith("translation: 3 of 96 scores would bring south-q5 level with west-q4") for line in story.flips
    )
    assert any("questions like these would find such a gap" in line for line in story.flips)
    assert any(line.startswith("cloud against south-q5, one user: -4.4 % in 2 blocks") for line in story.flips)
    assert not any(line.startswith("old-q4") for line in story.flips)  # it is out, whatever more requests would say


# ---- figures over blocks


def test_a_figure_over_blocks_is_their_median_and_reaches_over_all_their_intervals(story: CampaignStory) -> None:
    found = place(story, "north-q4", "alpha alone").one_user
    assert found is not None
    (first, second) = found.blocks
    assert [one.block for one in (first, second)] == [1, 2]
    assert found.value == pytest.approx(((first.figure.value or 0) + (second.figure.value or 0)) / 2)
    ends = [end for one in (first, second) for end in one.figure.interval or ()]
    assert len(ends) == 4
    assert found.interval == (min(ends), max(ends))
    assert (found.n, found.basis) == (48, "95 %")


def test_single_values_have_a_range_and_no_interval(story: CampaignStory) -> None:
    total = place(story, "north-q4", "alpha alone").levels[-1].total
    assert (total.basis, total.n, total.about) == ("single", 2, "15 people, chat")
    assert total.interval == (min(values := [b.figure.value for b in total.blocks]), max(values))


def test_requests_of_all_blocks_together_say_for_how_many_it_is_comfortable(story: CampaignStory) -> None:
    """24 of 24 are not enough to be sure of nine in ten, 48 of 48 are."""
    (twice,) = place(story, "east-q8", "alpha alone").comfort
    assert (twice.holds_for, twice.share.n) == (15, 180)
    (once,) = place(story, "old-q4", "alpha alone").comfort
    assert (once.holds_for, once.unresolved_at, once.share.n) == (None, 4, 24)
    assert once.requests_needed == 36
    (never,) = place(story, "west-q4", "alpha + beta").comfort
    assert (never.holds_for, never.fails_at) == (None, 4)


def test_failed_requests_are_counted_with_their_class_and_share(story: CampaignStory) -> None:
    cloud = next(one for one in story.contestants if one.name == "cloud")
    assert cloud.failed_share.value == pytest.approx(2 / 708)
    assert place(story, "cloud", "a server that runs already").by_class == {"timeout": 2}
    assert any(
        c.grave and c.text == "cloud, a server that runs already: 2 of 708 requests failed" for c in story.cautions
    )


# ---- what further machines brought


def test_a_cluster_is_held_against_the_best_single_machine_in_the_same_blocks(story: CampaignStory) -> None:
    assert [one.contestant for one in story.second_machine] == ["north-q4", "south-q5"]  # west has no single machine
    north = story.second_machine[0]
    one = next(f for f in north.figures if f.name == "one user")
    assert (one.blocks, one.outcome, one.by) == (2, "slower", "every block")
    assert one.change == pytest.approx(-0.314, abs=0.001)
    # 96 against 141 is 0.68; with both medians 1.8 % off, 0.66 to 0.71, and the blocks of one load differ by 1.8 %
    assert one.interval == pytest.approx((-0.343, -0.284), abs=0.001)
    assert one.noise == pytest.approx(0.0159, abs=0.0001)
    assert north.sentence.startswith("north-q4, alpha + beta against alpha alone: one user -31 % (-34 % to -28 %)")


def test_totals_are_single_values_and_get_no_verdict(story: CampaignStory) -> None:
    totals = [f for f in story.second_machine[0].figures if f.name == "all together"]
    assert totals
    assert {(f.outcome, f.by, f.interval) for f in totals} == {("unknown", "nothing", None)}


def test_the_noise_floor_is_what_the_first_contestant_differs_from_itself(story: CampaignStory) -> None:
    noise = {one.name: one for one in story.noise}
    assert [round(change, 4) for change in noise["one user"].again] == [-0.0012, -0.0159]
    assert noise["one user"].floor == pytest.approx(0.0159, abs=0.0001)
    assert len(noise["one user"].blocks) == 7  # every load that has two blocks, against itself
    again = [p for p in story.places if not p.is_ranked]
    assert [(p.contestant, p.label) for p in again] == [("north-q4", "alpha alone, once more")]


# ---- machines, money


def test_memory_is_planned_loaded_and_freed_card_by_card(story: CampaignStory) -> None:
    cards = place(story, "west-q4", "alpha + beta").cards
    assert [(c.host, c.card_name, c.verdict, c.freed) for c in cards][:2] == [
        ("alpha", "RTX 5090", "as planned", "freed"), ("alpha", "RTX 5060 Ti 16GB", "as planned", "freed"),
    ]  # fmt: skip
    assert len(cards) == 5
    assert {c.left_bytes for c in cards} == {2 << 20}


def test_a_tokens_milliseconds_are_those_of_the_plan(story: CampaignStory) -> None:
    shares = place(story, "south-q5", "alpha + beta").per_token_ms
    assert shares[-1].kind == "link"
    assert sum(one.ms for one in shares) == pytest.approx(1000 / 44.5 * 1.04, rel=0.02)


def test_energy_and_cards_are_priced_by_what_was_measured(story: CampaignStory) -> None:
    """1.896 J a token are 0.5266 kWh a million, at 0.35; 2300 + 450 over 5.4e6 s of work at 351 tok/s, and 15 seats."""
    cost = place(story, "north-q4", "alpha alone").cost
    assert cost is not None
    assert cost.kwh_per_million == pytest.approx(0.5266, rel=0.001)
    assert cost.energy_per_million == pytest.approx(0.5266 * 0.35, rel=0.001)
    assert cost.hardware == 2750
    assert cost.per_seat == pytest.approx(2750 / 15)
    assert cost.hardware_per_million == pytest.approx(1.451, rel=0.001)
    assert place(story, "cloud", "a server that runs already").cost is None


def test_prices_that_are_named_count_before_those_of_the_rig(whole_campaign: Path) -> None:
    dear = campaign_reports.told(whole_campaign, prices={"RTX 5090": 4000.0}, kwh_price=0.7).story
    cost = place(dear, "north-q4", "alpha alone").cost
    assert cost is not None
    assert cost.hardware == 4450
    assert cost.energy_per_million == pytest.approx(0.5266 * 0.7, rel=0.001)


# ---- answers


def test_answers_are_those_of_one_run_per_contestant(story: CampaignStory) -> None:
    assert [one.verdict.dimension for one in story.dimensions] == ["translation", "restraint", "coding", "instructions"]
    (translation, *_) = story.dimensions
    assert translation.sentence == (
        "which of west-q4, south-q5 and cloud is the best cannot be told; ruled out: north-q4, old-q4 and east-q8"
    )
    assert translation.remarks[0] == (
        "48 questions in 48 clusters: a gap of 28 points is found 4 times in 5, and 10-0 is the least that counts"
    )


def test_layouts_are_held_against_the_first_one_with_what_that_differs_from_itself(story: CampaignStory) -> None:
    north = story.canaries[0]
    assert (north.contestant, north.verdict.word, north.sentence) == (
        "north-q4",
        "within tolerance",
        "alpha and cluster answer alike but for rounding: 11 of 12 answers are the same; against itself 1 of 12 differ",
    )


def test_only_who_is_separated_in_both_is_called_beaten(story: CampaignStory) -> None:
    restraint = next(one for one in story.pareto if one.dimension == "restraint")
    beaten = {p.contestant: p.dominated_by for p in restraint.points}
    assert beaten["east-q8"] == ("north-q4",)
    assert beaten["cloud"] == ()  # south's means are above in both, and neither can be separated
    assert {p.contestant for p in restraint.points if p.front} == {"north-q4", "south-q5"}


# ---- what stands behind it


def test_what_does_not_fit_and_what_failed_stand_with_their_evidence(story: CampaignStory) -> None:
    short, failed = story.troubles
    assert (short.kind, short.contestant, short.why) == (
        "does not fit", "west-q4", "it needs 9.4 GiB more than RTX 5090 and RTX 5060 Ti of alpha offer",
    )  # fmt: skip
    assert (failed.kind, failed.block, failed.label) == ("failed", 2, "alpha + beta")
    assert failed.evidence[0].endswith("out of memory")
    assert failed.folder is not None
    assert failed.folder.startswith("runs/")


def test_a_condition_that_changed_on_the_way_is_marked_with_where_each_value_held(story: CampaignStory) -> None:
    marked = [one for one in story.conditions if one.differs and not one.asked]
    assert [one.name for one in marked] == ["drivers: beta/RTX 5060 Ti 16GB", "drivers: beta/RTX 5080"]
    assert [(v.value, v.held) for v in marked[1].values] == [
        ("580.65.06", ("north-q4, alpha + beta [1]", "south-q5, alpha + beta [1]", "west-q4, alpha + beta [1]")),
        ("580.82.07", ("north-q4, alpha + beta [2]", "south-q5, alpha + beta [2]", "west-q4, alpha + beta [2]")),
    ]
    assert any(c.grave and c.text.startswith("drivers changed before north-q4/cluster") for c in story.cautions)


def test_what_nobody_knows_of_a_foreign_server_is_named_unknown(story: CampaignStory) -> None:
    kv = next(one for one in story.conditions if one.name == "KV cache type of keys")
    assert not kv.differs
    assert kv.values[-1].value is None
    assert kv.values[-1].held == ("cloud, a server that runs already",)


def test_every_figure_leads_to_the_run_that_gave_it(story: CampaignStory, whole_campaign: Path) -> None:
    folders = {row.unit: row.folder for row in story.rows}
    for p in story.places:
        for level in p.levels:
            for one in level.each.blocks:
                assert (whole_campaign / str(folders[one.unit]) / "summary.json").is_file()


def test_the_story_is_plain_data(story: CampaignStory) -> None:
    data = to_data(story)
    assert data["contestants"][0]["scores"][0]["n"] == 48
    assert data["dimensions"][0]["verdict"]["disagreements"] == []


# ---- unfinished, torn, foreign


def test_a_campaign_that_goes_on_is_told_as_far_as_it_came(unfinished_campaign: Path) -> None:
    found = campaign_reports.told(unfinished_campaign).story
    assert found.state == "unfinished"
    assert found.cautions[0].text == (
        "This campaign is not finished: 17 loads are still to be made. What was measured is shown."
    )
    assert [(one.kind, one.contestant) for one in found.troubles] == [
        ("does not fit", "west-q4")
    ]  # what goes on is none
    cut = place(found, "south-q5", "cluster")
    assert cut.state == "in part"
    assert cut.tests  # the unit that had ended before the cut


def test_a_run_that_cannot_be_read_is_named_and_the_rest_is_told(whole_campaign: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(whole_campaign, tmp_path / whole_campaign.name))
    broken = next(p for p in (folder / "runs").iterdir() if "-users-" in p.name)
    (broken / "run.json").write_text("{}")
    found = campaign_reports.told(folder).story
    assert any(broken.name in c.text for c in found.cautions)
    assert found.headline[0].startswith("Cannot be ruled out")


def test_a_run_of_something_else_is_no_campaign(whole_campaign: Path) -> None:
    other = next((whole_campaign / "runs").iterdir())
    with pytest.raises(RunUnreadable, match="and no campaign"):
        campaign_data.read(other)


def test_without_answers_speed_alone_rules_nothing_out(whole_campaign: Path) -> None:
    read = campaign_data.read(whole_campaign)
    silent = tell(read.data, replace(read.known, verdicts=None), Say("en"))
    east = next(one for one in silent.contestants if one.name == "east-q8")
    assert east.word == "cannot be ruled out"
    assert east.reasons == (
        "31 % slower than north-q4", "its answers are compared with nobody's: speed alone rules nothing out",
    )  # fmt: skip
    assert silent.pareto == ()


def with_users(read: campaign_data.Read, contestant: str, block: int, **changes: object) -> CampaignStory:
    """The story, were the users of one load another result."""
    (unit,) = [
        u.id
        for v in read.data.state.schedule.visits
        for u in v.units
        if (v.contestant, v.block, v.role, v.candidate, u.name) == (contestant, block, "baseline", "alpha", "users")
    ]
    run = read.data.units[unit]
    assert run.summary is not None
    (stage,) = run.summary.stages
    assert stage.users is not None
    users = replace(stage.users, **changes)  # type: ignore[arg-type]
    other = replace(run, summary=replace(run.summary, stages=(replace(stage, users=users),)))
    return tell(replace(read.data, units=read.data.units | {unit: other}), read.known, Say("en"))


def test_what_must_not_be_used_is_in_no_figure_and_says_why(whole_campaign: Path) -> None:
    found = with_users(campaign_data.read(whole_campaign), "north-q4", 2, validity="the prompt came from a cache")
    north = place(found, "north-q4", "alpha alone")
    assert (north.state, north.why) == ("in part", "must not be used: the prompt came from a cache")
    assert [one.block for one in north.levels[0].each.blocks] == [1]
    assert ("invalid", "the prompt came from a cache") in [(one.kind, one.why) for one in found.troubles]
    # the other block still stands against its partner of the same block
    assert {f.blocks for f in found.second_machine[0].figures if f.about == "8 users"} == {1}


def test_figures_of_a_saturated_client_may_be_used_and_are_marked(whole_campaign: Path) -> None:
    slow = ClientCost(cpu_s=9.0, saturated=True)
    found = with_users(campaign_data.read(whole_campaign), "north-q4", 2, client=slow)
    text = "the measuring client was saturated, the server may be faster than these figures say: "
    assert any(c.grave and c.text == f"{text}north-q4/alpha/8192/2/users" for c in found.cautions)
    assert place(found, "north-q4", "alpha alone").blocks == (1, 2)


def test_a_change_within_the_noise_separates_nothing(whole_campaign: Path) -> None:
    """Intervals that are apart do not make a difference of 1 % one, where a load differs by 1.6 % from itself."""
    read = campaign_data.read(whole_campaign)
    found = tell(read.data, read.known, Say("en"))
    mine = place(found, "north-q4", "alpha alone")
    assert mine.one_user is not None

    def narrow(rates: tuple[float, float]) -> PlaceStory:
        blocks = tuple(
            BlockFigure(block=n, unit="u", figure=SideFigure(value=r, interval=(r - 0.1, r + 0.1), n=50, basis="95 %"))
            for n, r in enumerate(rates, start=1)
        )
        assert mine.one_user is not None
        return replace(mine, levels=(), one_user=replace(mine.one_user, blocks=blocks, value=sum(rates) / 2))

    base, near, far = narrow((100.0, 102.0)), narrow((101.0, 103.0)), narrow((105.0, 107.0))
    words = [one.outcome for other in (near, far) if (one := by_speed(base, other, {"one user": 0.016}, Say("en")))]
    assert words == ["cannot be separated", "faster"]


def test_blocks_that_say_different_things_separate_nothing() -> None:
    def reading(*rates: float) -> Reading:
        blocks = tuple(
            BlockFigure(block=n, unit="u", figure=SideFigure(value=r, interval=(r - 1, r + 1), n=50, basis="95 %"))
            for n, r in enumerate(rates, start=1)
        )
        return Reading(id="x", name="one user", about="", unit="tok/s", value=rates[0], interval=None, n=100,
                       basis="95 %", blocks=blocks)  # fmt: skip

    found = pair(ONE, "", reading(100, 100), reading(90, 110), {}, Say("en"))
    assert (found.outcome, found.by) == ("cannot be separated", "every block")
    six = pair(ONE, "", reading(*[100] * 6), reading(90, 91, 92, 91, 90, 92), {}, Say("en"))
    assert (six.outcome, six.by) == ("slower", "signed ranks")
    assert six.interval == pytest.approx((-0.10, -0.08))


def judged(read: campaign_data.Read, *, marks: tuple[str, ...] = ()) -> campaign_data.Read:
    """The same campaign, were a judge's errors in translations known: alpha is north, beta is south."""
    penalty = judged_verdicts("judge-1").penalties[0]
    names = {"alpha": "north-q4", "beta": "south-q5"}
    penalty = replace(
        penalty,
        judged=replace(penalty.judged, marks=marks),
        standings=tuple(replace(s, candidate=names[s.candidate]) for s in penalty.standings),
        best=("north-q4",),
        dropped=("south-q5",),
    )
    assert read.known.verdicts is not None
    verdicts = replace(read.known.verdicts, penalties=(penalty,))
    return replace(read, known=replace(read.known, verdicts=verdicts))


def test_a_judge_against_whom_nothing_speaks_can_rule_out(whole_campaign: Path) -> None:
    read = judged(campaign_data.read(whole_campaign))
    found = tell(read.data, read.known, Say("en"))
    (penalty,) = found.penalties
    assert penalty.sentence == "north-q4 is the best; ruled out: south-q5"
    assert next(one.word for one in found.contestants if one.name == "south-q5") == "behind in answers"


def test_a_judge_with_a_mark_against_it_is_shown_and_rules_nobody_out(whole_campaign: Path) -> None:
    read = judged(campaign_data.read(whole_campaign), marks=("judges its own family: north",))
    found = tell(read.data, read.known, Say("en"))
    assert len(found.penalties) == 1
    assert next(one.word for one in found.contestants if one.name == "south-q5") == "cannot be ruled out"
    text = written.markdown(found, Say("en"))
    assert "| north-q4 | 12.5 | 4-21 | 14.0 | 63 | 15 | 1 |" in text


def test_hosts_that_are_one_machine_are_said_to_be(whole_campaign: Path) -> None:
    read = campaign_data.read(whole_campaign)
    loads = {}
    for visit, load in read.data.loads.items():
        assert load.run.scan is not None
        hosts = tuple(replace(host, machine_id="one") for host in load.run.scan.hosts)
        loads[visit] = replace(load, run=replace(load.run, scan=replace(load.run.scan, hosts=hosts)))
    found = tell(replace(read.data, loads=loads), read.known, Say("en"))
    text = "alpha and beta are one machine under several names: this is the cost of splitting, not of a cable"
    assert [c.text for c in found.cautions].count(text) == 1
    assert place(found, "north-q4", "alpha alone").one_machine == ()


def test_a_full_cache_is_a_caution_with_the_users_it_began_at(whole_campaign: Path) -> None:
    found = with_users(campaign_data.read(whole_campaign), "north-q4", 1, kv_exhausted_from=8)
    text = "north-q4, alpha alone: from 8 users on, requests died because the KV cache was full"
    assert any(c.grave and c.text == text for c in found.cautions)


def test_a_contestant_that_thinks_is_called_so(whole_campaign: Path) -> None:
    read = campaign_data.read(whole_campaign)
    campaign = read.data.state.campaign
    first, *others = campaign.contestants
    thinking = replace(campaign, contestants=(replace(first, thinking=True), *others))
    found = tell(replace(read.data, state=replace(read.data.state, campaign=thinking)), read.known, Say("en"))
    assert found.contestants[0].what == "North-30B-A3B Q4_K_M, thinking on"


def test_a_unit_that_failed_gives_no_figures_although_it_left_a_run(whole_campaign: Path) -> None:
    read = campaign_data.read(whole_campaign)
    state = read.data.state
    unit = "north-q4/alpha/8192/1/speed"
    failed = replace(state.ends[unit], state="failed", why="the server went away")
    data = replace(read.data, state=replace(state, ends=state.ends | {unit: failed}))
    found = tell(data, read.known, Say("en"))
    assert [one.block for one in place(found, "north-q4", "alpha alone").tests[0].rate.blocks] == [2]
    assert ("failed", unit, "the server went away") in [(one.kind, one.unit, one.why) for one in found.troubles]


def test_the_worst_of_all_blocks_is_shown_of_a_card(whole_campaign: Path) -> None:
    read = campaign_data.read(whole_campaign)
    state = read.data.state
    second = "north-q4/alpha/8192/2"
    end = state.visit_ends[second]
    over = replace(end.checks[0], verdict="over", measured_bytes=30 << 30)
    held = replace(end.freed[0], verdict="held", after_bytes=9 << 30)
    worse = replace(end, checks=(over, *end.checks[1:]), freed=(held, *end.freed[1:]))
    data = replace(read.data, state=replace(state, visit_ends=state.visit_ends | {second: worse}))
    card, other = place(tell(data, read.known, Say("en")), "north-q4", "alpha alone").cards
    assert (card.verdict, card.freed, card.loaded_bytes) == ("over", "held", 30 << 30)
    assert (other.verdict, other.freed) == ("as planned", "freed")


def test_a_repetition_for_the_noise_is_no_layout_of_its_own(story: CampaignStory) -> None:
    cluster = place(story, "north-q4", "alpha + beta")
    again = replace(cluster, id="p99", role="A again")
    alone = place(story, "north-q4", "alpha alone")
    assert [one.other for one in second_machine((alone, cluster, again), {}, Say("en"))] == [cluster.id]


def test_a_load_that_is_not_like_itself_is_a_grave_caution(whole_campaign: Path) -> None:
    data = campaign_reports.told(whole_campaign).story
    steady, unsteady = (NoiseFigure(name=ONE, again=(much,), blocks=(), floor=much) for much in (0.24, 0.5))
    said = [list(_unsteady(found, Say("en"))) for found in ([], [steady], [steady, unsteady])]
    assert [len(one) for one in said] == [0, 0, 1]
    assert said[2][0].grave
    assert "differs from itself by up to 50 %" in said[2][0].text
    assert not any("differs from itself" in one.text for one in data.cautions)
