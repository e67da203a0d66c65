"""Figures of one load over its blocks: user counts, tests, lengths, comfort. Pure; compares nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median as middle

from evener.records.campaign import Unit
from evener.records.context_limits import ContextLength
from evener.records.load import Comfortable, Level, UsersResult
from evener.records.run import Stage
from evener.records.speed_rows import SpeedRow
from evener.report import figures
from evener.report.against_parts import SideFigure
from evener.report.campaign.cells import within
from evener.report.campaign.parts import (
    BlockFigure,
    CeilingStory,
    ComfortStory,
    LengthStory,
    LevelStory,
    Reading,
    TestStory,
)
from evener.report.language import Say
from evener.report.words import kilo, percent
from evener.stats.intervals import share_interval, tries_needed

PLAIN = "users"  # the name of a load without a profile
MOST_REQUESTS = 5_000  # more than that nobody would send to decide a count
_UNFIT = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one unit measured in one block."""

    block: int
    unit: Unit
    stage: Stage

    def of(self, figure: SideFigure) -> BlockFigure:
        return BlockFigure(block=self.block, unit=self.unit.id, figure=figure)


class Readings:
    """Makes figures of one place, each with an id of its own."""

    def __init__(self, place: str, say: Say) -> None:
        self._place, self._say = place, say
        self._ids: Counter[str] = Counter()

    def id(self, *words: object) -> str:
        slug = _UNFIT.sub("-", "-".join(map(str, words)).lower()).strip("-")
        self._ids[slug] += 1
        again = f"-{self._ids[slug]}" if self._ids[slug] > 1 else ""
        return f"{self._place}-{slug}{again}"

    def reading(self, name: str, about: str, unit: str, blocks: Iterable[BlockFigure]) -> Reading:
        known = [one for one in blocks if one.figure.value is not None]
        values = [one.figure.value for one in known if one.figure.value is not None]
        ends = [one.figure.interval for one in known]
        basis = known[0].figure.basis if known else "single"
        interval = None
        if ends and all(ends):
            interval = (min(e[0] for e in ends if e), max(e[1] for e in ends if e))
        elif basis == "single" and len(values) > 1:
            interval = (min(values), max(values))
        return Reading(
            id=self.id(name, about),
            name=self._say(name),
            about=about,
            unit=unit,
            value=middle(values) if values else None,
            interval=interval,
            n=sum(one.figure.n or 1 for one in known),
            basis=basis,
            blocks=tuple(known),
        )

    # ---- users

    def levels(self, taken: Sequence[Taken]) -> Iterator[LevelStory]:
        """Every user count of every profile, fewest first."""
        users = [(one, result) for one in taken if (result := usable(one.stage.users))]
        for profile in dict.fromkeys(one.unit.name for one, _ in users):
            mine = [(one, result) for one, result in users if one.unit.name == profile]
            for count in sorted({level.users for _, result in mine for level in result.levels}):
                found = [(one, level) for one, result in mine for level in result.levels if level.users == count]
                yield self._level(profile, count, people=mine[0][1].people, found=found)

    def _level(self, profile: str, users: int, *, people: bool, found: Sequence[tuple[Taken, Level]]) -> LevelStory:
        about = self.who(users, people=people) + (f", {profile}" if profile != PLAIN else "")

        def reading(name: str, unit: str, of: Callable[[Level], SideFigure]) -> Reading:
            return self.reading(name, about, unit, [one.of(of(level)) for one, level in found])

        counts = [level.requests for _, level in found]
        within = [level.within_limits for _, level in found if level.within_limits]
        return LevelStory(
            profile=profile,
            users=users,
            people=people,
            each=reading("each of them", "tok/s", lambda x: figures.median(x.per_user_tokens_per_s)),
            total=reading("all together", "tok/s", lambda x: figures.single(x.total_tokens_per_s)),
            ttft=reading("first token", "ms", lambda x: figures.median(x.ttft_ms)),
            ttft_p90=reading("first token, p90", "ms", _p90),
            share_of_one=reading("share of one alone", "", lambda x: figures.single(x.degradation)),
            sent=sum(c.completed + c.errored + c.invalid for c in counts),
            failed=sum(c.errored + c.invalid for c in counts),
            by_class=added(c.by_class for c in counts),
            within=share(sum(w.met for w in within), sum(w.of for w in within)),
        )

    def who(self, users: int, *, people: bool) -> str:
        if people:
            return self._say.count(users, "{n} person", "{n} people")
        return self._say.count(users, "{n} user", "{n} users")

    # ---- comfort

    def comfort(self, taken: Sequence[Taken], levels: Sequence[LevelStory]) -> Iterator[ComfortStory]:
        """Where limits were stated; requests of all blocks together decide."""
        asked = {one.unit.name: r.comfortable for one in taken if (r := usable(one.stage.users)) and r.comfortable}
        for profile, found in asked.items():
            mine = [level for level in levels if level.profile == profile and level.within.n]
            if mine:
                yield self._comfortable(profile, found, mine)

    def _comfortable(self, profile: str, asked: Comfortable, levels: Sequence[LevelStory]) -> ComfortStory:
        holding = []
        for level in levels:
            if level.within.interval is None or level.within.interval[0] < asked.target_share:
                break
            holding.append(level)
        after = next(iter(levels[len(holding) :]), None)
        open_ = (
            after is not None and after.within.interval is not None and after.within.interval[1] >= asked.target_share
        )
        seen = (after.within.value or 0.0, after.within.n or 0) if after and open_ else None
        needed = seen and tries_needed(round(seen[0] * seen[1]), seen[1], asked.target_share, most=MOST_REQUESTS)
        people = asked.unit == "people"
        holds_for = holding[-1].users if holding else None
        return ComfortStory(
            id=self.id("comfort", profile),
            profile=profile,
            people=people,
            limits=asked.limits,
            target_share=asked.target_share,
            holds_for=holds_for,
            unresolved_at=after.users if after and open_ else None,
            requests_needed=needed or None,
            fails_at=after.users if after and not open_ else None,
            share=(holding[-1] if holding else levels[0]).within,
            sentence=self._comfort_sentence(profile, asked, holds_for, after, open_=open_),
        )

    def _comfort_sentence(
        self, profile: str, asked: Comfortable, holds_for: int | None, after: LevelStory | None, *, open_: bool
    ) -> str:
        say, people = self._say, asked.unit == "people"
        limits = within(asked.limits, say)
        target = percent(asked.target_share)
        if holds_for is None:
            told = say("{profile}: not known to be comfortable even for {who}", profile=profile,
                       who=self.who(after.users if after else 1, people=people))  # fmt: skip
        else:
            who = self.who(holds_for, people=people)
            told = say("{profile}: comfortable for {who}", profile=profile, who=who)
            if after is None:
                told = say("{profile}: comfortable for {who}, the most that were tried", profile=profile, who=who)
        held = say("{share} of requests: {limits}", share=target, limits=limits)
        if after is None or holds_for is None:
            return f"{told} ({held})"
        who = self.who(after.users, people=people)
        next_ = say("for {who} more requests would tell", who=who) if open_ else say("not for {who}", who=who)
        return f"{told} ({held}{say('; ')}{next_})"

    # ---- speed, context

    def tests(self, taken: Sequence[Taken]) -> Iterator[TestStory]:
        rows = [(one, row) for one in taken if one.stage.speed and one.stage.speed.validity == "valid"
                for row in one.stage.speed.rows]  # fmt: skip
        for test in dict.fromkeys(row.test for _, row in rows):
            mine = [(one, row) for one, row in rows if row.test == test]
            yield self._test(mine[0][1], mine)

    def _test(self, row: SpeedRow, mine: Sequence[tuple[Taken, SpeedRow]]) -> TestStory:
        rates = [one.of(figures.repeated(row.client)) for one, row in mine]
        waits = [one.of(figures.repeated(row.ttft_ms)) for one, row in mine if row.ttft_ms]
        return TestStory(
            test=row.test,
            prompt_tokens=row.prompt_tokens,
            output_tokens=row.output_tokens,
            depth=row.depth,
            rate=self.reading("speed", row.test, "tok/s", rates),
            ttft=self.reading("first token", row.test, "ms", waits),
        )

    def lengths(self, taken: Sequence[Taken]) -> Iterator[LengthStory]:
        found = [(one, x) for one in taken if one.stage.context and one.stage.context.validity == "valid"
                 for x in one.stage.context.lengths]  # fmt: skip
        for tokens in sorted({x.tokens for _, x in found}):
            mine = [(one, x) for one, x in found if x.tokens == tokens]
            about = self._say("{n} tokens", n=kilo(tokens))

            def reading(
                name: str, unit: str, of: Callable[[ContextLength], SideFigure],
                mine: Sequence[tuple[Taken, ContextLength]] = mine, about: str = about,
            ) -> Reading:  # fmt: skip
                return self.reading(name, about, unit, [one.of(of(x)) for one, x in mine])

            yield LengthStory(
                tokens=tokens,
                needles=reading("single facts found", "", lambda x: figures.share(x.needles)),
                reasoning=reading("facts put together", "", lambda x: figures.share(x.reasoning)),
                ttft=reading("first token", "ms", lambda x: figures.repeated(x.ttft_ms)),
                prefill=reading("prompt", "tok/s", lambda x: figures.repeated(x.prefill_tokens_per_s)),
                decode=reading("answer", "tok/s", lambda x: figures.repeated(x.decode_tokens_per_s)),
            )

    def ceilings(self, taken: Sequence[Taken]) -> Iterator[CeilingStory]:
        results = [one.stage.context for one in taken if one.stage.context and one.stage.context.validity == "valid"]
        for name in dict.fromkeys(c.name for result in results for c in result.ceilings):
            mine = [c for result in results for c in result.ceilings if c.name == name]
            least = min(mine, key=lambda c: (c.tokens is None, c.tokens or 0))
            yield CeilingStory(
                name=name,
                tokens=least.tokens,
                at_least=least.at_least,
                binding=any(result.binding == name for result in results),
                why=least.why,
            )


def usable(result: UsersResult | None) -> UsersResult | None:
    """A result whose figures may be used."""
    return result if result is not None and result.validity == "valid" else None


def share(met: int, of: int) -> SideFigure:
    """A share of requests or questions, with its 95 % interval."""
    return SideFigure(value=met / of if of else None, interval=share_interval(met, of), n=of, basis="95 %")


def added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)


def _p90(level: Level) -> SideFigure:
    wait = level.ttft_ms
    return SideFigure(value=wait.p90, interval=wait.p90_interval, n=wait.n, basis="95 %")
