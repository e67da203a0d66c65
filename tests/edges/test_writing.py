import pytest

from evener.edges.writing import write_whole
from evener.errors import HostError


def test_a_file_has_its_whole_text(tmp_path):
    write_whole(tmp_path / "a.json", "two horses, 两匹马")
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == "two horses, 两匹马"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_what_cannot_be_put_in_its_place_leaves_nothing_half_written(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(HostError, match=r"cannot write .*/a: "):
        write_whole(tmp_path / "a", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_text_that_cannot_be_encoded_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    assert path.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
