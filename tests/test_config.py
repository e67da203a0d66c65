"""rig.toml at the door: what it means, and every fault with its key."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from evener import config
from evener.errors import ConfigurationError, RigFileError
from evener.records.rig import CardRules, Link, Money, Resident, Serve, StatedCard

EVERY_KEY = """
[serve]
host = "192.168.1.10"
port = 8080
api_key_env = "EVENER_API_KEY"

[[hosts]]
name = "alpha"
connection = "local"
address = "10.0.0.1"
ports = "50052-50059"
reserve_mib = 512
residents = [{ name = "comfyui", card = "RTX 5060 Ti", mib = 4000 }]

[[hosts]]
name = "beta"
connection = "ssh"
ssh = "me@beta.lan"
address = "10.0.0.2"
engine = "~/llama.cpp/bin"
models = "/data/models"
cards = { exclude = ["GT 1030"], include = ["RTX"], capacity_mib = { "RTX 5080" = 12000 } }

[[hosts]]
name = "windows-box"
connection = "endpoint"
endpoints = ["10.0.0.3:50052"]

[[hosts]]
name = "maybe-next-year"
connection = "stated"
cards = [{ model = "RTX 5080", price = 1100 }, { model = "RTX 5060 Ti 16GB" }]
ram_gib = 64
ram_gb_per_s = 89.6

[[links]]
name = "5gbe"
between = ["alpha", "beta"]
gbit_per_s = 4.7
rtt_us = 250

[[links]]
name = "tb5"
between = ["alpha", "beta"]
addresses = { alpha = "10.1.0.1", beta = "10.1.0.2" }
preset = "thunderbolt5"
tunnel = true

[money]
currency = "EUR"
kwh_price = 0.35
"""
HEAD = '[[hosts]]\nname = "alpha"\nconnection = "local"\n'
TWO = HEAD + '[[hosts]]\nname = "beta"\nconnection = "ssh"\nssh = "beta"\naddress = "10.0.0.2"\n'


def faults(text: str) -> dict[str, str]:
    with pytest.raises(RigFileError) as caught:
        config.parse_rig(text, path="rig.toml")
    return dict(caught.value.faults)


def fault(text: str, key: str) -> str:
    found = faults(text)
    assert key in found, found
    return found[key]


def test_every_key_of_the_design_is_read() -> None:
    rig = config.parse_rig(EVERY_KEY, path="rig.toml")
    alpha, beta, windows, stated = rig.hosts
    assert rig.serve == Serve(host="192.168.1.10", port=8080, api_key_env="EVENER_API_KEY")
    assert rig.money == Money(currency="EUR", kwh_price=0.35)
    assert (alpha.address, alpha.ports, alpha.reserve_bytes) == ("10.0.0.1", (50052, 50059), 512 << 20)
    assert alpha.residents == (Resident(name="comfyui", card="RTX 5060 Ti", bytes=4000 << 20),)
    assert (beta.ssh, beta.engine, beta.models) == ("me@beta.lan", "~/llama.cpp/bin", "/data/models")
    assert beta.cards == CardRules(include=("RTX",), exclude=("GT 1030",), capacity_bytes=(("RTX 5080", 12000 << 20),))
    assert windows.endpoints == ("10.0.0.3:50052",)
    assert stated.stated == (StatedCard(model="RTX 5080", price=1100.0), StatedCard(model="RTX 5060 Ti 16GB"))
    assert (stated.ram_bytes, stated.ram_gb_per_s) == (64 << 30, 89.6)
    assert rig.links[0] == Link(name="5gbe", between=("alpha", "beta"), gbit_per_s=4.7, rtt_us=250.0)
    assert rig.links[1].addresses == (("alpha", "10.1.0.1"), ("beta", "10.1.0.2"))
    assert (rig.links[1].preset, rig.links[1].tunnel) == ("thunderbolt5", True)


def test_one_host_needs_a_name_and_a_connection_and_no_address() -> None:
    rig = config.parse_rig(HEAD, path="rig.toml")
    assert (rig.head.name, rig.head.address, rig.head.ports) == ("alpha", None, (50052, 50059))


def test_a_host_without_an_address_carries_rpc_over_its_link() -> None:
    text = HEAD + '[[hosts]]\nname = "beta"\nconnection = "ssh"\nssh = "beta"\n'
    link = '[[links]]\nname = "tb"\nbetween = ["alpha", "beta"]\naddresses = { beta = "10.1.0.2" }\n'
    assert config.parse_rig(text + link, path="rig.toml").hosts[1].address == "10.1.0.2"
    assert "required" in fault(text, "hosts[1].address")


def test_all_faults_are_told_at_once_each_with_its_key() -> None:
    text = """
[[hosts]]
name = "alpha"
connection = "local"
ports = "50059-50052"
adress = "10.0.0.1"
[[hosts]]
name = "alpha"
connection = "sssh"
[[hosts]]
connection = "endpoint"
endpoints = ["10.0.0.3"]
[[links]]
name = "l"
between = ["alpha", "gamma"]
gbit_per_s = -1
[serv]
"""
    assert faults(text) == {
        "hosts[0].ports": '"50059-50052" runs backwards',
        "hosts[0].adress": 'unknown key; did you mean "address"?',
        "hosts[1].connection": '"sssh" is none of local, ssh, endpoint, stated; did you mean "ssh"?',
        "hosts[1].name": '"alpha" is the name of hosts[0] already',
        "hosts[2].name": "is required",
        "hosts[2].endpoints[0]": '"10.0.0.3" must be "address:port", such as "10.0.0.3:50052"',
        "links[0].gbit_per_s": "must be greater than 0",
        "links[0].between": 'no host is called "gamma"',
        "serv": 'unknown key; did you mean "serve"?',
    }


def test_the_message_is_one_line_with_path_keys_and_a_hint() -> None:
    with pytest.raises(RigFileError) as caught:
        config.parse_rig("[[hosts]]\nname = 'a'\nconnection = 'local'\nport = 1\n", path="my.toml")
    assert caught.value.message == 'my.toml: hosts[0].port: unknown key; did you mean "ports"?'
    assert caught.value.hint == "`evener rig schema` lists every key"
    assert caught.value.exit_code == 2


def test_a_syntax_error_is_told_with_its_line() -> None:
    assert faults('[[hosts]]\nname = "a"\nports =\n') == {"line 3": "not TOML: Invalid value"}


def test_an_empty_file_lacks_its_hosts() -> None:
    assert faults("") == {"hosts": "is required"}


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ('address = "0.0.0.0"', "hosts[0].address", "RPC has no authentication"),
        ('address = "::"', "hosts[0].address", "RPC has no authentication"),
        ('address = "fd00::1"', "hosts[0].address", "IPv6"),
        ('address = "[fd00::1]"', "hosts[0].address", "IPv6"),
        ('address = "10.0.0.1:50052"', "hosts[0].address", "has a port"),
        ('address = "10.0.0.256"', "hosts[0].address", "not an IPv4 address"),
        ('address = "a b"', "hosts[0].address", "neither an IPv4 address nor a host name"),
        ('ports = "80-90"', "hosts[0].ports", "between 1024 and 65535"),
        ('ports = "all"', "hosts[0].ports", "must be a range"),
        ("ports = 50052", "hosts[0].ports", "must be text"),
        ('ports = "50052-50052"\ncards = { include = ["a", "b"] }', "hosts[0].ports", "fewer ports"),
        ('reserve_mib = "512"', "hosts[0].reserve_mib", "must be a whole number"),
        ("reserve_mib = -1", "hosts[0].reserve_mib", "greater than or equal to 0"),
        ('ssh = "me@a"', "hosts[0].ssh", 'no meaning where connection = "local"; it belongs to ssh'),
        ('cards = [{ model = "RTX 5080" }]', "hosts[0].cards", "must be a table"),
        ("cards = { excluded = [] }", "hosts[0].cards.excluded", 'did you mean "exclude"?'),
        ("cards = { capacity_mib = { x = 0 } }", "hosts[0].cards.capacity_mib.x", "greater than 0"),
        ("residents = [{ nam = 'x', card = 'c', mib = 1 }]", "hosts[0].residents[0].nam", 'did you mean "name"?'),
        ("[serve]\nport = 50055", "serve.port", "lies in hosts[0].ports (50052-50059)"),
        ("[serve]\napi_key_env = 'A'\napi_key_file = 'b'", "serve.api_key_file", "which of the two"),
        ("[money]\nkwh_price = -1", "money.kwh_price", "greater than or equal to 0"),
        ("[money]\nkwh_price = nan", "money.kwh_price", "must be a finite number"),
    ],
)
def test_a_fault_of_one_key_names_the_key_and_the_reason(line: str, key: str, says: str) -> None:
    assert says in fault(HEAD + line + "\n", key)


def test_the_head_cannot_be_an_endpoint() -> None:
    text = '[[hosts]]\nname = "w"\nconnection = "endpoint"\nendpoints = ["10.0.0.3:50052"]\n'
    assert "llama-server runs" in fault(text, "hosts[0].connection")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.1.1", "localhost", "10.0.0.1", socket.gethostname()])
def test_the_head_is_not_listed_beside_itself_as_an_endpoint(address: str) -> None:
    endpoint = f'[[hosts]]\nname = "w"\nconnection = "endpoint"\nendpoints = ["{address}:50052"]\n'
    assert "is the head itself" in fault(HEAD + 'address = "10.0.0.1"\n' + endpoint, "hosts[1].endpoints[0]")


def test_one_worker_under_two_spellings_is_refused() -> None:
    endpoint = '[[hosts]]\nname = "w"\nconnection = "endpoint"\nendpoints = ["Gamma.lan:50052", "gamma.lan:50052"]\n'
    assert "serves one client" in fault(HEAD + endpoint, "hosts[1].endpoints[1]")


def test_two_hosts_of_one_machine_need_ports_of_their_own() -> None:
    second = '[[hosts]]\nname = "beta"\nconnection = "local"\naddress = "{}"\nports = "{}"\n'
    assert "overlaps hosts[0].ports (50052-50059)" in fault(
        HEAD + second.format("127.0.0.1", "50059-50060"), "hosts[1].ports"
    )
    assert "overlaps" in fault(HEAD + second.format("localhost", "50059-50060"), "hosts[1].ports")
    config.parse_rig(HEAD + second.format("127.0.0.1", "50060-50069"), path="")
    config.parse_rig(HEAD + second.format("127.0.0.2", "50052-50059"), path="")


def test_two_machines_without_common_address_may_use_the_same_ports() -> None:
    assert config.parse_rig(TWO, path="").hosts[1].ports == (50052, 50059)


def test_a_link_joins_two_different_known_hosts() -> None:
    link = '[[links]]\nname = "l"\nbetween = ["alpha", "{}"]\n'
    assert 'did you mean "beta"?' in fault(TWO + link.format("betta"), "links[0].between")
    assert "with itself" in fault(TWO + link.format("alpha"), "links[0].between")
    assert "not one of the two" in fault(
        TWO + link.format("beta") + 'addresses = { gamma = "10.0.0.9" }\n', "links[0].addresses.gamma"
    )


def test_a_fault_elsewhere_in_a_host_does_not_hide_faults_between_hosts() -> None:
    text = HEAD + '[[hosts]]\nname = "w"\nconnection = "endpoint"\nendpoints = ["127.0.0.1:50052"]\nprice = 3\n'
    assert set(faults(text)) == {"hosts[1].price", "hosts[1].endpoints[0]"}


@pytest.mark.parametrize("text", ["hosts = 3", "hosts = [3]", "links = 'x'", "serve = 1", "[[hosts]]\nname = 3"])
def test_tables_of_the_wrong_kind_are_faults_and_no_crash(text: str) -> None:
    assert faults(text)


def test_the_schema_describes_every_key() -> None:
    schema = config.rig_schema()
    tables = [schema, *schema["$defs"].values()]
    undescribed = [
        f"{table.get('title')}.{key}"
        for table in tables
        for key, value in table["properties"].items()
        if "description" not in value and key != "connection"
    ]
    assert undescribed == []
    json.dumps(schema)


def test_the_rig_file_is_looked_for_where_the_user_says_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, here = tmp_path / "state", tmp_path / "here"
    state.mkdir(), here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("EVENER_RIG", raising=False)
    assert config.find_rig(None, state=state) is None
    (state / "rig.toml").write_text(HEAD)
    assert config.find_rig(None, state=state) == state / "rig.toml"
    (here / "rig.toml").write_text(HEAD)
    assert config.find_rig(None, state=state) == Path("rig.toml")
    monkeypatch.setenv("EVENER_RIG", "/from/environment.toml")
    assert config.find_rig(None, state=state) == Path("/from/environment.toml")
    assert config.find_rig("/said.toml", state=state) == Path("/said.toml")


def test_a_rig_file_that_is_named_and_absent_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RigFileError, match="no such file") as caught:
        config.load_rig(tmp_path / "none.toml")
    assert caught.value.hint == "`evener scan --init` writes a first one"


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RigFileError, match="cannot be read"):
        config.load_rig(tmp_path / "rig.toml")


def test_the_key_comes_from_the_named_variable() -> None:
    serve = Serve(api_key_env="TEAM_KEY")
    assert config.api_key(serve, environ={"TEAM_KEY": "secret"}) == "secret"
    with pytest.raises(ConfigurationError, match=r"\$TEAM_KEY is not set"):
        config.api_key(serve, environ={})
    assert config.api_key(Serve(), environ={}) is None


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("secret\n")
    file.chmod(0o600)
    assert config.api_key(Serve(api_key_file=str(file))) == "secret"
    file.chmod(0o640)
    with pytest.raises(ConfigurationError, match="mode 0640") as caught:
        config.api_key(Serve(api_key_file=str(file)))
    assert caught.value.hint == f"chmod 600 {file}"
    file.write_text("")
    file.chmod(0o600)
    with pytest.raises(ConfigurationError, match="is empty"):
        config.api_key(Serve(api_key_file=str(file)))


@pytest.mark.parametrize(
    ("line", "key", "says"),
    [
        ("ram_gib = 0", "hosts[0].ram_gib", "must be greater than 0"),
        ("ram_gb_per_s = 51.2", "hosts[0].ram_gb_per_s", "says nothing without ram_gib"),
    ],
)
def test_stated_ram_is_checked(line: str, key: str, says: str) -> None:
    text = f"[[hosts]]\nname = 'a'\nconnection = 'stated'\ncards = [{{ model = 'RTX 5080' }}]\n{line}\n"
    assert says in faults(text)[key]


def test_only_stated_hosts_state_their_ram() -> None:
    text = "[[hosts]]\nname = 'a'\nconnection = 'local'\nram_gib = 64\n"
    assert "it belongs to stated" in faults(text)["hosts[0].ram_gib"]
