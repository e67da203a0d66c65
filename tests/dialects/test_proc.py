"""What a Linux host says of itself, against captured lines."""

from __future__ import annotations

from evener.dialects import proc

MEMINFO = """MemTotal:       24684092 kB
MemFree:        23146680 kB
MemAvailable:   24014348 kB
Buffers:           24900 kB
Active(anon):       1556 kB
"""
CPUINFO = """processor\t: 0
model name\t: AMD EPYC
physical id\t: 0
siblings\t: 2
core id\t\t: 0

processor\t: 1
model name\t: AMD EPYC
physical id\t: 0
siblings\t: 2
core id\t\t: 0

processor\t: 2
model name\t: AMD EPYC
physical id\t: 1
core id\t\t: 0
"""
RASPBERRY_PI = """processor\t: 0
BogoMIPS\t: 108.00
CPU part\t: 0xd0b

processor\t: 1
BogoMIPS\t: 108.00
CPU part\t: 0xd0b

Model\t\t: Raspberry Pi 5 Model B
"""
STAT = "4321 (llama (a) server) S 1 4321 4321 0 -1 4194304 121 0 0 0 0 0 0 0 20 0 1 0 135165 3133440 390"
UNLIMITED_V1 = "9223372036854771712\n"


def test_available_memory_is_not_free_memory() -> None:
    seen = proc.memory(MEMINFO)
    assert (seen.total_bytes, seen.available_bytes) == (24684092 * 1024, 24014348 * 1024)


def test_a_kernel_that_does_not_tell_available_memory_leaves_it_unknown() -> None:
    assert proc.memory("MemTotal: 1000 kB\nMemFree: 500 kB\n").available_bytes is None


def test_cores_are_physical_and_threads_are_not() -> None:
    assert proc.cpu(CPUINFO) == proc.Cpu(model="AMD EPYC", cores=2, threads=3)


def test_a_processor_that_tells_no_cores_has_unknown_cores() -> None:
    assert proc.cpu(RASPBERRY_PI) == proc.Cpu(model=None, cores=None, threads=2)


def test_a_walk_over_all_processes_keeps_kernel_threads_without_memory() -> None:
    walk = (
        "/proc/1/status:Name:\tsystemd\n/proc/1/status:Uid:\t0\t0\t0\t0\n/proc/1/status:VmRSS:\t   12740 kB\n"
        "/proc/2/status:Name:\tkthreadd\n/proc/2/status:Uid:\t0\t0\t0\t0\n"
    )
    first, kernel = proc.processes(walk)
    assert (first.name, first.uid, first.rss_bytes) == ("systemd", 0, 12740 * 1024)
    assert kernel.rss_bytes is None


def test_age_survives_a_name_with_spaces_and_parentheses() -> None:
    assert proc.age_s(STAT, "1451.65 1209.34\n") == 100.0


def test_age_of_a_process_that_has_gone_is_unknown() -> None:
    assert proc.age_s("", "1451.65 1209.34\n") is None


def test_a_command_line_is_shown_without_control_characters() -> None:
    assert proc.command(b"llama-server\0-m\0a b.gguf\0") == "llama-server -m a b.gguf"
    assert proc.command(b"evil\x1b[2J\nname\0") == "evil [2J name"
    assert proc.command(b"") is None


def test_the_disk_line_is_the_one_with_a_mount_point() -> None:
    df = (
        "Filesystem     1024-blocks     Used Available Capacity Mounted on\n"
        "/dev/mapper/vg-root volume   103081248 21000000  76800000      22% /home/my disk\n"
    )
    assert proc.disk_free_bytes(df) == 76800000 * 1024
    assert proc.disk_free_bytes("df: /nowhere: No such file or directory\n") is None


def test_names_come_from_passwd_and_the_system_from_os_release() -> None:
    assert proc.users("root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n")[1000] == "anna"
    assert (
        proc.system('NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n') == "Debian GNU/Linux 12 (bookworm)"
    )
    assert proc.system("") is None


def test_every_level_of_a_version_2_group_may_limit_us() -> None:
    files = proc.cgroup_files("0::/user.slice/app.scope\n")
    assert [f.limit for f in files] == [
        "/sys/fs/cgroup/user.slice/app.scope/memory.max",
        "/sys/fs/cgroup/user.slice/memory.max",
        "/sys/fs/cgroup/memory.max",
    ]


def test_version_1_is_used_where_it_has_the_memory_controller() -> None:
    files = proc.cgroup_files("9:name=systemd:/\n4:memory:/box\n0::/\n")
    assert [f.limit for f in files] == [
        "/sys/fs/cgroup/memory/box/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]


def test_a_limit_below_the_hosts_memory_is_what_there_is() -> None:
    host = proc.Memory(total_bytes=1000, available_bytes=900)
    limited = proc.within_cgroup(host, limit="600\n", usage="500\n", stat="anon 300\ninactive_file 150\n")
    assert limited == proc.Memory(total_bytes=600, available_bytes=250)


def test_no_limit_changes_nothing() -> None:
    host = proc.Memory(total_bytes=1000, available_bytes=900)
    assert proc.within_cgroup(host, limit="max\n", usage="500\n", stat="") == host
    assert proc.within_cgroup(host, limit=UNLIMITED_V1, usage="500\n", stat="") == host
