"""Things about the repository that would break far away from their cause."""

import operator
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_folder_operator_never_shadows_the_standard_library() -> None:
    assert not (ROOT / "operator/__init__.py").exists()
    assert not (ROOT / "operator/operator.py").exists()
    assert operator.add(1, 1) == 2


def test_locks_record_no_download_host() -> None:
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    assert locks
    assert not [lock.name for lock in locks if "://" in lock.read_text()]
