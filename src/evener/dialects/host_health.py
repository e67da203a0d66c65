"""What a Unix host says of the things that slow an engine down or change it: the script that asks, and its answer.

Each line of the answer is a key and a value. What a host cannot say it leaves out: that is unknown. Values of
environment variables are never printed, since they may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# One errand, since each costs a session over ssh. The environment is that of a login shell: what a worker would get
# that somebody starts by hand there.
SCRIPT = r"""
echo "clock $(date +%s)"
exec 2>/dev/null
limited() { if command -v timeout >/dev/null; then timeout "$@"; else shift; "$@"; fi; }
echo "governor $(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor)"
echo "overcommit $(cat /proc/sys/vm/overcommit_memory)"
awk '/^(CommitLimit|Committed_AS):/ {sub(":", "", $1); print $1, $2}' /proc/meminfo
echo "address_space $(ulimit -v)"
awk '/host LOCAL/ {print "address", last} {last = $2}' /proc/net/fib_trie
for p in ss setpriv ip ethtool; do command -v "$p" >/dev/null && echo "program $p"; done
echo "sleep_target $(systemctl is-enabled sleep.target)"
cat /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf | sed -n 's/^ *IdleAction *= */idle_action /p'
power=org.gnome.settings-daemon.plugins.power
echo "gnome_sleep $(limited 1 gsettings get "$power" sleep-inactive-ac-type)"
echo "gnome_sleep_after $(limited 1 gsettings get "$power" sleep-inactive-ac-timeout)"
login=$(getent passwd "$(id -u)" | cut -d: -f7)
env=$(cat /etc/environment; limited 3 "${login:-sh}" -l -c env </dev/null)
said() { printf '%s\n' "$env" | sed -n "s/^$1=//p" | tail -n 1; }
printf '%s\n' "$env" | sed -nE 's/^(export )?([A-Z]+_[A-Z0-9_]+)=.*/variable \2/p'
config=$(said XDG_CONFIG_HOME)
for f in /etc/llama.cpp/config.ini "${config:-$HOME/.config}/llama.cpp/config.ini"; do
  [ -e "$f" ] && echo "config $f"
done
cache=$(said LLAMA_CACHE)
if [ -z "$cache" ]; then cache=$(said XDG_CACHE_HOME) && cache=${cache:-$HOME/.cache}/llama.cpp; fi
if [ -d "$cache/rpc" ]; then
  echo "cache $cache/rpc"
  echo "cache_kib $(limited 2 du -sk "$cache/rpc" | cut -f1)"
  df -Pk "$cache/rpc" | awk 'NR == 2 {print "cache_free_kib", $4}'
fi
echo "end of it"
"""
KIB = 1 << 10
# They choose devices or options; of GGML_* one only says how a crash is told, and evener sets it itself.
OF_ENGINE = re.compile(r"(LLAMA_ARG|GGML|HIP_VISIBLE|ROCR_VISIBLE|GPU_DEVICE)_\w+|CUDA_(VISIBLE_DEVICES|DEVICE_ORDER)")
HARMLESS = "GGML_NO_BACKTRACE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What one host said. None and empty: it did not say, or there is nothing to say.

    `clock_s` counts from 1970, in whole seconds. `sleeps` says in words what will put the host to sleep.
    `commit_left_bytes` is what may still be promised where the kernel promises no more than it has.
    """

    clock_s: int | None = None
    governor: str | None = None
    commit_left_bytes: int | None = None
    address_space_bytes: int | None = None
    addresses: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()
    sleeps: str | None = None
    variables: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    cache: str | None = None
    cache_bytes: int | None = None
    cache_free_bytes: int | None = None


def read(text: str) -> Health | None:
    """The answer of SCRIPT; None where it is none, or was cut short."""
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if value:
            said.setdefault(key, []).append(value.strip())
    if "end" not in said:
        return None
    return Health(
        clock_s=_whole(said, "clock"),
        governor=_last(said, "governor"),
        commit_left_bytes=_commit_left(said),
        address_space_bytes=_kib(said, "address_space"),
        addresses=frozenset(said.get("address", ())),
        programs=frozenset(said.get("program", ())),
        sleeps=_sleeps(said),
        variables=engine_variables(said.get("variable", ())),
        configs=tuple(dict.fromkeys(said.get("config", ()))),
        cache=_last(said, "cache"),
        cache_bytes=_kib(said, "cache_kib"),
        cache_free_bytes=_kib(said, "cache_free_kib"),
    )


def engine_variables(names: Iterable[str]) -> tuple[str, ...]:
    """Those of these variables that would change an engine."""
    return tuple(sorted({name for name in names if OF_ENGINE.fullmatch(name) and name != HARMLESS}))


def _commit_left(said: dict[str, list[str]]) -> int | None:
    limit, promised = _kib(said, "CommitLimit"), _kib(said, "Committed_AS")
    if _last(said, "overcommit") != "2" or limit is None or promised is None:
        return None
    return max(0, limit - promised)


def _sleeps(said: dict[str, list[str]]) -> str | None:
    """Masked targets let nothing sleep, whatever else is set."""
    if _last(said, "sleep_target") == "masked":
        return None
    if (action := _last(said, "idle_action")) and action.lower() not in ("ignore", "lock"):
        return f"logind: IdleAction={action}"
    kind, after = (_last(said, "gnome_sleep") or "").strip("'"), _whole(said, "gnome_sleep_after")
    if kind in ("suspend", "hibernate") and after != 0:
        when = "" if after is None else f" after {after // 60} min without anybody at it"
        return f"GNOME: {kind}{when}"
    return None


def _last(said: dict[str, list[str]], key: str) -> str | None:
    return said[key][-1] if key in said else None


def _whole(said: dict[str, list[str]], key: str) -> int | None:
    """gsettings puts the type before the number."""
    number = (_last(said, key) or "").rpartition(" ")[2]
    return int(number) if number.isdigit() else None


def _kib(said: dict[str, list[str]], key: str) -> int | None:
    count = _whole(said, key)
    return None if count is None else count * KIB
