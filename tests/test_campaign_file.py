"""campaign.toml at the door: what it means, and every fault with its key."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from evener.config.campaign import Known, campaign_schema, load_campaign, parse_campaign
from evener.config.campaign_tables import budget_s
from evener.errors import CampaignFileError
from evener.records.campaign import (
    AnswersAsked,
    Campaign,
    Contestant,
    ContextAsked,
    JudgeAsked,
    Notify,
    SpeedAsked,
    UsersAsked,
)

KNOWN = Known(suites=("translation", "restraint"), profiles={"chat": 2350, "coding": 8700})
EVERY_KEY = """
name = "six models on two machines"
rig = "rig.toml"
layouts = ["auto", "alpha", "cluster"]
cables = ["5gbe", "tb5"]
contexts = [4096, 16384]
parallel = 6
kv = "q8_0/q4_0"
repeats = 3
seed = 7
a_versus_a = false
cool = false
budget = "1h30m"

[[models]]
model = "qwen3.6-35b-a3b"
name = "qwen"
quantisations = ["Q8_0"]
quantise = ["Q4_K_M"]
thinking = ["off", "on"]
mmproj = "eyes.gguf"
draft = "small"
flags = ["--rope-scaling", "yarn"]

[[endpoints]]
name = "vllm"
url = "http://10.0.0.9:8000"
model = "Qwen/Qwen3"
api_key_env = "VLLM_KEY"
thinking = "left"

[speed]
prompts = [512, 2048]
outputs = [64]
depths = [0, 1024]
repetitions = 3

[[users]]
counts = [8, 1]
prompts = 12
prompt_tokens = 256
output_tokens = 32

[[users]]
profile = "chat"
counts = [4]

[context]
lengths = [8192, 1024]

[answers]
suites = ["translation", "restraint"]
quick = true
epochs = 2
arms = ["single", "vote"]
k = 3
temperature = 0.7
max_tokens = 512

[[answers.judges]]
name = "big"
api = "anthropic"
url = "https://api.example.com"
model = "judge-1"
api_key_env = "JUDGE_KEY"
agreed = true
suites = ["translation"]

[notify]
command = ["notify-send", "{text}"]
url = "https://ntfy.example.com/mine"
"""
LEAST = 'name = "n"\n[[models]]\nmodel = "demo"\n'
ONE = LEAST + "[speed]\n"


def parse(text: str) -> Campaign:
    return parse_campaign(text, path="campaign.toml", known=KNOWN)


def faults(text: str) -> dict[str, str]:
    with pytest.raises(CampaignFileError) as caught:
        parse(text)
    found = dict(caught.value.faults)
    assert len(found) == len(caught.value.faults), caught.value.faults  # one fault a key
    return found


def names(campaign: Campaign) -> list[str]:
    return [one.name for one in campaign.contestants]


def test_every_key_is_read() -> None:
    campaign = parse(EVERY_KEY)
    assert names(campaign) == ["qwen-Q8_0", "qwen-Q8_0-thinking", "qwen-Q4_K_M", "qwen-Q4_K_M-thinking", "vllm"]
    assert campaign.contestants[3] == Contestant(
        name="qwen-Q4_K_M-thinking",
        model="qwen3.6-35b-a3b:Q8_0",
        quantise="Q4_K_M",
        thinking=True,
        mmproj="eyes.gguf",
        draft="small",
        flags=("--rope-scaling", "yarn"),
    )
    vllm = campaign.contestants[4]
    assert (vllm.is_ours, vllm.url, vllm.served_model) == (False, "http://10.0.0.9:8000", "Qwen/Qwen3")
    assert (vllm.api_key_env, vllm.thinking) == ("VLLM_KEY", None)
    assert campaign == Campaign(
        name="six models on two machines",
        contestants=campaign.contestants,
        layouts=("auto", "alpha", "cluster"),
        cables=("5gbe", "tb5"),
        contexts=(4096, 16384),
        parallel=6,
        kv="q8_0/q4_0",
        repeats=3,
        seed=7,
        a_versus_a=False,
        cool=False,
        speed=SpeedAsked(prompts=(512, 2048), outputs=(64,), depths=(0, 1024), repetitions=3),
        users=(
            UsersAsked(counts=(1, 8), prompts=12, prompt_tokens=256, output_tokens=32),
            UsersAsked(counts=(4,), profile="chat"),
        ),
        context=ContextAsked(lengths=(1024, 8192)),
        answers=AnswersAsked(
            suites=("translation", "restraint"),
            quick=True,
            epochs=2,
            arms=("single", "vote"),
            k=3,
            temperature=0.7,
            most_tokens=512,
            judges=(
                JudgeAsked(
                    name="big",
                    api="anthropic",
                    url="https://api.example.com",
                    model="judge-1",
                    api_key_env="JUDGE_KEY",
                    suites=("translation",),
                ),
            ),
        ),
        budget_s=5400.0,
        notify=Notify(command=("notify-send", "{text}"), url="https://ntfy.example.com/mine"),
        rig="rig.toml",
        path="campaign.toml",
    )


def test_what_is_not_said_is_as_the_records_have_it() -> None:
    said = parse(ONE)
    assert said == Campaign(
        name="n", contestants=(Contestant(name="demo", model="demo"),), speed=SpeedAsked(), path="campaign.toml"
    )
    assert parse(LEAST + "[[users]]\n").users == (UsersAsked(),)
    assert parse(LEAST + '[answers]\nsuites = ["translation"]\n').answers == AnswersAsked(suites=("translation",))


def test_a_load_makes_room_for_the_most_users_but_not_for_people_who_read_and_think() -> None:
    assert parse(LEAST + "[[users]]\ncounts = [1, 12]\n").parallel == 12
    assert parse(LEAST + '[[users]]\nprofile = "chat"\ncounts = [30]\n').parallel == 4


@pytest.mark.parametrize(
    ("table", "called"),
    [
        ('model = "/data/Qwen 3 (new).gguf"', ["Qwen-3--new"]),
        ('model = "hf:org/Repo-GGUF:Q4_K_M"', ["Repo-GGUF-Q4_K_M"]),
        ('model = "hf:org/Repo-GGUF"\nquantisations = ["Q4_K_M", "Q8_0"]', ["Repo-GGUF-Q4_K_M", "Repo-GGUF-Q8_0"]),
        ('model = "https://host/models/a.gguf?download=true"', ["a"]),
        ('model = "demo"\nquantise = ["Q8_0"]', ["demo", "demo-Q8_0"]),
        ('model = "x:BF16"\nquantisations = []\nquantise = ["Q8_0"]', None),
        ('model = "x"\nname = "mine"\nquantisations = ["Q8_0"]', ["mine"]),
        ('model = "x"\nthinking = "on"', ["x-thinking"]),
        ('model = "x"\nthinking = "left"', ["x"]),
        ('model = "x"\nthinking = ["on", "left"]', ["x-thinking", "x-as-it-thinks"]),
    ],
)
def test_a_contestant_is_called_by_what_tells_it_from_others(table: str, called: list[str] | None) -> None:
    campaign = parse(f'name = "n"\n[speed]\n[[models]]\n{table}\n')
    assert names(campaign) == (called or ["x-BF16-Q8_0"])


def test_what_is_made_here_is_made_of_the_first_quantisation_and_need_not_be_beside_it() -> None:
    both = parse('name="n"\n[speed]\n[[models]]\nmodel = "x"\nquantisations = ["BF16"]\nquantise = ["Q4_0"]\n')
    assert [(c.model, c.quantise) for c in both.contestants] == [("x:BF16", None), ("x:BF16", "Q4_0")]
    made = parse('name="n"\n[speed]\n[[models]]\nmodel = "x:BF16"\nquantisations = []\nquantise = ["Q4_0"]\n')
    assert [(c.model, c.quantise) for c in made.contestants] == [("x:BF16", "Q4_0")]


def test_all_faults_are_told_at_once_each_with_its_key() -> None:
    text = """
    repeats = 0
    layout = ["auto"]
    [[models]]
    modle = "x"
    thinking = ["of"]
    [[models]]
    model = "a/b.gguf"
    quantisations = ["Q4_K_M"]
    [[endpoints]]
    name = "up there"
    url = "ftp://x"
    [[speed]]
    [users]
    [answers]
    suites = ["translaton"]
    """
    assert faults(text) == {
        "name": "is required",
        "repeats": "must be greater than or equal to 1",
        "layout": 'unknown key; did you mean "layouts"?',
        "models[0].model": "is required",
        "models[0].modle": 'unknown key; did you mean "model"?',
        "models[0].thinking[0]": "must be 'off', 'on' or 'left'",
        "models[1].quantisations": "a/b.gguf is one file and has one: quantise makes others of it",
        "endpoints[0].name": '"up there" must begin and end with a letter or digit; between them also . _ + and -',
        "endpoints[0].url": '"ftp://x" is no URL, such as "http://10.0.0.9:8000"',
        "speed": "is one table: write [speed], with one pair of brackets",
        "users": "must be a list: write [[users]], with two brackets",
        "answers.suites[0]": '"translaton" is none of translation, restraint, and no file; did you mean "translation"?',
    }


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ('name = "n"\n[speed]\n', "models", "nobody takes part"),
        (LEAST, "speed", "nothing is measured"),
        (LEAST + "[speed]\nprompts = []\noutputs = [0]\n", "speed", "nothing to measure"),
        (ONE + '[[models]]\nmodel = "demo"\n', "models[1].name", '"demo" would be the name of models[0] too'),
        (ONE + '[[endpoints]]\nname = "demo"\nurl = "http://x"\n', "endpoints[0].name", "models[0] too"),
        (ONE.replace('"demo"', '"x:Q8_0"\nquantisations = ["Q4_0"]'), "models[0].quantisations", "names one already"),
        (ONE.replace('"demo"', '"x"\nquantisations = []'), "models[0].quantisations", "none takes part"),
        (ONE.replace('"demo"', '"x"\nthinking = []'), "models[0].thinking", "none takes part"),
        (ONE.replace('"demo"', '"x"\nthinking = ["on", "on"]'), "models[0].thinking[1]", "on is named twice"),
        (
            ONE.replace('"demo"', '"x"\nquantisations = ["Q4_0"]\nquantise = ["q4_0"]'),
            "models[0].quantise",
            "Q4_0 is among its quantisations",
        ),
        (ONE.replace('"demo"', '"x"\nquantise = ["Q4 0"]'), "models[0].quantise[0]", "is no quantisation"),
        ('layouts = ["auto", "auto"]\n' + ONE, "layouts[1]", "auto is named twice"),
        ('budget = "8"\n' + ONE, "budget", '"8" is no time, such as "8h"'),
        ('budget = "0h"\n' + ONE, "budget", "is no time"),
        ('kv = "F16"\n' + ONE, "kv", "is no cache type"),
        ("contexts = [100]\n" + ONE, "contexts[0]", "greater than or equal to 256"),
        ("contexts = [512]\n" + ONE, "contexts", "512 tokens per user do not hold the 513 of speed"),
        (LEAST + "[speed]\ndepths = [4096]\n", "contexts", "do not hold the 4609 of speed"),
        (LEAST + "[[users]]\nprompt_tokens = 4000\n", "contexts", "do not hold the 4128 of users[0]"),
        (LEAST + '[[users]]\nprofile = "coding"\n', "contexts", "do not hold the 8700 of users[0]"),
        (LEAST + "[context]\nlengths = [4096]\n", "context.lengths", "4096 tokens and an answer fit none"),
        (LEAST + '[[users]]\nprofile = "chatt"\n', "users[0].profile", 'did you mean "chat"?'),
        (LEAST + '[[users]]\nprofile = "chat"\noutput_tokens = 5\n', "users[0].output_tokens", "is what the profile"),
        (LEAST + "[[users]]\n[[users]]\n", "users[1].profile", "users[0] has no profile too"),
        (LEAST + '[answers]\nsuites = ["restraint"]\narms = ["vote"]\ntemperature = 1.0\n', "answers.arms", '"single"'),
        (
            LEAST + '[answers]\nsuites = ["restraint"]\narms = ["single", "vote"]\n',
            "answers.temperature",
            "a vote needs some",
        ),
        (ONE + "[notify]\n", "notify", "whom?"),
    ],
)
def test_what_does_not_go_together_is_told_by_its_key(text: str, key: str, said: str) -> None:
    found = faults(text)
    assert list(found) == [key], found
    assert said in found[key]


@pytest.mark.parametrize(
    ("asked", "tokens"),
    [
        ("[speed]\nprompts = [300]\noutputs = []\n", 301),
        ("[speed]\nprompts = []\noutputs = [300]\n", 302),
        ("[speed]\nprompts = [100]\noutputs = [100]\ndepths = [300]\n", 402),
        ("[[users]]\nprompt_tokens = 200\noutput_tokens = 100\n", 364),
    ],
)
def test_a_context_holds_what_is_asked_to_the_token(asked: str, tokens: int) -> None:
    assert parse(f"contexts = [{tokens}]\n{LEAST}{asked}").contexts == (tokens,)
    assert list(faults(f"contexts = [{tokens - 1}]\n{LEAST}{asked}")) == ["contexts"]


JUDGED = LEAST + '[answers]\nsuites = ["restraint"]\n[[answers.judges]]\nname = "j"\n'


def test_answers_leave_the_house_only_where_the_file_says_that_they_may() -> None:
    assert list(faults(JUDGED + 'url = "https://api.example.com"\nmodel = "m"\n')) == ["answers.judges[0].agreed"]
    assert list(faults(JUDGED + 'url = "https://8.8.8.8"\nmodel = "m"\n')) == ["answers.judges[0].agreed"]
    for home in ("localhost:8080", "127.0.0.1:8080", "192.168.1.4", "[::1]:8080"):
        assert parse(JUDGED + f'url = "http://{home}"\n').answers is not None
    assert list(faults(JUDGED + 'url = "https://api.example.com"\nagreed = true\n')) == ["answers.judges[0].model"]
    other = JUDGED + 'url = "http://127.0.0.1"\nsuites = ["translation"]\n'
    assert faults(other) == {"answers.judges[0].suites[0]": '"translation" is not asked'}


def test_a_local_judge_is_a_model_and_every_other_one_has_a_url() -> None:
    answers = parse(JUDGED + 'api = "local"\nmodel = "judge.gguf"\n').answers
    assert answers is not None
    assert (answers.judges[0].api, answers.judges[0].model, answers.judges[0].url) == ("local", "judge.gguf", None)
    wrong = JUDGED + 'api = "local"\nurl = "http://127.0.0.1"\n'
    assert list(faults(wrong)) == ["answers.judges[0].model", "answers.judges[0].url"]
    assert list(faults(JUDGED + 'model = "m"\n')) == ["answers.judges[0].url"]


def test_secrets_are_refused_by_name_and_never_said_again() -> None:
    secret = "sk-live-4711"
    for text, key in (
        (ONE + f'[[endpoints]]\nname = "e"\nurl = "http://x"\napi_key = "{secret}"\n', "endpoints[0].api_key"),
        (ONE + f'[[endpoints]]\nname = "e"\nurl = "http://x"\ntoken = "{secret}"\n', "endpoints[0].token"),
        (ONE + f'[[endpoints]]\nname = "e"\nurl = "http://x"\napi_key_env = "{secret}"\n', "endpoints[0].api_key_env"),
        (ONE + f'[[endpoints]]\nname = "e"\nurl = "http://me:{secret}@x"\n', "endpoints[0].url"),
        (f'password = "{secret}"\n' + ONE, "password"),
        (LEAST + f'flags = ["--api-key={secret}"]\n[speed]\n', "models[0].flags"),
    ):
        found = faults(text)
        assert list(found) == [key]
        assert secret not in found[key]


def test_a_budget_is_read_as_it_is_written() -> None:
    assert [budget_s(t) for t in ("8h", "90m", "1h30m", "2d", "45min", "0.5h", "1h 30m", "20s")] == [
        28800, 5400, 5400, 172800, 2700, 1800, 5400, 20,
    ]  # fmt: skip


def test_files_beside_the_campaign_file_are_found_from_anywhere(tmp_path: Path) -> None:
    for name in ("rig.toml", "a.gguf", "own.jsonl"):
        (tmp_path / name).write_text("")
    text = 'name = "n"\nrig = "rig.toml"\n[[models]]\nmodel = "a.gguf"\ndraft = "elsewhere.gguf"\n'
    text += '[answers]\nsuites = ["own.jsonl", "translation"]\n[[answers.judges]]\nname = "j"\n'
    text += 'url = "http://127.0.0.1"\nsuites = ["own.jsonl"]\n'
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    campaign = load_campaign(path, KNOWN)
    assert campaign.rig == str(tmp_path / "rig.toml")
    assert campaign.contestants[0] == Contestant(name="a", model=str(tmp_path / "a.gguf"), draft="elsewhere.gguf")
    assert campaign.answers is not None
    assert campaign.answers.suites == (str(tmp_path / "own.jsonl"), "translation")
    assert campaign.answers.judges[0].suites == (str(tmp_path / "own.jsonl"),)
    assert campaign.path == str(path)


def test_a_file_that_is_none_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CampaignFileError, match="no such file") as caught:
        load_campaign(tmp_path / "none.toml")
    assert caught.value.hint == "`evener compare --init` writes a first one"
    with pytest.raises(CampaignFileError, match=r"campaign.toml: line 1: not TOML"):
        parse("name = \n")


def test_every_key_of_the_schema_has_a_meaning_and_is_in_the_example() -> None:
    schema = campaign_schema()
    json.dumps(schema)
    for table in (schema, *schema["$defs"].values()):
        assert table["additionalProperties"] is False
        for key, value in table["properties"].items():
            assert value.get("description"), key
            assert key in EVERY_KEY


def test_nothing_that_is_written_ends_in_a_traceback() -> None:
    draw = random.Random(11)
    values = ["1", "-1", "true", '"x"', "[]", '[""]', "[1, 1]", "{}", "[{}]", "1.5", '["a", 1]', "[[]]", "inf", '""']
    lines = EVERY_KEY.splitlines()
    for _ in range(600):
        text = list(lines)
        for _ in range(draw.randint(1, 3)):
            place = draw.randrange(len(text))
            key, equals, _ = text[place].partition("=")
            text[place] = (
                f"{key}= {draw.choice(values)}" if equals else draw.choice(["", text[place], "[x]", "[[speed]]"])
            )
        with suppress(CampaignFileError):
            parse("\n".join(text))
