from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from tests.docs.pages import ROOT


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """scripts/reference.py, as a module."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
