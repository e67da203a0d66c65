"""A campaign as Markdown to paste, and as a post with how it was measured. What strangers named stays text.

Tables and lists only: nothing folds, nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from evener.report.campaign import cells
from evener.report.campaign.parts import CampaignStory, CeilingStory, PlaceStory, ScoreStory
from evener.report.evals_rows import interval, points
from evener.report.judges_rows import judge_lines
from evener.report.language import Say
from evener.report.plain_tables import escaped, markdown_table
from evener.report.verdict_rows import pair_row, penalty_row, preference_line
from evener.report.words import UNKNOWN, classes, number, percent, size, span

Section = Callable[[CampaignStory, Say], Iterator[str]]


def markdown(story: CampaignStory, say: Say) -> str:
    """The whole report."""
    sections = (
        _standing, _machines, _flips, _second, _speeds, _users, _tests, _context, _failures, _memory, _token, _money,
        _answers, _pareto, _conditions, _behind, _limits, _method, _units,
    )  # fmt: skip
    return _document(story, say, sections)


def post(story: CampaignStory, say: Say) -> str:
    """What survives a blog: the answer, its tables, how it was measured, and how far that carries. No paths, no "
    "runs."""
    sections = (
        _standing, _machines, _flips, _second, _users, _tests, _failures, _money, _answers, _pareto, _method,
        _conditions, _behind, _limits,
    )  # fmt: skip
    return _document(story, say, sections)


def _document(story: CampaignStory, say: Say, sections: Sequence[Section]) -> str:
    parts = [f"### {escaped(story.name)}\n"]
    parts += [f"**{escaped(line)}**\n" if n == 0 else f"{escaped(line)}\n" for n, line in enumerate(story.headline)]
    parts.append(f"{escaped(' '.join(story.basis))}\n")
    parts.append(_list([f"**{escaped(c.text)}**" if c.grave else escaped(c.text) for c in story.cautions]))
    parts += [part for section in sections for part in section(story, say)]
    return "\n".join(part for part in parts if part)


def _list(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table([escaped(h) if h[:1] != "#" else f"#{escaped(h[1:])}" for h in heads],
                          [[escaped(cell) for cell in row] for row in rows])  # fmt: skip


def _heading(text: str) -> str:
    return f"#### {escaped(text)}\n"


# ---- page one


def _standing(story: CampaignStory, say: Say) -> Iterator[str]:
    suites = cells.suites(story)
    yield _heading(say("What stands, what falls"))
    rows = [
        (
            f"{one.name} ({one.what})",
            say(one.word),
            say("; ").join(one.reasons) or UNKNOWN,
            *(_score(cells.score_of(one, suite)) for suite in suites),
        )
        for one in story.contestants
    ]
    heads = (say("contestant"), say("verdict"), say("why"), *(f"#{suite}" for suite in suites))
    yield _table(heads, rows)
    if suites:
        yield (
            escaped(
                say("✓: it may be the best in this suite, at 95 %. Scores are points of 100 with their 95 % intervals.")
            )
            + "\n"
        )


def _score(found: ScoreStory | None) -> str:
    return f"{'✓ ' if found and found.best else ''}{cells.score(found)}"


def _machines(story: CampaignStory, say: Say) -> Iterator[str]:
    yield _heading(say("On which machines, for how many"))
    priced = any(place.cost for place in story.places)
    heads = [say("contestant"), say("best on"), f"#{say('one user, tok/s')}", say("comfortable for"),
             f"#{say('failed requests')}"]  # fmt: skip
    if priced:
        heads += [f"#{say('energy per million tokens')}", f"#{say('cards per seat')}"]
    rows = []
    for one in story.contestants:
        at = story.place(one.place)
        if at is None:
            why = say("not measured") if one.word == "not measured" else say("no speed that may be used")
            rows.append([one.name, why, *[UNKNOWN] * (len(heads) - 2)])
            continue
        cost = at.cost
        money = (
            [cells.money(cost.energy_per_million, cost), cells.money(cost.per_seat, cost)] if cost else [UNKNOWN] * 2
        )
        rows.append([one.name, at.label, cells.written(at.one_user), say.comma.join(cells.comfort(at, say)) or UNKNOWN,
                     cells.share(one.failed_share), *(money if priced else ())])  # fmt: skip
    yield _table(heads, rows)
    yield _list([escaped(line) for line in story.assumptions])


def _flips(story: CampaignStory, say: Say) -> Iterator[str]:
    if story.flips:
        yield _heading(say("What would flip it"))
        yield _list([escaped(line) for line in story.flips])


def _second(story: CampaignStory, say: Say) -> Iterator[str]:
    if not story.second_machine:
        return
    yield _heading(say("What the second machine brought, or cost"))
    yield _list([escaped(one.sentence) for one in story.second_machine])
    rows = [
        (one.contestant, f"{f.name} ({f.about})" if f.about else f.name, number(f.base), number(f.other),
         cells.change(f), cells.ends(f, say), str(f.blocks), cells.floor(f), say(f.outcome))
        for one in story.second_machine
        for f in cells.chosen(one)
    ]  # fmt: skip
    heads = (say("contestant"), say("figure"), f"#{say('one machine')}", f"#{say('more')}", f"#{say('change')}",
             f"#{say('interval')}", f"#{say('blocks')}", f"#{say('noise')}", say("outcome"))  # fmt: skip
    yield _table(heads, rows)


# ---- experience


def _speeds(story: CampaignStory, say: Say) -> Iterator[str]:
    yield _heading(say("Speed for one user"))
    rows = [(p.contestant, _label(p, say), cells.written(p.one_user), _predicted(p), str(len(p.blocks)),
             cells.written(p.load)) for p in story.places]  # fmt: skip
    heads = (say("contestant"), say("layout"), f"#{say('one user, tok/s')}", f"#{say('predicted')}",
             f"#{say('blocks')}", f"#{say('loaded in, s')}")  # fmt: skip
    yield _table(heads, rows)
    if story.noise:
        yield _table(
            (say("The noise floor"), f"#{say('A against A, most')}", "#n", f"#{say('between blocks, most')}", "#n"),
            [(one.name, _most(one.again), str(len(one.again)), _most(one.blocks), str(len(one.blocks)))
             for one in story.noise],
        )  # fmt: skip


def _label(place: PlaceStory, say: Say) -> str:
    if place.state == "measured":
        return place.label
    return f"{place.label} ({say(place.state)}{say(': ') + place.why if place.why else ''})"


def _predicted(place: PlaceStory) -> str:
    if place.predicted is None:
        return UNKNOWN
    return f"{number(place.predicted.value)} ({span((place.predicted.low, place.predicted.high))})"


def _most(changes: Sequence[float]) -> str:
    return percent(max(map(abs, changes))) if changes else UNKNOWN


def _users(story: CampaignStory, say: Say) -> Iterator[str]:
    for profile in cells.profiles(story):
        mine = cells.of_profile(story.places, profile)
        counts = cells.counts(mine, profile)
        yield _heading(say("How it is for many: {profile}", profile=profile))
        rows = [(p.contestant, p.label, *(_level(p, profile, n) for n in counts)) for p in mine]
        yield _table((say("contestant"), say("layout"), *(f"#{n}" for n in counts)), rows)
        yield escaped(say("Each one's tok/s, and below it the wait for the first token in ms; medians with the 95 % "
                          "intervals of all blocks.")) + "\n"  # fmt: skip
        yield _list([escaped(f"{p.contestant}, {p.label}{say(': ')}{one.sentence}") for p in mine if p.is_ranked
                     for one in p.comfort if one.profile == profile])  # fmt: skip


def _level(place: PlaceStory, profile: str, users: int) -> str:
    found = cells.at(place, profile, users)
    if found is None:
        return UNKNOWN
    return f"{cells.written(found.each)}; {cells.value(found.ttft)} ms ({cells.company(found.ttft)})"


def _tests(story: CampaignStory, say: Say) -> Iterator[str]:
    names = cells.tests(story)
    if not names:
        return
    yield _heading(say("Speed, test by test"))
    rows = []
    for place in story.places:
        rates = {test.test: cells.written(test.rate) for test in place.tests}
        if rates:
            rows.append((place.contestant, place.label, *(rates.get(name, UNKNOWN) for name in names)))
    yield _table((say("contestant"), say("layout"), *(f"#{name}" for name in names)), rows)


def _context(story: CampaignStory, say: Say) -> Iterator[str]:
    names = cells.ceilings(story)
    if not names:
        return
    yield _heading(say("How long a prompt may be"))
    rows = []
    for place in story.places:
        own: dict[str, CeilingStory] = {one.name: one for one in place.ceilings}
        if own:
            told = [UNKNOWN if (one := own.get(name)) is None or one.tokens is None else
                    f"{'≥ ' if one.at_least else ''}{one.tokens}{' ' + say('binds') if one.binding else ''}"
                    for name in names]  # fmt: skip
            rows.append((place.contestant, place.label, *told))
    yield _table((say("contestant"), say("layout"), *(f"#{say(name)}" for name in names)), rows)


def _failures(story: CampaignStory, say: Say) -> Iterator[str]:
    rows = [(p.contestant, p.label, str(p.failed), str(p.sent), classes(p.by_class) or UNKNOWN)
            for p in story.places if p.sent]  # fmt: skip
    if rows:
        yield _heading(say("Failed requests"))
        yield _table((say("contestant"), say("layout"), f"#{say('failed')}", f"#{say('sent')}", say("by class")), rows)


def _memory(story: CampaignStory, say: Say) -> Iterator[str]:
    rows = [
        (p.contestant, p.label, f"{card.host} / {card.card_name}", str(card.layers), size(card.planned_bytes),
         size(card.loaded_bytes), size(card.left_bytes), say(card.verdict or "not checked"))
        for p in story.places
        if p.is_ranked
        for card in p.cards
    ]  # fmt: skip
    if rows:
        yield _heading(say("Memory, card by card"))
        heads = (say("contestant"), say("layout"), say("card, in order of use"), f"#{say('layers')}",
                 f"#{say('planned')}", f"#{say('loaded')}", f"#{say('left after stop')}", say("verdict"))  # fmt: skip
        yield _table(heads, rows)


def _token(story: CampaignStory, say: Say) -> Iterator[str]:
    rows = [
        (p.contestant, p.label, number(sum(one.ms for one in p.per_token_ms)),
         say("; ").join(f"{one.where} {number(one.ms)}" for one in p.per_token_ms), UNKNOWN)
        for p in story.places
        if p.is_ranked and p.per_token_ms
    ]  # fmt: skip
    if rows:
        yield _heading(say("Where a token's milliseconds go"))
        heads = (say("contestant"), say("layout"), f"#{say('predicted, ms')}", say("where"), f"#{say('measured, ms')}")
        yield _table(heads, rows)


def _money(story: CampaignStory, say: Say) -> Iterator[str]:
    costed = [(p, p.cost) for p in story.places if p.is_ranked and p.cost]
    if not costed:
        return
    yield _heading(say("Energy and money"))
    rows = [
        (p.contestant, p.label, number(m.kwh_per_million), cells.money(m.energy_per_million, m),
         cells.money(m.hardware, m), cells.money(m.hardware_per_million, m), cells.money(m.per_seat, m),
         say("; ").join(m.why) or UNKNOWN)
        for p, m in costed
    ]  # fmt: skip
    heads = (say("contestant"), say("layout"), f"#{say('kWh per million tokens')}",
             f"#{say('energy per million tokens')}", f"#{say('cards')}", f"#{say('cards per million tokens')}",
             f"#{say('cards per seat')}", say("not known"))  # fmt: skip
    yield _table(heads, rows)


# ---- answers


def _answers(story: CampaignStory, say: Say) -> Iterator[str]:
    for one in story.dimensions:
        found = one.verdict
        yield _heading(found.dimension)
        yield f"**{escaped(one.sentence)}{say('.')}**\n"
        heads = (say("contestant"), f"#{say('points')}", "#95 %", "#n")
        yield _table(heads, [(s.candidate, points(s.mean), interval(s.interval), str(s.n)) for s in found.standings])
        if found.pairs:
            rows = [(*pair_row(p)[:5], str(p.n), _word(p.word, p.needed, say)) for p in found.pairs]
            gaps = (f"#{say('gap, points')}", "#95 %", f"#{say('won-lost')}", "#p (Holm)", "#n")
            yield _table((say("pair"), *gaps, say("verdict")), rows)
        yield _list([escaped(line) for line in one.remarks])
    if story.canaries:
        yield _heading(say("Whether layouts compute the same"))
        yield _list([escaped(f"{one.contestant}{say(': ')}{one.sentence}") for one in story.canaries])
    for penalty in story.penalties:
        yield _heading(penalty.verdict.dimension)
        yield f"**{escaped(penalty.sentence)}{say('.')}**\n"
        figures = (say("penalty"), "95 %", say("counted wrong"), say("segments"), say("documents"), say("unscored"))
        rows_ = [penalty_row(standing) for standing in penalty.verdict.standings]
        yield _table((say("contestant"), *(f"#{figure}" for figure in figures)), rows_)
    if story.preferences:
        yield _list([escaped(preference_line(one)) for one in story.preferences])
    for judge in story.judges:
        yield _heading(f"{say('Judges')}{say(': ')}{judge.judged.judge.model}, {judge.contestant}")
        yield _list([escaped(line) for line in judge_lines(judge.judged)])


def _word(word: str, needed: int | None, say: Say) -> str:
    told = say("{n} questions would tell", n=needed) if needed else ""
    return say("; ").join(part for part in (say(word), told) if part)


def _pareto(story: CampaignStory, say: Say) -> Iterator[str]:
    rows = [
        (one.dimension, p.contestant, number(p.rate), f"{points(p.score)} ({interval(p.score_interval)}, n={p.n})",
         say("yes") if p.front else UNKNOWN, say.comma.join(p.dominated_by) or UNKNOWN)
        for one in story.pareto
        for p in one.points
    ]  # fmt: skip
    if rows:
        yield _heading(say("Quality against speed"))
        heads = (say("suite"), say("contestant"), f"#{say('one user, tok/s')}", f"#{say('points')}",
                 say("on the front"), say("known to be beaten by"))  # fmt: skip
        yield _table(heads, rows)


# ---- behind it


def _conditions(story: CampaignStory, say: Say) -> Iterator[str]:
    if not story.conditions:
        return
    yield _heading(say("Conditions"))
    rows = [(f"{'≠ ' if one.differs else ''}{one.name}", cells.held(one, say),
             say("differs, and was not asked to") if one.differs and not one.asked else "")
            for one in story.conditions]  # fmt: skip
    yield _table((say("condition"), say("value, and where it held"), ""), rows)


def _behind(story: CampaignStory, say: Say) -> Iterator[str]:
    if story.dropped or story.changed:
        yield _heading(say("Who was dropped on the way, and what changed"))
        yield _list([escaped(line) for line in cells.turns(story, say)])
    if story.troubles:
        yield _heading(say("What does not fit, and what failed"))
        rows = [(t.contestant, t.label, str(t.block), say(t.kind), t.why or UNKNOWN, " / ".join(t.evidence) or UNKNOWN)
                for t in story.troubles]  # fmt: skip
        heads = (say("contestant"), say("layout"), f"#{say('block')}", say("what"), say("why"), say("evidence"))
        yield _table(heads, rows)


def _limits(story: CampaignStory, say: Say) -> Iterator[str]:
    yield _heading(say("What these figures do not say"))
    yield _list([escaped(line) for line in story.limits])


def _method(story: CampaignStory, say: Say) -> Iterator[str]:
    yield _heading(say("How it was measured"))
    yield _list([escaped(line) for line in story.method])


def _units(story: CampaignStory, say: Say) -> Iterator[str]:
    yield _heading(say("Units, as they ended"))
    rows = [(r.unit, say(r.state), r.why or UNKNOWN, r.folder or UNKNOWN) for r in story.rows]
    yield _table((say("unit"), say("how it ended"), say("why"), say("run")), rows)
