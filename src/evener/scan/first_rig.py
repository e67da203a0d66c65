"""The first rig.toml of somebody who has none: this machine as it was seen, and comments that teach the rest. Pure."""

from __future__ import annotations

from evener.records.card import HostSeen

GIB = 1 << 30

TEMPLATE = """\
# rig.toml: the machines that pull together, and the cables between them.
# `evener scan` shows what it makes of this file; `evener rig schema` lists every key.

[[hosts]]
name = "{name}"
connection = "local"             # the first host is the head: llama-server runs there
{seen}
{reserve}
# address = "10.0.0.1"           # with a second machine: its address on the cable between them (never 0.0.0.0:
#                                # RPC has no authentication)
# ports = "50052-50059"          # for its workers
# cards = {{ exclude = ["GT 1030"] }}
# residents = [{{ name = "comfyui", card = "RTX 5060 Ti", mib = 4000 }}]   # known to be there, and allowed

# A second machine, reached by ssh. Take the marks away and put your own names and addresses in.
# [[hosts]]
# name = "beta"
# connection = "ssh"
# ssh = "me@beta.lan"            # anything `ssh` accepts
# address = "10.0.0.2"           # carries RPC
#
# [[links]]                      # what the cable carries; `iperf3` and `ping` tell
# name = "cable"
# between = ["{name}", "beta"]
# gbit_per_s = 4.7
# rtt_us = 250

# [serve]                        # where the team reaches the model; this machine alone unless stated
# host = "192.168.1.10"
# port = 8080
# api_key_env = "EVENER_API_KEY" # the variable that holds the key, never the key itself

# [money]
# currency = "EUR"
# kwh_price = 0.35
"""


def first_rig(host: HostSeen) -> str:
    """The text of a rig.toml with `host` as its only host."""
    cards = [f"#   {card.name}, {_gib(card.total_bytes)} ({card.id})" for card in host.cards]
    display = next((card.name for card in host.cards if card.drives_display), None)
    reserve = (
        f"reserve_mib = 512                # kept free on each card: {display} drives a display"
        if display
        else "# reserve_mib = 512              # kept free on each card, e.g. for a desktop"
    )
    return TEMPLATE.format(name=host.name, seen="\n".join(["# its cards, as seen today:", *cards]), reserve=reserve)


def _gib(count: int | None) -> str:
    return "memory unknown" if count is None else f"{count / GIB:.1f} GiB"
