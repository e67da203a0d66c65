import pytest

from evener.evals.scoring.checks import KINDS, holds, score, sentences, words
from evener.records.questions import Check
from tests.evals.answered import answer, question

# kind -> (value, texts that hold, texts that do not)
EXAMPLES = {
    "words": ({"least": 2, "most": 3}, ["one two", "it's well-known now", "你好吗"], ["one", "a b c d", ""]),
    "characters": (4, ["a b\ncd", "你好 世界"], ["abc", "abcde"]),
    "han": ({"most": 3}, ["你好", "hi 你"], ["你好世界"]),
    "sentences": (
        2,
        ["One. Two!", "一。二？", "It costs 3.50 now. Fine", 'He said "no." Then left.'],
        ["One.", "1. 2. 3."],
    ),
    "paragraphs": (2, ["a\n\nb", "a\nb\n \nc"], ["a\nb"]),
    "lines": (2, ["a\n\nb"], ["a b"]),
    "bullets": ({"least": 2}, ["- a\n* b", "intro\n  • a\n  • b"], ["- a", "-a\n-b"]),
    "numbered": (2, ["1. a\n2) b", "1、甲\n2、乙"], ["1. a\n3. b", "1. a", "2. a\n3. b"]),
    "headings": (1, ["# A\ntext"], ["#tag", "A"]),
    "each-sentence-words": ({"most": 2}, ["One two. Three."], ["One two three. Four."]),
    "each-line-words": (1, ["a\nb"], ["a b\nc"]),
    "contains": (["tea", "Oslo"], ["Tea in oslo."], ["teapot in Oslo", "tea"]),
    "contains-any": (["茶", "咖啡"], ["喝茶"], ["喝水"]),
    "excludes": (["very", "非常"], ["everyone is fine"], ["a very good one", "非常好"]),
    "excludes-characters": (",，", ["a. b"], ["a, b", "甲，乙"]),
    "times": ({"rain": 2, "雨": {"most": 1}}, ["rain, Rain and 雨"], ["rain", "rain rain 雨雨", "rainy rain"]),
    "starts": ("Dear", ["Dear me", "  Dear you"], ["My Dear"]),
    "ends": (["END", "完"], ["the END", "故事完\n"], ["the END."]),
    "order": (["first", "then", "last"], ["First this, then that, at last"], ["then first last", "first last"]),
    "language": ("zh", ["今天天气很好。用`python`。"], ["today 天气", "it rains", "123"]),
    "upper": (None, ["ALL, 123"], ["All", "123"]),
    "lower": (None, ["all here"], ["All here"]),
    "json": (
        None,
        ['{"a": 1}', "```json\n[1]\n```", "3"],
        ["{a: 1}", 'Here:\n```json\n{"a": 1}\n```', '{"a": 1} done'],
    ),
    "json-keys": (["a", "b"], ['{"a": 1, "b": 2}'], ['{"b": 2, "a": 1}', '{"a": 1}', "[1]"]),
    "json-types": (
        {"a": "integer", "b": "list", "c": "boolean"},
        ['{"a": 1, "b": [], "c": true}'],
        ['{"a": true, "b": [], "c": true}', '{"a": 1.5, "b": [], "c": true}', '{"a": 1}'],
    ),
    "json-list": (2, ["[1, 2]"], ["[1]", '{"a": 1}']),
    "table": (
        {"columns": 2, "rows": 1},
        ["|a|b|\n|---|:-:|\n|1|2|"],
        ["|a|b|\n|1|2|", "|a|b|c|\n|-|-|-|\n|1|2|3|", "a b"],
    ),
    "csv": ({"columns": 2, "rows": 2}, ['a,b\n"x,y",2'], ["a,b\n1", "a,b", "```csv\na;b\n```"]),
    "matches": (r"\d{4}-\d{2}", ["2024-05"], ["on 2024-05"]),
    "is": (["yes", "是"], ["yes\n", "是"], ["Yes", "yes."]),
    "no-markdown": (None, ["plain - text"], ["**bold**", "# A", "- item", "[a](b)", "```\nx\n```"]),
    "acrostic": ("tea", ["The\n- even\nall"], ["The\nall\neven"]),
    "distinct-lines": (None, ["a\nb"], ["a\na"]),
}


def test_every_kind_has_its_examples():
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_tells_texts_that_hold_from_those_that_do_not(kind):
    value, good, bad = EXAMPLES[kind]
    assert [text for text in good if not holds(Check(kind=kind, value=value), text)] == []
    assert [text for text in bad if holds(Check(kind=kind, value=value), text)] == []


def test_language_of_english():
    assert holds(Check(kind="language", value="en"), "It rains in Oslo (奥斯陆) on most days of the year, they say.")
    assert not holds(Check(kind="language", value="en"), "今天下雨")


def test_all_checks_must_hold_and_those_that_do_not_are_named():
    one = question("checks", checks=(Check(kind="words", value=2), Check(kind="upper")))
    found = score(one, answer("two words"))
    assert (found.value, found.details) == (0.0, {"held": 1, "of": 2, "failed": ["upper: null"]})
    assert score(one, answer("TWO WORDS")).value == 1.0


def test_an_answer_cut_short_is_not_scored():
    assert score(question("checks", checks=(Check(kind="upper"),)), answer("A", outcome="truncated")).value is None


def test_mixed_text_is_counted_in_both_ways():
    assert words("我用 Python 写代码") == ["我", "用", "Python", "写", "代", "码"]
    assert sentences("真的吗？Yes! 3.5 kg。") == ["真的吗", "Yes", "3.5 kg"]
