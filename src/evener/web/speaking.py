"""The page's words in English and Chinese. A template that a table lacks is said in English: a test keeps it whole."""

from __future__ import annotations

from functools import cache
from typing import cast

from fastapi import Request

from evener.report.language import Language, Say

LANGUAGES = {"en": "English", "zh": "中文"}
COOKIE = "evener-language"


def language_of(request: Request) -> str:
    """What the reader has chosen, else what the browser asks for, else English."""
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return str(chosen)
    wanted = request.headers.get("accept-language", "").lower()
    return "zh" if wanted.startswith("zh") else "en"


@cache
def say_in(language: str) -> Say:
    return Say(cast(Language, language), package="evener.web")
