"""`evener models`: bring a GGUF here, carry it there, list what hosts have, show what a header says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from evener.cli.console import err, out, progress_bar, run_async, show_json
from evener.cli.options import RigFile
from evener.report.words import gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.models.shelf import Held
    from evener.models.show import Shown

app = typer.Typer(
    help="Bring a GGUF here, carry it to other hosts, list what is there, show what a header says.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
OWN = "evener"  # the store that needs no mention
LONGEST_VALUE = 100  # characters; a chat template has thousands


@app.command()
def fetch(
    what: Annotated[str, typer.Argument(help="hf:org/repo:QUANT, a URL (of any part), `demo`, or a path.")],
    sha256: Annotated[str | None, typer.Option(help="Refuse the file unless it has this hash.")] = None,
    as_json: Json = False,
) -> None:
    """Bring a model here. Interrupted, the same command goes on where it stopped."""
    from evener.api import models

    with progress_bar(quiet=as_json) as report:
        path = run_async(models.fetch(what, sha256=sha256, report=report))
    show_json({"path": path}) if as_json else out.print(escape(path), soft_wrap=True)


@app.command()
def push(
    model: Annotated[str, typer.Argument(help="A path, `demo`, or the name of a model that is here.")],
    host: Annotated[str, typer.Argument(help="A host of the rig.")],
    rig: RigFile = None,
    as_json: Json = False,
) -> None:
    """Carry a model to another host, and check its hash there. Interrupted, the same command goes on."""
    from evener.api import rig_models

    with progress_bar(quiet=as_json) as report:
        done = run_async(rig_models.push(model, host, rig_file=rig, report=report))
    if as_json:
        show_json(done)
        return
    for path in done.unchecked:
        err.print(f"[yellow]note:[/] {escape(path)}: only its size was compared: no sha256sum there", soft_wrap=True)
    how = "already there" if done.by == "nothing" else f"by {done.by} in {done.took_s:.0f} s"
    out.print(f"{escape(done.host)}: {escape(done.paths[0])}, {gib(done.bytes)}, {how}", soft_wrap=True)


@app.command()
def quantise(
    model: Annotated[str, typer.Argument(help="A path, `demo`, or the name of a model that is here.")],
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="Q8_0, Q4_K_M, ..., as llama-quantize calls it.")],
    as_json: Json = False,
) -> None:
    """Make another quantisation of a model, beside the fetched ones. Interrupted, nothing of it stays."""
    from evener.api import quantising

    with progress_bar(quiet=as_json) as report:
        made = run_async(quantising.quantise(model, kind, report=report))
    if as_json:
        show_json(made)
        return
    if made.again:
        err.print(
            f"[yellow]note:[/] {escape(made.source)} was quantised already, and what it had lost stays lost; "
            "of a file in F16 it would be better",
            soft_wrap=True,
        )
    out.print(f"{escape(made.path)}, {gib(made.bytes)}{', already there' * made.was_there}", soft_wrap=True)


@app.command("list")
def list_models(
    host: Annotated[str | None, typer.Option(help="What this host of the rig has.")] = None,
    everywhere: Annotated[bool, typer.Option("--all", help="What every host of the rig has.")] = False,
    rig: RigFile = None,
    as_json: Json = False,
) -> None:
    """List models, our own and those of other programs' stores, and downloads that are not finished.

    Exit 1 when a host did not answer.
    """
    from evener.api import models, rig_models

    held, problems = (
        run_async(rig_models.held(rig, host=host)) if host or everywhere else (run_async(models.held()), ())
    )
    show_json(held) if as_json else _show_held(held, with_host=everywhere)
    for problem in problems:
        err.print(f"[bold red]problem:[/] {escape(problem)}", soft_wrap=True)
    if problems:
        raise typer.Exit(1)


def _show_held(held: tuple[Held, ...], *, with_host: bool) -> None:
    from rich.table import Column, Table

    if not held:
        out.print("no model yet: evener models fetch demo")
        return
    columns = ["size", "parts", "architecture", "quantisation", ""]
    first = [Column("host")] if with_host else []
    table = Table(*first, Column("file", overflow="fold"), *columns, box=None, pad_edge=False)
    for one in held:
        cells = [one.host or ""] if with_host else []
        cells += [one.file, gib(one.bytes), str(one.parts), one.architecture or "?", one.quantisation or "?"]
        where = "" if one.store == OWN else f"in {one.store}"
        table.add_row(*map(_plain, cells), f"[red]{_plain(one.problem)}[/]" if one.problem else where)
    out.print(table)


@app.command()
def catalogue(as_json: Json = False) -> None:
    """List the models that can be planned without a file or a network, as NAME:QUANTISATION."""
    from rich.table import Table

    from evener.api import models

    entries = run_async(models.catalogue())
    if as_json:
        show_json(entries)
        return
    table = Table("name", "parameters", "active", "context", "quantisations", box=None, pad_edge=False)
    for entry in entries:
        sizes = ", ".join(f"{name} {size / (1 << 30):.1f}" for name, size in entry.sizes.items())
        active = _parameters(entry.active_parameters) if entry.experts else "all"
        table.add_row(
            entry.name.lower(), _parameters(entry.parameters), active, str(entry.context_train), f"{sizes} GiB"
        )
    out.print(table)
    out.print("sizes without the vocabulary's text; --json says where each shape is from")


@app.command()
def show(
    model: Annotated[str, typer.Argument(help="A path, `demo`, or the name of a model that is here.")],
    tensors: Annotated[bool, typer.Option("--tensors", help="List every tensor.")] = False,
    metadata: Annotated[bool, typer.Option("--metadata", help="List every metadata key.")] = False,
    as_json: Json = False,
) -> None:
    """Show what a model's header says: shape, sizes, what a token costs."""
    from evener.api import models

    shown = run_async(models.show(model, tensors=tensors, metadata=metadata))
    if as_json:
        show_json(shown)
        return
    for label, value in _rows(shown):
        out.print(f"[bold]{label:<16}[/]{_plain(value)}", soft_wrap=True)
    _show_types(shown)
    _show_lists(shown)
    if shown.not_a_model:
        err.print(f"[yellow]note:[/] {_plain(shown.not_a_model)}", soft_wrap=True)


def _rows(shown: Shown) -> Iterator[tuple[str, str]]:
    yield "name", shown.name
    yield "architecture", f"{shown.architecture} (GGUF version {shown.gguf_version})"
    yield "quantisation", shown.quantisation
    yield "file", f"{gib(shown.file_bytes)} in {len(shown.paths)} part{'s' * (len(shown.paths) > 1)}: {shown.paths[0]}"
    weights = shown.weights
    active = f", {_parameters(weights.active_parameters)} active per token" if weights and weights.experts else ""
    yield "parameters", f"{_parameters(shown.parameters)}{active}"
    if weights:
        mtp = f", {weights.mtp_layers} of them for speculation (MTP)" if weights.mtp_layers else ""
        yield "layers", f"{weights.layers}{mtp}"
        if weights.experts:
            yield "experts", f"{weights.experts}, {weights.experts_used} used per token"
        yield "width", f"{weights.embedding}, feed-forward {weights.feed_forward or 'per expert'}"
        yield "context", f"{weights.context_train or '?'} tokens in training"
        yield "heads", _heads(shown)
        yield "KV", _kv(shown)
        yield "vocabulary", f"{weights.vocabulary} tokens{', head tied to the embedding' * weights.tied_head}"
        yield "stays in RAM", gib(weights.host_bytes)
    if seeing := shown.projector:
        largest_image = f" and about {gib(seeing.compute_bytes)} for its largest image" if seeing.compute_bytes else ""
        yield "as a projector", f"{gib(seeing.weights_bytes)} on a card{largest_image}: evener plan MODEL --mmproj FILE"
    if largest := shown.largest_tensor:
        shape = " x ".join(map(str, largest.shape))
        yield "largest tensor", f"{largest.name}, {largest.type}, {shape}, {gib(largest.bytes)}"
    yield "chat template", "yes" if shown.chat_template else "no"


def _heads(shown: Shown) -> str:
    attention = shown.weights.attention if shown.weights else None
    if attention is None:
        return f"{shown.heads or '?'}"
    kinds = sorted(set(attention.kv_heads) - {0}) or [0]
    keeping = sum(heads > 0 for heads in attention.kv_heads)
    compressed = "one compressed key" if attention.mla else f"{' or '.join(map(str, kinds))} KV heads"
    lengths = f"of {attention.key_length}" if attention.mla else f"of {attention.key_length} + {attention.value_length}"
    return f"{shown.heads or '?'}, {compressed} {lengths}, on {keeping} of {len(attention.kv_heads)} layers"


def _kv(shown: Shown) -> str:
    if shown.kv is None:
        return f"unknown: {shown.weights.cache_unknown if shown.weights else ''}"
    kv = shown.kv
    said = [f"{kv.growing_bytes * 1000 / (1 << 20):.1f} MiB per 1000 tokens at f16"]
    if kv.window:
        said.append(f"at most {gib(kv.window_bytes * kv.window)} more in windows of {kv.window}")
    if kv.per_sequence_bytes:
        said.append(f"{kv.per_sequence_bytes / (1 << 20):.1f} MiB per user, whatever the length")
    return ", ".join(said)


def _show_types(shown: Shown) -> None:
    from rich.table import Table

    table = Table("type", "tensors", "size", box=None, pad_edge=False)
    for share in shown.tensor_types:
        table.add_row(share.type, str(share.tensors), gib(share.bytes))
    out.print(table)


def _show_lists(shown: Shown) -> None:
    from evener.models.show import in_words

    for key, value in (shown.metadata or {}).items():
        words = _plain(in_words(value)[: LONGEST_VALUE + 1])
        out.print(f"{_plain(key)} = {words if len(words) <= LONGEST_VALUE else words[:LONGEST_VALUE] + '…'}")
    for tensor in shown.tensors or ():
        shape = " x ".join(map(str, tensor.shape))
        out.print(f"{_plain(tensor.name)}  {tensor.type}  {shape}  {tensor.bytes} bytes", soft_wrap=True)


def _parameters(count: int | None) -> str:
    if count is None:
        return "?"
    if count >= 1e9:
        return f"{count / 1e9:.2f} B"
    return f"{count / 1e6:.1f} M" if count >= 1e6 else str(count)


def _plain(text: str) -> str:
    """A header is a stranger's text: no control sequence of it reaches the terminal, and no markup."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
