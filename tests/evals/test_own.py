import json

import pytest

from evener.api import suites as api
from evener.errors import ConfigurationError
from evener.evals.own import answering_sentence, from_csv, lines_of, with_clusters, with_twins
from evener.evals.suites import read, shipped
from tests.evals.answered import question

TABLE = """question,context,reference,rubric
How long is the walk?,"The walk starts at the mill. It takes two hours. Take a coat.",two hours|2 hours,
Where does it start?,"The walk starts at the mill. It takes two hours. Take a coat.",the mill,
Is it pretty?,,,Says why.
Who walks there?,,,
"""


def suite_of(table, name="walks.csv"):
    return read(from_csv(table.encode(), source=name), source=name)


def test_a_table_becomes_questions():
    long, _, pretty, who = suite_of(TABLE).questions
    assert (long.references, long.scoring, long.id) == (("two hours", "2 hours"), "match", "row-1")
    assert (pretty.scoring, pretty.rubric) == ("rubric", "Says why.")
    assert (who.scoring, who.references) == ("match", ())


def test_wrong_answers_have_a_column_of_their_own():
    (one,) = suite_of("question,reference,wrong\nCapital of Norway?,Oslo,Bergen|Trondheim\n").questions
    assert one.wrong == ("Bergen", "Trondheim")


def test_code_is_tested_in_python_unless_it_says_otherwise():
    (one,) = suite_of("question,test\nWrite f.,assert 1\n").questions
    assert (one.scoring, one.language) == ("tests", "python")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,b\n1,2\n", "unknown column 'a'"),
        (b"reference\nx\n", "no column 'question'"),
        (b"", "no column 'question'"),
        (b"question\n\xff\xfe\n", "not UTF-8"),
        (b'question\n"unclosed\n', "x.csv: unexpected end of data"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(content, said):
    with pytest.raises(ConfigurationError, match=said):
        from_csv(content, source="x.csv")


def test_excel_s_mark_at_the_beginning_is_no_column():
    assert len(suite_of("\ufeffquestion\nWhy?\n").questions) == 1


def test_questions_of_one_context_share_a_cluster():
    long, start, pretty, _ = with_clusters(suite_of(TABLE).questions)
    assert long.cluster == start.cluster == "row-1"
    assert pretty.cluster == "row-3"


def test_a_twin_lacks_the_answering_sentence_and_declining_is_right():
    long, twin, start, _, *_ = with_twins(suite_of(TABLE).questions)
    assert (twin.twin, twin.references, twin.category) == (long.id, (), "answer-removed")
    assert twin.context == "The walk starts at the mill. Take a coat."
    assert twin.wrong == long.references[:1] != ()
    assert start.twin is None


def test_no_twin_where_the_answer_stands_twice_or_is_all_there_is():
    twice = question(context="It takes two hours. Yes, two hours.", references=("two hours",))
    alone = question(context="It takes two hours.", references=("two hours",))
    assert answering_sentence(twice) is None
    assert answering_sentence(alone) is None


def test_chinese_sentences_end_in_their_own_marks():
    one = question(context="渡轮七点出发。到小岛要四十分钟。星期天等钟声。", references=("四十分钟",))
    assert answering_sentence(one) == "到小岛要四十分钟。"


def test_what_is_written_is_read_back():
    suite = shipped("restraint")
    again = read(lines_of(suite).encode(), source="again")
    assert again.questions == suite.questions


def test_a_suite_is_made_whole_and_an_existing_file_stays(tmp_path):
    table, into = tmp_path / "walks.csv", tmp_path / "walks.jsonl"
    table.write_text(TABLE)
    made = api.make(str(table), into, clusters=True, twins=True)
    assert len(made.questions) == 6
    assert json.loads(into.read_text().splitlines()[0])["suite"] == "walks"
    with pytest.raises(ConfigurationError, match="exists"):
        api.make(str(table), into, clusters=True, twins=True)
    assert len(api.open_suite(str(into)).questions) == 6


def test_what_a_size_can_prove_is_said(tmp_path):
    table = tmp_path / "walks.csv"
    table.write_text(TABLE)
    found = api.check(str(table))
    assert found.proposals.clusters == (("row-1", "row-2"),)
    assert [name for name, _ in found.proposals.twins] == ["row-1", "row-2"]
    assert "cannot separate 2 candidates" in found.reach[0][1].sentence
