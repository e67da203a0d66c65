"""Where evener keeps things: three folders and nothing outside them.

cache   rebuilt at will: engines, models               $EVENER_CACHE or $XDG_CACHE_HOME/evener
state   what is running, measured, locked              $EVENER_STATE or $XDG_STATE_HOME/evener
runs    run folders                                     $EVENER_RUNS  or <state>/runs
"""

from __future__ import annotations

import os
from pathlib import Path


def _folder(own: str, xdg: str, fallback: str) -> Path:
    if chosen := os.environ.get(own):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get(xdg) or str(Path.home() / fallback)
    return Path(base) / "evener"


def cache_folder() -> Path:
    return _folder("EVENER_CACHE", "XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    return _folder("EVENER_STATE", "XDG_STATE_HOME", ".local/state")


def runs_folder() -> Path:
    chosen = os.environ.get("EVENER_RUNS")
    return Path(chosen).expanduser().absolute() if chosen else state_folder() / "runs"


def engines_folder() -> Path:
    return cache_folder() / "engines"


def models_folder() -> Path:
    return cache_folder() / "models"


def deployments_folder() -> Path:
    return state_folder() / "deployments"
