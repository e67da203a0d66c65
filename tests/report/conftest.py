"""Campaigns as folders, written once for all tests that read them."""

from __future__ import annotations

from pathlib import Path

import campaign_samples
import pytest


@pytest.fixture(scope="session")
def whole_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return campaign_samples.whole(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="session")
def unfinished_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return campaign_samples.unfinished(tmp_path_factory.mktemp("unfinished"))
