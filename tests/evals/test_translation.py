"""The suite's own make, and translation's figures against worked examples and sacrebleu's command line."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from sacrebleu.metrics.chrf import CHRF

from evener.evals.scoring.checks import holds
from evener.evals.scoring.translation import corpus, mqm, penalty, score, segment, units
from evener.evals.suites import select, shipped
from evener.records.questions import Check
from tests.evals.answered import answer, question

SUITE = shipped("translation")
QUESTIONS = SUITE.questions
CHRF_OF = CHRF().sentence_score


def of(category):
    return [q for q in QUESTIONS if q.category == category]


def test_there_are_120_and_more_segments_in_24_and_more_documents_about_half_each_way():
    assert len(QUESTIONS) >= 120
    assert len({q.cluster for q in QUESTIONS}) >= 24
    assert min(len(of("zh-en")), len(of("en-zh"))) >= 60


def test_quick_subset_is_eight_whole_documents():
    quick = {q.cluster for q in QUESTIONS if q.quick}
    assert len(quick) == 8
    assert [q.quick for q in QUESTIONS] == [q.cluster in quick for q in QUESTIONS]
    assert 20 <= len(select(SUITE, quick=True).questions) <= 28


def test_every_segment_names_its_traps_and_no_two_are_alike():
    assert all(q.traps and q.references and q.wrong and q.reviewed for q in QUESTIONS)
    assert len({segment(q) for q in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_reference_is_nearer_to_the_other_reference_than_the_wrong_answer_is(question):
    for wrong in question.wrong:
        assert wrong not in question.references
        for at, reference in enumerate(question.references):
            others = [*question.references[:at], *question.references[at + 1 :]] or [reference]
            assert CHRF_OF(reference, others).score > CHRF_OF(wrong, others).score


def test_sources_and_translations_are_in_the_languages_that_the_category_names():
    for one in QUESTIONS:
        source, target = one.category.split("-")
        assert one.language == target
        assert holds(Check(kind="language", value=source), segment(one))
        assert all(holds(Check(kind="language", value=target), text) for text in (*one.references, *one.wrong)), one.id


def test_placeholders_and_digits_of_a_placeholder_survive_in_references():
    for one in QUESTIONS:
        wanted = re.findall(r"\{\d\}", segment(one))
        assert all(re.findall(r"\{\d\}", text) == wanted for text in one.references), one.id


def test_context_is_what_stands_before_in_the_same_document():
    second = next(q for q in QUESTIONS if q.context)
    document = [segment(q) for q in QUESTIONS if q.cluster == second.cluster]
    said = second.context.split("\n", 1)[1].split("\n")
    assert said == document[: len(said)]
    assert segment(second) == document[len(said)]


def test_segment_is_the_prompt_behind_its_instruction():
    assert segment(question(prompt="Translate.\n\nEins.\n\nZwei.")) == "Eins.\n\nZwei."
    assert segment(question(prompt="Guten Tag")) == "Guten Tag"


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("小心地滑", 4),
        ("今天是2027年6月30日。", 9),  # six characters, three numbers
        ("Don't stop at 3.5 km", 7),  # an apostrophe and a point part words
        ("日本語のテキスト", 8),
        ("", 0),
    ],
)
def test_source_units_are_characters_of_chinese_and_words_elsewhere(source, count):
    assert units(source) == count


def test_one_critical_error_weighs_as_five_major_ones():
    assert penalty(["critical"]) == 25
    assert penalty(["major"] * 5) == 25
    assert penalty(["critical", "major", "minor", "punctuation", "punctuation"]) == pytest.approx(31.2)
    assert penalty([]) == 0
    with pytest.raises(KeyError):
        penalty(["grave"])


def test_mqm_is_a_ratio_of_sums_with_errors_that_belong_to_documents():
    # Penalties 5, 1 | 0, 6 over 100 units each: 12 / 400 = 30 per 1000. Residuals 2, -2 | -3, 3: documents 0 and 0.
    found = mqm([5, 1, 0, 6], [100] * 4, ["a", "a", "b", "b"])
    assert (found.per_1000, found.n, found.documents, found.units) == (pytest.approx(30), 4, 2, 400)
    assert found.interval is None, "two documents alike tell nothing of how documents vary"
    # The same errors in other documents: residuals 2, -3 | -2, 3 sum to -1 and 1; SE = sqrt(2 * 2) / 400 = .005,
    # and Student's t with one degree of freedom is 12.7062: 63.531 per 1000.
    found = mqm([5, 0, 1, 6], [100] * 4, ["a", "a", "b", "b"])
    assert found.interval == pytest.approx((0, 93.531), abs=0.001)


def test_a_bad_segment_is_as_bad_as_it_is():
    assert mqm([penalty(["critical"] * 8)], [100], ["a"]).per_1000 == 2000


def test_one_document_has_no_interval_and_no_units_no_figure():
    assert mqm([1, 2], [10, 10], ["a", "a"]).interval is None
    assert mqm([], [], []) is None


def test_a_segments_score_is_chrf_and_names_its_signature():
    one = QUESTIONS[0]
    found = score(one, answer(one.references[0]))
    assert (found.value, found.scorer) == (1.0, "chrF")
    assert "nc:6" in found.details["signature"]
    assert score(one, answer("", outcome="timeout")).value is None


@pytest.mark.parametrize(("category", "target"), [("zh-en", "en"), ("en-zh", "zh")])
def test_corpus_scores_are_those_of_sacrebleus_command_line(category, target, tmp_path):
    two = [q for q in of(category) if len(q.references) == 2][:8]
    pairs = [(q, q.wrong[0] if n % 2 else q.references[1].replace("a", "e")) for n, q in enumerate(two)]
    found = corpus(pairs, target=target)
    files = {"said": [text for _, text in pairs], "r1": [q.references[0] for q in two]}
    files |= {"r2": [q.references[1] for q in two]}
    for name, texts in files.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n")
    asian = ["--tokenize", "zh", "--ter-normalized", "--ter-asian-support"] if target == "zh" else []
    command = [sys.executable, "-m", "sacrebleu", "r1", "r2", "-i", "said", "-m", "bleu", "chrf", "ter", "-w", "9"]
    told = subprocess.run([*command, *asian], cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    theirs = {one["name"]: one for one in json.loads(told)}
    for ours, name in (("BLEU", "BLEU"), ("chrF", "chrF2"), ("TER", "TER")):
        assert found[ours].value == pytest.approx(theirs[name]["score"], abs=1e-6)
        assert found[ours].how == theirs[name]["signature"]


def test_a_segment_with_one_reference_is_scored_beside_those_with_two():
    one = next(q for q in of("zh-en") if len(q.references) == 1)
    two = next(q for q in of("zh-en") if len(q.references) == 2)
    found = corpus([(one, one.references[0]), (two, two.references[1])], target="en")
    assert (found["chrF"].n, found["chrF"].value, found["TER"].value) == (2, pytest.approx(100), 0)
    assert corpus([], target="en") == {}


def test_chinese_is_edited_by_characters_and_not_by_sentences():
    one = question("translation", references=("小心地滑，请慢行",), language="zh")
    assert corpus([(one, "小心地滑请慢行")], target="zh")["TER"].value == pytest.approx(100 / 8)


def test_a_corpus_interval_is_that_of_leaving_out_whole_documents():
    """Of three documents, by sacrebleu's own score of each two; Student's t with two degrees of freedom is 4.3027."""
    documents = ("zh-en-news", "a", "b")
    pairs = [(replace(q, cluster=documents[n % 3]), q.wrong[0]) for n, q in enumerate(of("zh-en")[:12])]
    found = corpus(pairs, target="en")["BLEU"]
    without = [corpus([p for p in pairs if p[0].cluster != one], target="en")["BLEU"].value for one in documents]
    middle = sum(without) / 3
    half = 4.302653 * (2 / 3 * sum((value - middle) ** 2 for value in without)) ** 0.5
    assert found.interval == pytest.approx((max(0.0, found.value - half), found.value + half), abs=1e-4)
    assert corpus(pairs[:1], target="en")["BLEU"].interval is None
