"""Tell somebody who is not looking: by a command of theirs, or a POST to a URL. A failure is told, and not raised."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from evener.edges.local_shell import end_family

WITHIN_S = 30.0
TEXT = "{text}"


async def by_command(argv: Sequence[str], text: str, *, within_s: float = WITHIN_S) -> str | None:
    """Run `argv` with `{text}` replaced, or at its end where no word has it. Why that failed, None when it did not.

    It is the user's own command: it has the user's own environment.
    """
    words = [word.replace(TEXT, text) for word in argv]
    if words == list(argv):
        words.append(text)
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return f"{words[0]}: {error.strerror or error}"
    said = b""
    try:
        async with asyncio.timeout(within_s):
            said, _ = await process.communicate()
    except TimeoutError:
        return f"{words[0]} did not end within {within_s:g} s"
    finally:
        if process.returncode is None:
            await end_family(process)
    if process.returncode == 0:
        return None
    last = next((line for line in reversed(said.decode(errors="replace").splitlines()) if line.strip()), "")
    return f"{words[0]} ended with {process.returncode}" + (f": {last}" if last else "")


async def by_post(url: str, data: Mapping[str, str], *, within_s: float = WITHIN_S) -> str | None:
    """POST `data` as JSON. Why that failed, None when it did not. The URL may be a secret, and is in no message."""
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=within_s)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, json=dict(data), allow_redirects=False) as answer,
        ):
            with suppress(aiohttp.ClientError):
                await answer.content.read(1 << 16)
            return None if answer.status < 300 else f"the URL answered HTTP {answer.status}"
    except TimeoutError:
        return f"the URL did not answer within {within_s:g} s"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"the URL cannot be reached: {type(error).__name__}"
