"""What a host tells of itself once a second: the scripts that it runs, and their answers. Knows no rates: one moment.

A moment is a block of lines, each a key and values, that ends with "tick". nvidia-smi's rows stand between the blocks,
at moments of their own (`nvidia_smi.watch_query`). What a host cannot say it leaves out: that is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from evener.dialects import amd, apple, proc
from evener.dialects.proc import Memory
from evener.records.telemetry import CardSample

# One process per host, and two that it starts where nvidia-smi is: the driver is opened once. Files are read by the
# shell itself, which forks only to sleep. $1 seconds between two moments, $2 interfaces that carry a link, $3 fields
# and $4 milliseconds of nvidia-smi (empty: there is none). SIGPIPE is ignored on a leash, so an unread line ends it.
LINUX = r"""
exec 2>/dev/null
every=$1 carry=$2 fields=$3 smi_ms=$4
say() { printf '%s\n' "$*"; }
get() { v=; read -r v <"$1"; [ -n "$v" ]; }
mortal() { if setpriv --pdeathsig KILL true; then exec setpriv --pdeathsig KILL "$@"; else exec "$@"; fi; }
smi= who= nap=
end() { trap '' TERM INT HUP; kill $smi $who $nap; exit 0; }
trap end TERM INT HUP
smi_start() {
  mortal nvidia-smi --query-gpu="$fields" --format=csv,noheader,nounits -lms "$smi_ms" </dev/null & smi=$!
  mortal nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory --format=csv,noheader,nounits \
    -l 5 </dev/null & who=$!
}
get /proc/sys/kernel/random/boot_id && boot=$v && get /proc/sys/kernel/hostname && say "boot $boot@$v"
heat=
for d in /sys/class/hwmon/hwmon*; do
  get "$d/name" || continue
  case $v in coretemp|k10temp|zenpower|cpu_thermal|soc_thermal) [ -z "$heat" ] && heat=$d/temp1_input ;; esac
done
for d in /sys/class/thermal/thermal_zone*; do
  get "$d/type" || continue
  case $v in x86_pkg_temp|*cpu*|*CPU*|soc*) [ -z "$heat" ] && heat=$d/temp ;; esac
done
nics=
for d in /sys/class/net/*; do
  n=${d##*/}
  case " $carry " in *" $n "*) nics="$nics $n" ;; *) [ -e "$d/device" ] && nics="$nics $n" ;; esac
done
if [ -z "$nics" ]; then
  for d in /sys/class/net/*; do case ${d##*/} in lo) ;; *) nics="$nics ${d##*/}" ;; esac; done
fi
for d in /sys/class/kfd/kfd/topology/nodes/*; do
  get "$d/gpu_id" && [ "$v" != 0 ] || continue
  id=$v
  while read -r key value; do case $key in location_id|domain) say "kfd $id $key $value" ;; esac; done <"$d/properties"
done
[ -n "$fields" ] && smi_start
round=0 smi_gone=0
while :; do
  read -r clock _ </proc/uptime && say "clock $clock"
  get /proc/stat && say "$v"
  while read -r key value _; do
    case $key in MemTotal:) say "total $value" ;; MemAvailable:) say "available $value"; break ;; esac
  done </proc/meminfo
  read -r load _ </proc/loadavg && say "load $load"
  [ -n "$heat" ] && get "$heat" && say "heat $v"
  get /sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count && say "throttled $v"
  for d in /sys/class/powercap/intel-rapl:?; do get "$d/energy_uj" && say "rapl ${d##*:} $v"; done
  for n in $nics; do
    get "/sys/class/net/$n/statistics/rx_bytes" && rx=$v && get "/sys/class/net/$n/statistics/tx_bytes" &&
      say "nic $n $rx $v"
  done
  for f in /sys/bus/pci/devices/*/mem_info_vram_total; do
    [ -e "$f" ] || continue
    d=${f%/*} line="amd ${d##*/}"
    for f in "$d"/gpu_busy_percent "$d"/mem_info_vram_used "$d"/mem_info_vram_total "$d"/hwmon/hwmon*/power1_average \
      "$d"/hwmon/hwmon*/power1_input "$d"/hwmon/hwmon*/power1_cap "$d"/hwmon/hwmon*/temp1_input \
      "$d"/hwmon/hwmon*/freq1_input "$d"/hwmon/hwmon*/freq2_input; do
      get "$f" && line="$line ${f##*/}=$v"
    done
    say "$line"
  done
  if [ "$((round % 10))" -eq 0 ]; then
    say "bigs"
    grep -sE '^VmRSS:[^0-9]+[0-9]{7,} kB' /proc/[0-9]*/status | while IFS=: read -r path _ kib; do
      pid=${path#/proc/}; pid=${pid%/status}
      get "/proc/$pid/comm" && say "big $pid ${kib% kB} $v"
    done
    if [ -d /sys/class/kfd/kfd/proc ]; then
      say "kfds"
      grep -Hs . /sys/class/kfd/kfd/proc/*/vram_*
    fi
  fi
  for pid in $$ $smi $who; do get "/proc/$pid/stat" && say "mine $v"; done
  if [ -n "$smi" ] && ! kill -0 "$smi"; then
    [ "$smi_gone" -eq 0 ] && say "gone nvidia-smi"
    smi_gone=$((smi_gone + 1))
    if [ "$smi_gone" -ge 10 ]; then kill "$who"; smi_gone=0; smi_start; fi
  fi
  say tick || end
  round=$((round + 1))
  sleep "$every" >/dev/null & nap=$!
  wait "$nap"
done
"""
# macOS has no files for this. What costs root (power, temperature) or much (processor time) is left out.
MAC = r"""
exec 2>/dev/null
nap=
end() { trap '' TERM INT HUP; kill $nap; exit 0; }
trap end TERM INT HUP
echo "boot $(sysctl -n kern.bootsessionuuid)"
while :; do
  echo "load $(sysctl -n vm.loadavg | tr -d '{}')"
  sysctl hw.memsize
  vm_stat
  netstat -ibn
  ioreg -r -d 1 -w 0 -c IOAccelerator | grep PerformanceStatistics
  echo tick || end
  sleep "$1" >/dev/null & nap=$!
  wait "$nap"
done
"""
MICRO, MILLI, MHZ = 1e-6, 1e-3, 1e-6
# "guest" and "guest_nice", the last two, are counted in "user" and "nice" already.
STATES, IDLE = 8, (3, 4)  # user nice system idle iowait irq softirq steal


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Who holds memory: a pid, and how much."""

    pid: int
    bytes: int | None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One block. Counters count from the host's start; None and empty are what it did not say.

    `busy_ticks` of `all_ticks` is processor time of all processors. `big` are processes with about 1 GB and more, None
    in a block that did not look; `kfd` likewise those on AMD cards, by the kernel's number of the card. `mine_s` is
    processor time that watching itself has cost. `gone` names a driver tool that has ended.
    """

    boot: str | None = None
    clock_s: float | None = None
    busy_ticks: int | None = None
    all_ticks: int | None = None
    memory: Memory = Memory(total_bytes=None, available_bytes=None)  # noqa: RUF009 - frozen
    load_1m: float | None = None
    temperature_c: float | None = None
    throttled: int | None = None
    rapl_uj: Mapping[str, int] = field(default_factory=dict)
    nics: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    radeons: tuple[CardSample, ...] = ()
    metal: CardSample | None = None
    kfd_bus: Mapping[str, str] = field(default_factory=dict)  # the kernel's number -> bus id
    big: tuple[Held, ...] | None = None
    kfd: tuple[tuple[str, Held], ...] | None = None
    mine_s: float | None = None
    gone: tuple[str, ...] = ()


def moment(lines: Iterable[str]) -> Moment:
    """Read a block of either script, its "tick" left out."""
    text = "\n".join(lines)
    said: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        said.setdefault(key, []).append(value.strip())
    busy, total = _processors(_last(said, "cpu"))
    return Moment(
        boot=_last(said, "boot"),
        clock_s=_number(_last(said, "clock")),
        busy_ticks=busy,
        all_ticks=total,
        memory=_memory(said, text),
        load_1m=_number((_last(said, "load") or "").split(" ")[0]),
        temperature_c=_scaled(_last(said, "heat"), MILLI),
        throttled=_whole(_last(said, "throttled")),
        rapl_uj={at: int(uj) for at, uj in _pairs(said.get("rapl", ())) if uj.isdigit()},
        nics=_nics(said, text),
        radeons=tuple(radeon(line) for line in said.get("amd", ()) if line),
        metal=apple.watched(text),
        kfd_bus=_kfd_bus(said.get("kfd", ())),
        big=tuple(_big(said.get("big", ()))) if "bigs" in said else None,
        kfd=_kfd(text) if "kfds" in said else None,
        mine_s=_mine_s(said.get("mine", ())),
        gone=tuple(said.get("gone", ())),
    )


def radeon(line: str) -> CardSample:
    """The kernel's files of an AMD card: "BUS file=value ...". Power in µW, temperature in m°C, clocks in Hz."""
    bus, *words = line.split()
    files = dict(word.partition("=")[::2] for word in words)
    return CardSample(
        card=bus,
        name="AMD GPU",
        utilisation_percent=_number(files.get("gpu_busy_percent")),
        memory_used_bytes=_whole(files.get("mem_info_vram_used")),
        memory_total_bytes=_whole(files.get("mem_info_vram_total")),
        power_w=_scaled(files.get("power1_average") or files.get("power1_input"), MICRO),
        power_limit_effective_w=_scaled(files.get("power1_cap"), MICRO),
        temperature_c=_scaled(files.get("temp1_input"), MILLI),
        clock_mhz=_scaled(files.get("freq1_input"), MHZ),
        memory_clock_mhz=_scaled(files.get("freq2_input"), MHZ),
    )


def _processors(line: str | None) -> tuple[int | None, int | None]:
    ticks = [int(word) for word in (line or "").split()[:STATES] if word.isdigit()]
    if len(ticks) < STATES:
        return None, None
    return sum(ticks) - sum(ticks[i] for i in IDLE), sum(ticks)


def _memory(said: Mapping[str, list[str]], text: str) -> Memory:
    total, available = _whole(_last(said, "total")), _whole(_last(said, "available"))
    if total is None:
        return apple.memory(apple.facts(text), text, "")
    return Memory(total_bytes=total * proc.KIB, available_bytes=None if available is None else available * proc.KIB)


def _nics(said: Mapping[str, list[str]], text: str) -> dict[str, tuple[int, int]]:
    found = {}
    for line in said.get("nic", ()):
        words = line.split()
        if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
            found[words[0]] = (int(words[1]), int(words[2]))
    return found or apple.interfaces(text)


def _big(lines: Iterable[str]) -> Iterable[Held]:
    for line in lines:
        words = line.split(maxsplit=2)
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            yield Held(pid=int(words[0]), bytes=int(words[1]) * proc.KIB, name=words[2])


def _kfd(text: str) -> tuple[tuple[str, Held], ...]:
    """The kernel's count by card and process. Opening the driver is not holding memory."""
    return tuple((gpu, Held(pid=pid, bytes=held)) for gpu, pid, held in amd.parse_kfd(text) if held)


def _kfd_bus(lines: Iterable[str]) -> dict[str, str]:
    """Bus ids by the kernel's number of a card: location_id is bus << 8 | device << 3 | function."""
    parts: dict[str, dict[str, int]] = {}
    for line in lines:
        words = line.split()
        if len(words) == 3 and words[2].isdigit():
            parts.setdefault(words[0], {})[words[1]] = int(words[2])
    return {
        gpu: f"{at.get('domain', 0):04x}:{where >> 8:02x}:{where >> 3 & 31:02x}.{where & 7}"
        for gpu, at in parts.items()
        if (where := at.get("location_id")) is not None
    }


def _mine_s(stats: Iterable[str]) -> float | None:
    """Own time and that of ended children: fields 14 to 17 of /proc/PID/stat."""
    ticks = [word for stat in stats for word in stat.rpartition(")")[2].split()[11:15]]
    return sum(map(int, ticks)) / proc.TICKS_PER_S if ticks and all(t.isdigit() for t in ticks) else None


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        words = line.split()
        if len(words) == 2:
            yield words[0], words[1]


def _last(said: Mapping[str, list[str]], key: str) -> str | None:
    return said[key][-1] if key in said else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\d+(\.\d+)?", text) else None


def _scaled(text: str | None, by: float) -> float | None:
    """Below zero is a temperature too."""
    return round(int(text) * by, 6) if text is not None and re.fullmatch(r"-?\d+", text) else None
