"""The documents that lead into the code name what is there: paths, modules."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
MOST_WORDS = 1500

BASES = (ROOT / "operator" / "src" / "seawall", ROOT / "operator", ROOT)
"""What a path in backticks may be relative to, in this order. The target of a link is relative to the root, as in
every Markdown file that stands there."""
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
LINKED = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(r"\.?[\w-]+(/[\w.-]+)+/?|\.?[\w-]+\.(py|md|json|yaml|toml|lua|cfg|txt)|\.[a-z][\w-]+")
"""Something with a slash, or with the suffix of a file, or a file whose name begins with a dot."""

E2E = ROOT / "e2e" / "src" / "seawall_e2e"


def missing_paths(text: str) -> set[str]:
    """The paths in a text that is for the root of the repository, which do not exist."""
    text = FENCE.sub("", text)
    quoted = {found for found in QUOTED.findall(text) if PATH.fullmatch(found)}
    linked = {found for found in LINKED.findall(text) if "://" not in found}
    return {path for path in quoted if not any((base / path).exists() for base in BASES)} | {
        target for target in linked if not _leads_somewhere(*target.partition("#")[::2])
    }


def _leads_somewhere(path: str, heading: str) -> bool:
    return leads_somewhere(ROOT / path if path else ARCHITECTURE, heading)


def leads_somewhere(page: Path, heading: str) -> bool:
    """Whether there is the page, and on it the heading, as an anchor; "": any."""
    return page.exists() and (not heading or heading in _anchors(page.read_text()))


def _anchors(text: str) -> set[str]:
    """The headings as GitHub makes anchors of them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_architecture_is_read_in_ten_minutes() -> None:
    words = len(ARCHITECTURE.read_text().split())
    assert words <= MOST_WORDS


def test_every_path_in_the_architecture_exists() -> None:
    missing = missing_paths(ARCHITECTURE.read_text())
    assert not missing


def test_a_path_that_is_made_up_is_found_wherever_it_is() -> None:
    good = "`domain/decision.py` `tests/conftest.py` `docs/adr` `.importlinter` [a](README.md) `wake(key)` `Record`"
    assert not missing_paths(f"{good} [b](https://example.org/none.md)\n```\n`domain/none.py`\n```\n")
    bad = "`domain/none.py` `none.py` `.nonerc` [c](docs/none.md) [d](docs/install.md#none) [e](#none)"
    assert missing_paths(f"{good} {bad}") == {
        "domain/none.py",
        "none.py",
        ".nonerc",
        "docs/none.md",
        "docs/install.md#none",
        "#none",
    }


def test_the_page_of_the_test_beds_names_each_module_once_and_nothing_else() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| .+ \|$", (E2E / "README.md").read_text(), re.MULTILINE)
    modules = [str(path.relative_to(E2E)) for path in E2E.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(rows) == sorted(modules)
