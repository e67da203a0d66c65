"""What every shell promises, fake or real. A subclass says where the four example programs and the file are.

says    prints "hello" to standard output, "oops" to standard error, exits with 3
echoes  prints its standard input
sticks  never ends
talks   prints "one" and "two", then runs until it is stopped
"""

from __future__ import annotations

import asyncio

import pytest

from evener.errors import HostError
from evener.ports import Shell


class ShellContract:
    """Run against each shell by a subclass with a `shell` fixture."""

    def at(self, name: str) -> str:
        """Where a program or file of this shell is."""
        raise NotImplementedError

    async def test_a_command_comes_back_with_its_output_and_code(self, shell: Shell) -> None:
        done = await shell.run([self.at("says"), "x"], within_s=10)
        assert (done.stdout, done.stderr, done.code) == ("hello\n", "oops\n", 3)
        assert done.argv == (self.at("says"), "x")

    async def test_standard_input_reaches_the_command(self, shell: Shell) -> None:
        assert (await shell.run([self.at("echoes")], within_s=10, stdin=b"abc")).stdout == "abc"

    async def test_a_missing_program_is_an_error_that_names_host_and_program(self, shell: Shell) -> None:
        with pytest.raises(HostError, match=rf"^{shell.host}: .*no-such-program"):
            await shell.run([self.at("no-such-program")], within_s=10)
        with pytest.raises(HostError, match=rf"^{shell.host}: .*no-such-program"):
            await shell.start([self.at("no-such-program")], env={})

    async def test_a_command_that_does_not_end_is_an_error_with_its_deadline(self, shell: Shell) -> None:
        with pytest.raises(HostError, match=r"sticks did not end within 0\.3 s$"):
            await shell.run([self.at("sticks")], within_s=0.3)

    async def test_a_child_has_a_pid_and_tells_its_lines_while_it_runs(self, shell: Shell) -> None:
        child = await shell.start([self.at("talks")], env={})
        try:
            assert child.pid > 1
            lines = child.lines()
            assert [await anext(lines), await anext(lines)] == ["one", "two"]
        finally:
            await child.stop()

    async def test_a_stopped_child_ends_by_sigterm_and_stopping_twice_says_the_same(self, shell: Shell) -> None:
        child = await shell.start([self.at("talks")], env={})
        assert await asyncio.wait_for(child.stop(), 10) == -15
        assert await child.stop() == -15
        assert await child.wait() == -15

    async def test_the_lines_of_a_stopped_child_end(self, shell: Shell) -> None:
        child = await shell.start([self.at("talks")], env={})
        lines = child.lines()
        assert [await anext(lines), await anext(lines)] == ["one", "two"]
        await child.stop()
        assert [line async for line in lines] == []

    async def test_waiting_ends_when_the_child_does(self, shell: Shell) -> None:
        child = await shell.start([self.at("talks")], env={})
        waiting = asyncio.ensure_future(child.wait())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await child.stop()
        assert await asyncio.wait_for(waiting, 5) == -15

    async def test_a_file_is_read_as_far_as_asked(self, shell: Shell) -> None:
        assert await shell.read(self.at("file")) == b"content"
        assert await shell.read(self.at("file"), most_bytes=3) == b"con"

    async def test_a_file_that_is_not_there_is_none(self, shell: Shell) -> None:
        assert await shell.read(self.at("no-such-file")) is None

    async def test_a_program_on_the_path_has_a_place_and_another_has_none(self, shell: Shell) -> None:
        assert (await shell.which("says") or "").endswith("/says")
        assert await shell.which("no-such-program") is None
