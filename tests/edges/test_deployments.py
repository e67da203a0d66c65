import pytest

from evener.edges import deployments
from evener.errors import ConfigurationError


@pytest.mark.parametrize("name", ["../runs", "/etc", "a/b", "", ".", "..", "-x", "Ünï", "a" * 80, "A B"])
def test_a_name_that_could_leave_the_folder_is_refused(name):
    with pytest.raises(ConfigurationError, match="cannot be a deployment's name"):
        deployments.folder(name)


def test_forgetting_removes_what_is_ours_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENER_STATE", str(tmp_path))
    own = deployments.folder("qwen3.6-35b")
    own.mkdir(parents=True)
    for name in ("deployment.json", "supervisor.12.log", "precious.txt"):
        (own / name).write_text("x")
    deployments.forget("qwen3.6-35b")
    assert [p.name for p in own.iterdir()] == ["precious.txt"]
    (own / "precious.txt").unlink()
    deployments.forget("qwen3.6-35b")
    assert not own.exists()
