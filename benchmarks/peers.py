"""Other load clients from PyPI, each in an environment of its own under the cache folder. Knows how to install them
without torch, what their command lines are, and where their reports keep TTFT and the time between tokens.

One that needs torch, another Python, or a network that is not there is left out, with the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from statistics import fmean
from typing import Any

from evener.state import cache_folder

INSTALL_WITHIN_S = 900
TOKENIZER = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
words = sys.argv[2].split()
names = ["<unk>", "<s>", "</s>", *(chr(c) for c in range(33, 127)), *(w for w in words if len(w) > 1)]
made = Tokenizer(models.WordLevel({n: i for i, n in enumerate(dict.fromkeys(names))}, unk_token="<unk>"))
made.pre_tokenizer = pre_tokenizers.Whitespace()
template = "{% for m in messages %}{{ m.content }} {% endfor %}"
PreTrainedTokenizerFast(tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
                        chat_template=template).save_pretrained(sys.argv[1])
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What a client says of the times it measured, in milliseconds; None where its report has no such figure."""

    ttft_ms: float | None
    ttft_p99_ms: float | None
    itl_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    url: str
    streams: int
    requests: int
    tokens: int
    prompt_tokens: int
    folder: Path
    tokenizer: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    version: str
    python: tuple[int, int]  # the oldest it runs on
    arguments: Callable[[Asked], list[str]] | None  # None: never got so far
    read: Callable[[Path], Reported] | None

    @property
    def program(self) -> Path:
        return cache_folder() / "peers" / self.name / "bin" / self.name


def install(peer: Peer) -> str | None:
    """Why this peer cannot run here; None when it can."""
    if peer.program.exists() and peer.arguments is not None:
        return None
    python = _python(peer.python)
    if python is None:
        return f"needs Python {peer.python[0]}.{peer.python[1]}"
    home, wanted = peer.program.parent.parent, f"{peer.name}=={peer.version}"
    plan = home.with_name(f"{wanted}.plan.json")  # kept: to find out what a peer needs takes minutes
    plan.parent.mkdir(parents=True, exist_ok=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not plan.exists() and (why := _run([*pip, "--dry-run", "--ignore-installed", "--report", str(plan), wanted])):
        plan.unlink(missing_ok=True)
        return why
    names = {item["metadata"]["name"].lower() for item in json.loads(plan.read_text())["install"]}
    if "torch" in names:
        return "needs torch"
    return _run([python, "-m", "venv", str(home)]) or _run(
        [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
    )


def tokenizer(peer: Peer, words: str) -> Path:
    """A tokenizer of one token per word, made by a peer's own libraries: none may be downloaded."""
    where = cache_folder() / "peers" / "tokenizer"
    if not (where / "tokenizer.json").exists():
        python = str(peer.program.parent / "python")
        subprocess.run([python, "-c", TOKENIZER, str(where), words], check=True, capture_output=True)
    return where


def _python(oldest: tuple[int, int]) -> str | None:
    if sys.version_info[:2] >= oldest:
        return sys.executable
    minors = range(oldest[1], oldest[1] + 4)
    pyenv = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))
    found = [path for minor in minors if (path := which(f"python3.{minor}"))]
    found += [str(path) for path in pyenv if int(path.parts[-3].split(".")[1]) >= oldest[1]]
    return next((path for path in found if _run([path, "-m", "pip", "--version"]) is None), None)


def _run(argv: list[str]) -> str | None:
    """None when it went well, else the last line of what it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return None if done.returncode == 0 else said[-1]


def _llama_benchy(asked: Asked) -> list[str]:
    runs = max(1, asked.requests // asked.streams)
    return [
        *("--base-url", f"{asked.url}/v1", "--model", "mock-plain", "--tokenizer", str(asked.tokenizer)),
        *("--pp", str(asked.prompt_tokens), "--tg", str(asked.tokens), "--concurrency", str(asked.streams)),
        *("--runs", str(runs), "--book-url", f"{asked.url}/book", "--latency-mode", "none", "--no-warmup"),
        *("--skip-coherence", "--no-adapt-prompt", "--format", "json", "--save-result", str(asked.folder / "b.json")),
    ]


def _of_llama_benchy(folder: Path) -> Reported:
    found = json.loads((folder / "b.json").read_text())["benchmarks"][0]
    ttft, rates = found["e2e_ttft"]["values"], found["tg_req_throughput"]["values"]
    return Reported(ttft_ms=fmean(ttft), ttft_p99_ms=p99(ttft), itl_ms=fmean(1e3 / rate for rate in rates))


def _aiperf(asked: Asked) -> list[str]:
    return [
        *("profile", "-m", "mock-plain", "--tokenizer", str(asked.tokenizer), "-u", asked.url),
        *("--endpoint-type", "chat", "--streaming", "--concurrency", str(asked.streams)),
        *("--request-count", str(asked.requests), "--isl", str(asked.prompt_tokens), "--osl", str(asked.tokens)),
        *("--extra-inputs", f"max_tokens:{asked.tokens}", "--ui", "none", "--output-artifact-dir", str(asked.folder)),
    ]


def _of_aiperf(folder: Path) -> Reported:
    found = json.loads((folder / "profile_export_aiperf.json").read_text())
    ttft = found["time_to_first_token"]
    return Reported(ttft_ms=ttft["avg"], ttft_p99_ms=ttft["p99"], itl_ms=found["inter_token_latency"]["avg"])


def _inference_perf(asked: Asked) -> list[str]:
    def length(tokens: int) -> dict[str, int]:
        return {"min": tokens, "max": tokens, "mean": tokens, "std_dev": 0, "total_count": asked.requests}

    config: dict[str, Any] = {
        "api": {"type": "completion", "streaming": True},
        "data": {
            "type": "random",
            "input_distribution": length(asked.prompt_tokens),
            "output_distribution": length(asked.tokens),
        },
        "load": {
            "type": "concurrent",
            "num_workers": 1,
            "worker_max_concurrency": asked.streams,
            "stages": [{"num_requests": asked.requests, "concurrency_level": asked.streams}],
        },
        "server": {"type": "vllm", "model_name": "mock-plain", "base_url": asked.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": str(asked.tokenizer)},
        "storage": {"local_storage": {"path": str(asked.folder / "report")}},
    }
    where = asked.folder / "config.yml"
    where.write_text(json.dumps(config))  # JSON is YAML
    return ["-c", str(where)]


def _of_inference_perf(folder: Path) -> Reported:
    found = json.loads((folder / "report" / "summary_lifecycle_metrics.json").read_text())["successes"]["latency"]
    ttft, gap = found["time_to_first_token"], found["time_per_output_token"]
    return Reported(ttft_ms=ttft["mean"] * 1e3, ttft_p99_ms=ttft["p99"] * 1e3, itl_ms=gap["mean"] * 1e3)


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


PEERS = (
    Peer(name="llama-benchy", version="0.4.0", python=(3, 10), arguments=_llama_benchy, read=_of_llama_benchy),
    Peer(name="aiperf", version="0.13.0", python=(3, 10), arguments=_aiperf, read=_of_aiperf),
    Peer(name="inference-perf", version="0.7.0", python=(3, 12), arguments=_inference_perf, read=_of_inference_perf),
    Peer(name="guidellm", version="0.8.1", python=(3, 10), arguments=None, read=None),
    Peer(name="sglang", version="0.5.23", python=(3, 10), arguments=None, read=None),
)
