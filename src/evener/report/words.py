"""How figures are written: short, with their unit and their company; what is unknown is "-". Knows no records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

UNKNOWN = "-"
_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30

Interval = tuple[float, float] | None


def size(count: int | None) -> str:
    """Bytes for people: "12.3 GiB", "512 MiB", "20 KiB"."""
    if count is None:
        return UNKNOWN
    if abs(count) >= _GIB:
        return f"{count / _GIB:.1f} GiB"
    if abs(count) >= _MIB or count == 0:
        return f"{count / _MIB:.0f} MiB"
    return f"{count / _KIB:.1f} KiB"


def gib(count: int | None) -> str:
    """Memory for people: "12.3 GiB", "512 MiB", "?" for unknown."""
    if count is None:
        return "?"
    return f"{count / _GIB:.1f} GiB" if abs(count) >= _GIB else f"{count / _MIB:.0f} MiB"


def age(seconds: float) -> str:
    """ "40 s", "12 min", "3 h", "5 d": one unit is enough to tell yesterday's test from a neighbour at work."""
    for size_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def figure(value: float) -> str:
    """One digit behind the point where it means something."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def number(value: float | None) -> str:
    """About three figures: 0.85, 8.41, 34.2, 120."""
    if value is None:
        return UNKNOWN
    places = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{places}f}"


def percent(share: float) -> str:
    """A share of 1 as "44 %"; small ones keep a decimal."""
    hundredths = share * 100
    return f"{hundredths:.0f} %" if abs(hundredths) >= 9.95 or not hundredths else f"{hundredths:.1f} %"


def signed_percent(share: float) -> str:
    """A change, with its sign: "+44 %", "-3.1 %"."""
    return f"{'+' if share > 0 else ''}{percent(share)}"


def seconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{number(value)} s"


def milliseconds(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.0f} ms"


def span(interval: Interval) -> str:
    """An interval as "60.1-61.8"."""
    return UNKNOWN if interval is None else f"{number(interval[0])}-{number(interval[1])}"


def company(n: int, interval: Interval) -> str:
    """What stands behind a figure: "n=20, 95% 60.1-61.8", or that n is too small for an interval."""
    return f"n={n}, 95% {span(interval)}" if interval else f"n={n}, too few for an interval"


def count(n: int, one: str, many: str | None = None) -> str:
    """ "1 card", "3 cards" """
    return f"{n} {one if n == 1 else many or one + 's'}"


def model_file(name: str) -> str:
    """A model by its file's name where a server tells the whole path; "org/model" stays."""
    if name.startswith("/") or name[1:3] in (":\\", ":/"):
        name = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or name
    return name.removesuffix(".gguf") or name


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c" """
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def classes(by_class: Mapping[str, int]) -> str:
    """Failures by class: "2 timeout, 1 kv exhausted"."""
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in sorted(by_class.items()) if n)


def kilo(tokens: int | None) -> str:
    """Tokens for people: "512", "4096", "32k"; thousands only where nothing is lost."""
    if tokens is None:
        return UNKNOWN
    return f"{tokens // 1024}k" if tokens >= 8192 and tokens % 1024 == 0 else str(tokens)


def shorten(text: str, most: int) -> str:
    """Cut in the middle: the two ends of a name tell most."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def plain(text: str) -> str:
    """A name is a stranger's text: no control sequence of it reaches a terminal, and nothing that turns text around."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def prose(text: str) -> str:
    """What somebody wrote on several lines, ready for `plain`: tabs become blanks, and every line ends alike."""
    return "\n".join(text.expandtabs(4).splitlines())
