"""A model of the Hugging Face Hub: which files "hf:org/repo:QUANT" means, and bringing them here.

The token is sent to the endpoint alone, and stands in no message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evener.dialects import hf_hub
from evener.dialects.hf_hub import HubFile, HubName
from evener.errors import ConfigurationError, FetchFailed, ModelMissing
from evener.fetching import LOGIN_HINT, PAUSE_S, fetch_file
from evener.models.fetch import is_gguf
from evener.models.hashes import remember, sha256_of
from evener.models.names import siblings, stem
from evener.ports import Downloads, Report

MOST_LISTING_BYTES = 32 << 20
# They stand beside a model and are none: projectors, speculators, importance matrices.
_BESIDE = re.compile(r"(?:^|[-._/])(mmproj|mtp|eagle3|dflash|dspark|imatrix)(?=[-._/]|$)", re.IGNORECASE)
TOKEN_HINT = "a gated model: accept its terms on its page and set HF_TOKEN to a token of yours"
PROJECTOR_ORDER = ("F16", "BF16", "Q8_0", "F32")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One model of a repository: all of its parts, in order."""

    parts: tuple[HubFile, ...]

    @property
    def name(self) -> str:
        """What stands after the colon: its quantisation, or its name where no file states one."""
        return hf_hub.quant_of(self.parts[0].path) or stem(self.parts[0].path.rsplit("/", 1)[-1])

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)


def offers(listing: Sequence[HubFile]) -> tuple[Offer, ...]:
    """The models of a repository, the smallest first. Parts are one model; one with a part missing is none."""
    by_path = {file.path: file for file in listing}
    found = []
    for path in sorted(by_path):
        folder, slash, name = path.rpartition("/")
        if not name.lower().endswith(".gguf") or _BESIDE.search(path) or siblings(name)[0] != name:
            continue
        parts = [by_path.get(f"{folder}{slash}{sibling}") for sibling in siblings(name)]
        if all(parts):
            found.append(Offer(parts=tuple(part for part in parts if part)))
    return tuple(sorted(found, key=lambda offer: offer.bytes))


def choose(name: HubName, listing: Sequence[HubFile]) -> Offer:
    """The one model that `name` means. Raises ModelMissing with all there is when it means none, or several."""
    there = offers(listing)
    if not there:
        raise ModelMissing(f"hf:{name.repo}: no GGUF in it", hint="look for a repository whose name ends in -GGUF")
    fitting = [offer for offer in there if _means(name.quant, offer)] if name.quant else list(there)
    if len(fitting) == 1:
        return fitting[0]
    asked = f"hf:{name.repo}:{name.quant}" if name.quant else f"hf:{name.repo}"
    what = "no such model" if not fitting else f"{len(fitting)} models, which one?"
    listed = ", ".join(f":{offer.name} ({_gib(offer.bytes)})" for offer in fitting or there)
    raise ModelMissing(f"{asked}: {what}", hint=f"there is {listed}")


def _means(quant: str, offer: Offer) -> bool:
    """Whole words only: Q4_K does not mean Q4_K_M. "Q4_K_XL" means "UD-Q4_K_XL" too."""
    wish, path = quant.lower().removesuffix(".gguf"), offer.parts[0].path.lower()
    names = {offer.name.lower(), offer.name.lower().removeprefix("ud-"), stem(path), stem(path.rsplit("/", 1)[-1])}
    return wish in names


def projector(model: Offer, listing: Sequence[HubFile]) -> HubFile | None:
    """The model's eyes or ears, from its folder or one above; F16 before others. None for a model that only reads."""
    folder = model.parts[0].path.rpartition("/")[0]
    beside = [
        file
        for file in listing
        if "mmproj" in file.path.lower()
        and file.path.lower().endswith(".gguf")
        and f"{folder}/".startswith(f"{file.path.rpartition('/')[0]}/".lstrip("/"))
    ]
    return min(beside, key=_preference, default=None)


def _preference(file: HubFile) -> tuple[int, int, str]:
    quant = (hf_hub.quant_of(file.path) or "").upper()
    rank = PROJECTOR_ORDER.index(quant) if quant in PROJECTOR_ORDER else len(PROJECTOR_ORDER)
    return -file.path.count("/"), rank, file.path


async def find_hub(
    downloads: Downloads, text: str, *, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The URLs of a model's parts, and the headers to ask for them with. Raises as `fetch_hub` does."""
    name, endpoint, headers = _asked(text, environ)
    model = choose(name, await _listing(downloads, endpoint, name, headers))
    return tuple(hf_hub.file_url(endpoint, name.repo, part.path) for part in model.parts), headers


async def fetch_hub(
    downloads: Downloads,
    text: str,
    *,
    folder: Path,
    environ: Mapping[str, str],
    report: Report,
    pause_s: float = PAUSE_S,
) -> Path:
    """Every part of the model, and its projector, in `folder`; each is checked against the Hub's hash. The first part.

    `environ` may hold HF_ENDPOINT and HF_TOKEN. Raises ConfigurationError, ModelMissing, FetchFailed, BadHeader.
    """
    name, endpoint, headers = _asked(text, environ)
    listing = await _listing(downloads, endpoint, name, headers)
    model = choose(name, listing)
    eyes = projector(model, listing)
    folder.mkdir(parents=True, exist_ok=True)
    landed = [
        await _fetched(downloads, hf_hub.file_url(endpoint, name.repo, file.path), file, folder / here, headers, report,
                       pause_s)
        for file, here in _places(name, model, eyes)
    ]  # fmt: skip
    return landed[0]


def _asked(text: str, environ: Mapping[str, str]) -> tuple[HubName, str, dict[str, str]]:
    """(name, endpoint, headers for it alone)."""
    name = hf_hub.read_name(text)
    if name is None:
        raise ConfigurationError(f"{text}: not a name on the Hub", hint="write hf:org/repo or hf:org/repo:Q4_K_M")
    token = environ.get("HF_TOKEN", "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ConfigurationError("HF_TOKEN: not a token", hint="one word, such as hf_..., or nothing")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return name, environ.get("HF_ENDPOINT") or hf_hub.ENDPOINT, headers


def _places(name: HubName, model: Offer, eyes: HubFile | None) -> Iterator[tuple[HubFile, str]]:
    """Each file with its name here. Projectors are called alike in every repository, so theirs comes before it."""
    for part in model.parts:
        yield part, part.path.rsplit("/", 1)[-1]
    if eyes:
        yield eyes, f"{name.repo.rsplit('/', 1)[-1]}.{eyes.path.rsplit('/', 1)[-1]}"


async def _fetched(
    downloads: Downloads,
    url: str,
    file: HubFile,
    target: Path,
    headers: Mapping[str, str],
    report: Report,
    pause_s: float,
) -> Path:
    if file.sha256 and target.is_file():
        if (found := await sha256_of(target, report=report)) == file.sha256:
            return target
        raise FetchFailed(
            f"{target}: is there with sha256 {found}, the Hub's {file.path} has {file.sha256}",
            hint="another model of the same name? move or delete the one you have",
        )
    try:
        path = await fetch_file(
            downloads, url, target, report=report, sha256=file.sha256, headers=headers, prove=is_gguf(url),
            pause_s=pause_s,
        )  # fmt: skip
    except FetchFailed as error:
        raise FetchFailed(error.message, hint=TOKEN_HINT if error.hint == LOGIN_HINT else error.hint) from error
    if file.sha256:
        remember(path, file.sha256)
    return path


async def _listing(
    downloads: Downloads, endpoint: str, name: HubName, headers: Mapping[str, str]
) -> tuple[HubFile, ...]:
    found: list[HubFile] = []
    url: str | None = hf_hub.tree_url(endpoint, name.repo)
    while url is not None:
        async with downloads.open(url, headers=headers) as body:
            _check_answer(name, body.status, endpoint, has_token=bool(headers))
            page = b""
            async for chunk in body.chunks:
                page += chunk
                if len(page) > MOST_LISTING_BYTES:
                    raise FetchFailed(f"{url}: a listing without end")
            try:
                found += hf_hub.read_tree(page)
            except ValueError as error:
                raise FetchFailed(f"{url}: not a listing of files: {error}") from error
            url = body.next_url
            if url is not None and not url.startswith(f"{endpoint.rstrip('/')}/"):
                raise FetchFailed(f"{url}: the listing goes on at another server")
    return tuple(found)


def _check_answer(name: HubName, status: int, endpoint: str, *, has_token: bool) -> None:
    if status == 200:
        return
    if status in (401, 403, 404):
        raise ModelMissing(
            f"hf:{name.repo}: {endpoint} shows no such repository (HTTP {status})",
            hint="the token in HF_TOKEN does not open it: accept its terms on its page, or check the name"
            if has_token
            else "check the name; a private or gated one needs HF_TOKEN",
        )
    raise FetchFailed(f"hf:{name.repo}: {endpoint} answered HTTP {status}", hint="try again later, or set HF_ENDPOINT")


def _gib(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MiB"
