"""A campaign in the terminal: page one, short. The rest is in the page. Names are text, never markup."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from evener.report import cells as columns
from evener.report.campaign import cells
from evener.report.campaign.parts import CampaignStory, ContestantStory
from evener.report.language import Say
from evener.report.words import UNKNOWN

SHOWN = 8  # lines of a list
_TONES = {"cannot be ruled out": "green", "behind in answers": "yellow", "not measured": "yellow"}
_FOLDS = 13  # the least width of a column that folds


def view(story: CampaignStory, say: Say) -> RenderableType:
    """Page one."""
    return Group(*_parts(story, say))


def _parts(story: CampaignStory, say: Say) -> Iterator[RenderableType]:
    when = f"{story.started_at:%Y-%m-%d %H:%M} UTC, {say(story.state)}"
    yield columns.text((story.name, "bold"), f"  {when}  ", (story.id, "dim"))
    for n, line in enumerate(story.headline):
        yield columns.text((line, "bold cyan" if n == 0 else ""))
    yield columns.text((" ".join(story.basis), "dim"))
    for caution in story.cautions[:SHOWN]:
        mark, style = ("✕", "red") if caution.grave else ("!", "yellow")
        yield columns.bullet(mark, caution.text, style)
    yield from _more(len(story.cautions), say)
    yield Text()
    yield standing_table(story, say)
    if cells.suites(story):
        yield Text()
        yield scores_table(story, say)
    yield from _list(say("What the second machine brought, or cost"), [o.sentence for o in story.second_machine], say)
    yield from _list(say("What would flip it"), story.flips, say)
    yield from _list(say("What does not fit, and what failed"), _troubles(story, say), say)


def _troubles(story: CampaignStory, say: Say) -> list[str]:
    return [
        f"{t.unit or f'{t.contestant}, {t.label}'}{say(': ')}{say(t.kind)}" + (f"{say(': ')}{t.why}" if t.why else "")
        for t in story.troubles
    ]


def _list(title: str, lines: Collection[str], say: Say) -> Iterator[RenderableType]:
    if lines:
        yield Text()
        yield columns.text((title, "bold"))
        yield from (columns.bullet("-", line) for line in list(lines)[:SHOWN])
        yield from _more(len(lines), say)


def _more(n: int, say: Say) -> Iterator[RenderableType]:
    if n > SHOWN:
        yield columns.text((say("and {n} more: the page has all", n=n - SHOWN), "dim"))


def standing_table(story: CampaignStory, say: Say, *, width: int | None = None) -> RenderableType:
    """What becomes of whom, and where it runs best."""
    heads = {
        "verdict": say("verdict"), "best": say("best on"), "rate": f"#{say('one user, tok/s')}",
        "comfort": say("comfortable for"), "failed": f"#{say('failed requests')}",
    }  # fmt: skip
    named = {name: head.removeprefix("#") for name, head in heads.items()}

    def build(dropped: Collection[str]) -> Table:
        kept = [name for name in heads if named[name] not in dropped]
        table = columns.table(say("contestant"), *(heads[name] for name in kept))
        for column in table.columns:
            column.min_width = None if column.no_wrap else _FOLDS
        for one in story.contestants:
            row = _row(one, story, say)
            table.add_row(columns.text(one.name, "\n", (one.what, "dim")), *(row[name] for name in kept))
        return table

    return columns.Fitted(build, (named["failed"], named["comfort"], named["best"]), width=width)


def _row(one: ContestantStory, story: CampaignStory, say: Say) -> dict[str, Text]:
    at = story.place(one.place)
    rate = at.one_user if at else None
    return {
        "verdict": columns.text((f"{cells.MARKS[one.word]} {say(one.word)}", _TONES.get(one.word, "red"))),
        "best": columns.text(at.label if at else UNKNOWN),
        "rate": columns.text(cells.value(rate), "\n", (cells.company(rate), "dim")),
        "comfort": columns.text(say.comma.join(cells.comfort(at, say)) or UNKNOWN),
        "failed": columns.text(cells.share(one.failed_share)),
    }


def scores_table(story: CampaignStory, say: Say, *, width: int | None = None) -> RenderableType:
    """Points of 100; a mark for whoever may be the best."""
    suites = cells.suites(story)

    def build(dropped: Collection[str]) -> Table:
        kept = [suite for suite in suites if suite not in dropped]
        table = columns.table(say("points of 100"), *(f"#{suite}" for suite in kept))
        for one in story.contestants:
            found = [cells.score_of(one, suite) for suite in kept]
            table.add_row(
                columns.text(one.name),
                *(columns.text(f"{'✓ ' if s and s.best else ''}{cells.score(s)}") for s in found),
            )
        return table

    return columns.Fitted(build, list(reversed(suites)), width=width)
