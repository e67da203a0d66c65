"""Stand-in workers on real sockets, visited as a real worker would be."""

import pytest

from evener.dialects.rpc_answers import pretend
from evener.edges.rpc_probe import RpcProbe
from evener.edges.stand_in import StandIns
from evener.errors import EndpointRefused

GIB = 1 << 30


async def test_a_visitor_sees_the_sizes_it_was_given():
    devices = [pretend("cuda", 31 * GIB, 32 * GIB), pretend("cpu", 8 * GIB, 8 * GIB)]
    async with StandIns().serving(devices) as endpoint:
        seen = await RpcProbe().hello(endpoint)
    assert seen.devices == ((31 * GIB, 32 * GIB), (8 * GIB, 8 * GIB))
    assert seen.protocol == "7.0.0"


async def test_several_visitors_are_served_at_once():
    async with StandIns().serving([pretend("cuda", GIB, GIB)]) as endpoint:
        first, second = await RpcProbe().hello(endpoint), await RpcProbe().hello(endpoint)
    assert first == second


async def test_nobody_listens_after_the_block():
    async with StandIns().serving([pretend("cuda", GIB, GIB)]) as endpoint:
        pass
    with pytest.raises(EndpointRefused):
        await RpcProbe().hello(endpoint)
