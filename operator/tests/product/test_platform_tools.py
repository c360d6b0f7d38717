"""What tests need built is built before they begin, also on a machine that has nothing yet.

greptimedb-operator was not: its Go build began in a fixture beside three other workers, and the test's hang guard ended
it. On a machine whose cache had it nothing of that showed.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TESTS = ("operator/tests", "spark-apps", "e2e", "bench")
ASKED = re.compile(r"platform_folder\(\s*[\"']([^\"']+)[\"']")


def recipe(target: str) -> str:
    """The lines of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_all_that_tests_ask_the_platform_for_is_built_by_make_tools() -> None:
    sources = [path for folder in TESTS for path in (ROOT / folder).rglob("*.py")]
    asked = {name for path in sources for name in ASKED.findall(path.read_text())}
    built = set(re.findall(r"\$\(PLATFORM\)/(\S+\.sh)", recipe("tools")))
    assert {"binaries.sh", "greptimedb/operator.sh"} <= asked, "the pattern finds who asks"
    assert asked - built == set()
