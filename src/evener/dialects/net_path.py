"""The way from one Linux host to another: the interface its kernel would use, and what that interface is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evener.records.link import Eee, Interface

LOOPBACK = "lo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What `ip route get` says: the interface, and the address that packets leave with."""

    interface: str | None
    source: str | None


def route_query(address: str) -> list[str]:
    return ["ip", "-j", "route", "get", address]


def eee_query(interface: str) -> list[str]:
    return ["ethtool", "--show-eee", interface]


def route(text: str) -> Route:
    """`ip -j route get ADDRESS`; an older `ip` without JSON is read as well."""
    try:
        first = json.loads(text)[0]
        return Route(interface=first.get("dev"), source=first.get("prefsrc"))
    except (ValueError, LookupError, TypeError, AttributeError):
        dev, source = re.search(r"\bdev (\S+)", text), re.search(r"\bsrc (\S+)", text)
        return Route(interface=dev[1] if dev else None, source=source[1] if source else None)


def interface_files(interface: str) -> dict[str, str]:
    """What to read of an interface, by the names that `interface` takes."""
    at = f"/sys/class/net/{interface}"
    return {
        "mtu": f"{at}/mtu", "speed": f"{at}/speed", "duplex": f"{at}/duplex", "uevent": f"{at}/uevent",
        "device": f"{at}/device/uevent",
    }  # fmt: skip


def interface(host: str, route: Route, files: Mapping[str, str], eee: str) -> Interface:
    """Put together what the files and `ethtool --show-eee` say. A virtual interface has no speed, which is unknown."""
    driver = re.search(r"^DRIVER=(\S+)$", files.get("device", ""), re.MULTILINE)
    return Interface(
        host=host,
        name=route.interface,
        source=route.source,
        mtu=_positive(files.get("mtu", "")),
        mbit_per_s=_positive(files.get("speed", "")),
        duplex=_duplex(files.get("duplex", "").strip()),
        wireless="DEVTYPE=wlan" in files.get("uevent", "").split(),
        driver=driver[1] if driver else None,
        eee=read_eee(eee),
    )


def read_eee(text: str) -> Eee | None:
    """`ethtool --show-eee` (either stream); None when it says nothing of it."""
    if "not supported" in text.lower():
        return "not supported"
    found = re.search(r"EEE status: (enabled - active|enabled|disabled|not supported)", text)
    if not found:
        return None
    return "active" if found[1].endswith("active") else "enabled" if found[1] == "enabled" else "disabled"


def _positive(text: str) -> int | None:
    """A cable that is out, and an interface that has none, say -1."""
    return int(text) if text.strip().isdigit() and int(text) else None


def _duplex(text: str) -> Literal["full", "half"] | None:
    return "full" if text == "full" else "half" if text == "half" else None
