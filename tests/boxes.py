"""Whether this machine can have a sandbox at all: some containers forbid namespaces."""

import shutil
import subprocess

import pytest

_BWRAP = shutil.which("bwrap")
_CAN = _BWRAP is not None and subprocess.run([_BWRAP, "--unshare-all", "--ro-bind", "/", "/", "true"]).returncode == 0
needs_box = pytest.mark.skipif(not _CAN, reason="no bubblewrap, or namespaces are forbidden")
