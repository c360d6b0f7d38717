"""Things about the repository that would break far away from their cause."""

import operator
from pathlib import Path

ROOT = Path(__file__).parents[3]
LONGEST = 300
"""Lines of a file."""
GENERATED = {"wal_pb2.py"}


def test_the_folder_operator_never_shadows_the_standard_library() -> None:
    assert not (ROOT / "operator/__init__.py").exists()
    assert not (ROOT / "operator/operator.py").exists()
    assert operator.add(1, 1) == 2


def test_locks_record_no_download_host() -> None:
    locks = sorted((ROOT / "requirements").glob("*.lock"))
    assert locks
    assert not [lock.name for lock in locks if "://" in lock.read_text()]


def test_no_file_of_what_runs_is_too_long_to_be_read_at_once() -> None:
    files = [path for path in ROOT.glob("**/src/**/*.py") if path.name not in GENERATED and ".venv" not in path.parts]
    assert len(files) > 400
    assert not {str(path.relative_to(ROOT)) for path in files if len(path.read_text().splitlines()) > LONGEST}
