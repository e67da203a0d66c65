"""The first campaign.toml of somebody who has none: the models that are here, comments that teach the rest. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

TEMPLATE = """\
# campaign.toml: which models, on which machines, measured how. `evener compare {file} --dry-run` prints every step
# with its minutes, and what the sizes can prove; `evener compare --schema` lists every key.

name = "{name}"
layouts = {layouts}
# "auto" is what `evener plan` takes; others: a host, "cluster", "replicas", or any layout that it lists. What is split
# over machines is always held against the one machine that the model fits.
# cables = ["5gbe", "tb5"]       # links of the rig, each measured
# contexts = [4096, 16384]       # tokens per user
repeats = 2                      # blocks; each holds every load once, in its own random order
# budget = "8h"                  # the most it may take: what is clearly beaten is dropped early

{models}
# A server that runs already - vLLM, Ollama, a cloud API - as it is:
# [[endpoints]]
# name = "vllm"
# url = "http://10.0.0.9:8000"
# api_key_env = "VLLM_KEY"       # the variable that holds the key, never the key itself

[speed]                          # one sequence at a time: prompts = [512], outputs = [128], depths = [0]

[[users]]                        # many at once
counts = [1, 2, 4]
# [[users]]                      # people, who read and think between two requests
# profile = "chat"               # translate, chat, coding or autocomplete: its lengths, pauses and limits
# counts = [4, 8, 15]

# [context]                      # long prompts, with questions about what stood in them
# lengths = [1024, 2048]

[answers]                        # how well: once per model, not per layout
suites = ["translation", "restraint"]
quick = true                     # only the questions that are marked for a first look

# [notify]                       # who is told when it ends, or stops for somebody
# command = ["notify-send", "{{text}}"]
"""
OTHERS = """\
# Others, by a path, a URL, hf:ORG/REPO:QUANT, or a name of `evener models list`:
# [[models]]
# model = "hf:ORG/REPO-GGUF"
# quantisations = ["Q4_K_M", "Q8_0"]
# thinking = ["off", "on"]       # each is a contestant of its own
"""
NONE_HERE = (
    "# No model is here yet: this one is small and will be fetched. `evener models catalogue` has others to plan.\n"
)


def first_campaign(models: Sequence[str], *, hosts: Sequence[str], file: str) -> str:
    """The text of a campaign.toml with `models`, by names that `evener plan` takes; the demo's model without any."""
    tables = "\n".join(f"[[models]]\nmodel = {json.dumps(one, ensure_ascii=False)}\n" for one in models or ("demo",))
    return TEMPLATE.format(
        file=file,
        name=f"{len(models) or 1} {'model' if len(models) < 2 else 'models'} on {' and '.join(hosts)}",
        layouts=json.dumps(["auto", "cluster"] if len(hosts) > 1 else ["auto"]),
        models=("" if models else NONE_HERE) + tables + OTHERS,
    )
