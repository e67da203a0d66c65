"""The real engine and the real model, as `make test` has put them in the user's cache."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def engine() -> Path:
    """The folder with llama-server, ggml-rpc-server, llama-fit-params, llama-bench and llama-quantize."""
    from evener.api import engines

    return asyncio.run(engines.find()).folder


@pytest.fixture(scope="session")
def model() -> Path:
    """SmolLM2-135M-Instruct Q4_1: 30 blocks, 98 MB."""
    from evener.api import models

    return Path(asyncio.run(models.locate("demo")))
