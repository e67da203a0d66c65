"""The log of a child is read on, whatever happens to its file."""

from __future__ import annotations

import asyncio
import errno
import io

from evener.edges.local_shell import LocalShell
from evener.launch.children import started
from evener.records.plan import Command


class FullDisk(io.StringIO):
    name = "/full/disk.log"

    def write(self, _text):
        raise OSError(errno.ENOSPC, "No space left on device")


def printing(script):
    return Command(host="alpha", argv=("/bin/sh", "-c", script), env={}, listen="127.0.0.1:1")


async def test_a_full_disk_does_not_stop_the_engine():
    # Far more than a pipe holds: whoever stops reading stops the child.
    script = "i=0; while [ $i -lt 20000 ]; do echo a-line-of-some-length-that-fills-the-pipe-soon; i=$((i+1)); done"
    async with started("worker", printing(script), LocalShell("alpha"), lambda *_: FullDisk(), secrets={}) as running:
        assert await asyncio.wait_for(running.child.wait(), 30) == 0
    assert running.unwritten == "No space left on device"


async def test_last_words_are_kept(tmp_path):
    def open_log(_host, name):
        return (tmp_path / name).open("w")

    script = "trap 'echo last words; exit 0' TERM; echo first; while :; do sleep 0.05; done"
    async with started("worker", printing(script), LocalShell("alpha"), open_log, secrets={}) as running:
        while "first" not in running.last:
            await asyncio.sleep(0.02)
    assert (tmp_path / "worker-1").read_text() == "first\nlast words\n"
