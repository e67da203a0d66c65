"""A worker's disk without room: one line names it, and nothing is left there."""

import subprocess

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.cluster]


@pytest.fixture
def small(rig, tmp_path):
    """A file system of 16 MB on the far host, which has a view of its own of what is mounted."""
    place = tmp_path / "small"
    place.mkdir()
    inside = ["nsenter", "--target", str(rig.bed["beta"].server.pid), "--mount"]
    subprocess.run([*inside, "mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], check=True)
    yield [*inside, "ls", "-A", str(place)], place
    subprocess.run([*inside, "umount", "-l", str(place)], check=True)


def test_a_model_that_does_not_fit_the_far_disk_is_refused_in_one_line(rig, small, model):
    look, place = small
    text = rig.path.read_text()
    rig.path.write_text(text.replace('name = "beta"', f'name = "beta"\nmodels = "{place}"'))
    seen = rig.run("models", "list", "--host", "beta", "--rig", str(rig.path))
    assert seen.returncode == 0, seen.stderr
    done = rig.run("models", "push", str(model), "beta", "--rig", str(rig.path))
    assert done.returncode == 3
    said = done.stderr.replace("\n", " ")
    assert "beta" in said
    assert "free" in said or "No space left" in said or "room" in said
    assert "Traceback" not in done.stderr
    left = subprocess.run(look, capture_output=True, text=True, check=True).stdout
    assert left == ""
