import json

import pytest

from evener.errors import ConfigurationError, NameUnknown
from evener.evals.suites import read, select, shipped

ONE = {"id": "a", "cluster": "c1", "category": "fact", "prompt": "2+2?", "scoring": "match", "source": "arithmetic"}


def lines(*items):
    return "\n".join(json.dumps(item) for item in items).encode()


def test_header_is_no_question():
    suite = read(lines({"suite": "mine", "version": 3, "title": "My own"}, ONE), source="x.jsonl")
    assert (suite.name, suite.version, suite.title, len(suite.questions)) == ("mine", 3, "My own", 1)


def test_a_file_without_header_is_called_after_itself():
    assert read(lines(ONE), source="folder/mine.jsonl").name == "mine"


def test_all_faults_come_at_once_with_their_lines():
    with pytest.raises(ConfigurationError) as caught:
        read(lines(ONE | {"promt": "x"}, {"id": "b"}) + b"\n{", source="x.jsonl")
    for part in ("x.jsonl:1: unknown key 'promt'", "x.jsonl:2: cluster: Field required", "x.jsonl:3:"):
        assert part in caught.value.message


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scoring": "tests"}, "needs 'tests'"),
        ({"scoring": "translation"}, "needs 'references'"),
        ({"scoring": "checks"}, "needs 'checks'"),
        ({"twin": "nobody"}, "its twin 'nobody' is not there"),
        ({"prompt": "  "}, "the prompt is empty"),
    ],
)
def test_question_that_cannot_be_scored_is_a_fault(change, said):
    with pytest.raises(ConfigurationError, match="a: "):
        read(lines(ONE | change), source="x.jsonl")
    with pytest.raises(ConfigurationError, match=said):
        read(lines(ONE | change), source="x.jsonl")


def test_an_id_is_used_once():
    with pytest.raises(ConfigurationError, match="the id 'a' is used 2 times"):
        read(lines(ONE, ONE), source="x.jsonl")


def test_an_empty_file_has_no_questions():
    with pytest.raises(ConfigurationError, match="no questions"):
        read(b"\n\n", source="x.jsonl")


def test_only_whole_clusters_are_taken():
    items = [ONE | {"id": f"{c}{i}", "cluster": c} for c in "xyz" for i in range(3)]
    suite = read(lines(*items), source="x.jsonl")
    assert [q.id for q in select(suite, most=7).questions] == ["x0", "x1", "x2", "y0", "y1", "y2"]


def test_quick_subset_is_what_is_marked():
    suite = read(lines(ONE, ONE | {"id": "b", "quick": True}), source="x.jsonl")
    assert [q.id for q in select(suite, quick=True).questions] == ["b"]
    with pytest.raises(ConfigurationError, match="nothing is left"):
        select(suite, categories=("other",))


def test_unknown_suite_names_those_there_are():
    with pytest.raises(NameUnknown) as caught:
        shipped("poetry")
    assert "translation" in (caught.value.hint or "")


def test_two_files_of_other_content_differ():
    assert read(lines(ONE), source="x").sha256 != read(lines(ONE | {"prompt": "3+3?"}), source="x").sha256


def line(**more):
    fields = {"id": "a", "cluster": "a", "category": "c", "prompt": "p", "scoring": "match", "source": "s"}
    return json.dumps(fields | more).encode()


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"scoring": "checks", "checks": [{"kind": "nope"}]}, "there is no check 'nope'"),
        ({"scoring": "checks", "checks": [{"kind": "language", "value": "fr"}]}, "cannot use 'fr'"),
        ({"scoring": "checks", "checks": [{"kind": "matches", "value": "("}]}, "cannot use '('"),
        ({"scoring": "checks", "checks": [{"kind": "words", "value": {"least": "x"}}]}, "cannot use {'least': 'x'}"),
        ({"scoring": "tool-call", "references": ["{x"], "tools": [{"a": 1}]}, "is no call"),
        ({"scoring": "edit", "references": ["x"], "context": "y"}, "one of edit-blocks, edit-diff, edit-whole"),
        ({"scoring": "tests", "tests": "assert", "language": "python"}, "its tests are no Python"),
        ({"scoring": "tests", "tests": "pass", "language": "cobol"}, "not in 'cobol'"),
        ({"scoring": "fill", "tests": "pass", "language": "python", "context": "x = 1"}, "no <HOLE>"),
    ],
)
def test_what_a_scorer_would_stumble_over_is_told_before_anybody_is_asked(more, fault):
    with pytest.raises(ConfigurationError) as found:
        read(line(**more), source="mine.jsonl")
    assert fault in found.value.message


@pytest.mark.parametrize("header", [{"version": "one"}, {"notes": None}, {"licence": 3}, {"title": []}])
def test_a_header_of_the_wrong_kind_is_a_fault_and_no_crash(header):
    content = json.dumps({"suite": "x"} | header).encode() + b"\n" + line()
    with pytest.raises(ConfigurationError, match=f"the header's '{next(iter(header))}' is no"):
        read(content, source="mine.jsonl")
