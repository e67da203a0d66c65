"""Options that several commands share, and how their words are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from evener.records.plan import Objective, Workload

RigFile = Annotated[
    str | None, typer.Option("--rig", help="The rig file; default: $EVENER_RIG, ./rig.toml, or this machine alone.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON on standard output, with stable keys.")]
Layout = Annotated[str, typer.Option(help="auto, a host's name, cluster, or any layout that `plan` lists.")]
Users = Annotated[int, typer.Option(min=1, max=256, help="Parallel sequences: people who are answered at one moment.")]
Context = Annotated[int, typer.Option(min=256, help="Tokens per user.")]
Kv = Annotated[str, typer.Option(help="Cache type: f16, q8_0, ...; q8_0/q4_0 for K and V apart.")]
Unified = Annotated[bool, typer.Option("--unified", help="One pool of context for all users.")]
Drafts = Annotated[
    int,
    typer.Option(
        min=0,
        max=16,
        help="Tokens that the model's own MTP blocks, or --draft, propose at a time; 0: none, or 3 by --draft.",
    ),
]

Mmproj = Annotated[
    str | None,
    typer.Option("--mmproj", metavar="FILE", help="The projector (mmproj) that the model sees or hears with."),
]
Draft = Annotated[
    str | None,
    typer.Option(
        "--draft",
        metavar="MODEL",
        help="A smaller model that drafts for it, whole on a card of the head; see --drafts.",
    ),
]

Aim = Annotated[
    Literal["latency", "crowd", "prompt", "context"] | None,
    typer.Option(
        "--for",
        help="What the layout is chosen for: one user's tokens, all users' tokens, prompts, or the longest context. "
        "[latency for one user, else crowd]",
    ),
]

# What `plan` asks about: where nobody says, a profile may.
MaybeUsers = Annotated[
    int | None,
    typer.Option("--users", min=1, max=256, help="Parallel sequences: people who are answered at one moment. [4]"),
]
MaybeContext = Annotated[
    int | None, typer.Option("--context", min=256, help="Tokens per user. [4096, or what the profile needs]")
]
WHAT_IF, MANY, MONEY = "What if", "Many answers", "Money"
People = Annotated[
    int | None,
    typer.Option(min=1, max=2000, rich_help_panel=WHAT_IF, help="People, with --profile: computes --users."),
]
Profile = Annotated[
    str | None,
    typer.Option(rich_help_panel=WHAT_IF, help="What they do: translate, chat, coding or autocomplete."),
]
Quant = Annotated[
    str | None,
    typer.Option(rich_help_panel=WHAT_IF, help="Another quantisation of a catalogue model; `any`: which of them fit."),
]
Cable = Annotated[
    str | None,
    typer.Option(
        "--link",
        rich_help_panel=WHAT_IF,
        help="A link of the rig by name, or a kind: 1gbe, 2.5gbe, 5gbe, 10gbe, 25gbe, 50gbe, 100gbe, thunderbolt4, "
        "thunderbolt5, wifi.",
    ),
]
Without = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST|CARD", rich_help_panel=WHAT_IF, help="Without a host, or cards of that name."),
]
Add = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST: CARD", rich_help_panel=WHAT_IF, help='With more cards: "beta: 2x RTX 5090".'),
]
Instead = Annotated[
    str | None,
    typer.Option(metavar="CARD", rich_help_panel=WHAT_IF, help="One machine with that card, and nothing else."),
]
Sweep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION=VALUE,...",
        rich_help_panel=MANY,
        help="A row per value: users, people, context, kv, quant, layout, link, without, add, instead, profile. "
        "Several sweeps: every combination.",
    ),
]
Grid = Annotated[
    bool,
    typer.Option("--grid", rich_help_panel=MANY, help="People x context x quantisation x KV: how many machines?"),
]
Price = Annotated[
    list[str] | None,
    typer.Option(metavar="CARD=PRICE", rich_help_panel=MONEY, help='What a card costs: "RTX 5090=2300".'),
]
KwhPrice = Annotated[float | None, typer.Option(min=0, rich_help_panel=MONEY, help="What one kWh costs.")]


def read_workload(
    *,
    users: int,
    context: int,
    kv: str,
    unified: bool,
    drafts: int = 0,
    draft: str | None = None,
    aim: Objective | None = None,
) -> Workload:
    from evener.plan.what_if import DRAFTS
    from evener.records.plan import Workload

    key, _, value = kv.partition("/")
    return Workload(
        context=context, users=users, unified=unified, kv_type_k=key, kv_type_v=value or key,
        drafts=drafts or (DRAFTS if draft else 0), objective=aim,
    )  # fmt: skip
