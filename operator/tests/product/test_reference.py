"""Each event, annotation, label, finalizer and metric is in the reference, and no row of any table is broken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge

import seawall.domain
from seawall.api.meta import GROUP, VERSION
from seawall.api.v1alpha1.hold import HoldState
from seawall.api.v1alpha1.reassignment import ReassignmentStage
from seawall.api.v1alpha1.subscription_status import StopReason
from seawall.crdgen.markdown import PageError, markdown
from seawall.crdgen.names import PublishedMetric, metadata_names, names_in, published_metrics
from seawall.crdgen.reference import reference
from seawall.domain.events import EventReason
from tests.product.test_conditions_page import enums_of, sets_of_reasons

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "operator" / "src" / "seawall"
PAGE = ROOT / "docs" / "reference.md"
CHART = ROOT / "charts" / "seawall"
TRANSCRIPTS = ROOT / "operator" / "tests" / "golden" / "transcripts"
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", CHART / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
API_VERSION = f"{GROUP}/{VERSION}"
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LEAST_EVENTS = 60
"""Reasons of events that the transcripts come by."""


def rows() -> dict[str, str]:
    """What the reference has a row for, whatever it is, and the row."""
    return {found[1]: found[0] for found in re.finditer(r"^\| `([^`]+)` \|.*$", PAGE.read_text(), re.MULTILINE)}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in SOURCE.rglob("*.py"):
        yield str(path.relative_to(SOURCE)), ast.parse(path.read_text())


def test_the_reference_is_what_the_code_says() -> None:
    assert reference() == PAGE.read_text()


def test_each_metric_that_the_code_publishes_has_a_row() -> None:
    """The sources are searched, beside the registry that the page is made of."""
    text = "".join(path.read_text() for path in (SOURCE / "handlers" / "metrics").glob("*.py"))
    published = {each.name.removesuffix("_total") for each in published_metrics()}
    assert set(re.findall(r'"(seawall_\w+)"', text)) == published
    assert {each.name for each in published_metrics()} <= rows().keys()


def test_each_metric_that_the_chart_asks_for_has_a_row() -> None:
    text = "".join(path.read_text() for path in CHART.rglob("*") if path.suffix in {".yaml", ".json", ".md"})
    asked = {re.sub("_(bucket|count|sum)$", "", name) for name in re.findall(r"\bseawall_\w+[a-z]\b", text)}
    assert asked <= rows().keys()


def test_a_metric_is_told_with_its_labels() -> None:
    registry = CollectorRegistry()
    Gauge("one", "What it is", ["kind", "name"], registry=registry)
    assert published_metrics(registry) == [PublishedMetric("one", "gauge", ("kind", "name"), "What it is")]


def test_each_name_in_metadata_has_a_row() -> None:
    """Whatever the sources and the pages say that begins with our group."""
    texts = [path.read_text() for path in (*SOURCE.rglob("*.py"), *PAGES)]
    said = {name for text in texts for name in re.findall(r"(?<!/)\bseawall\.dev/[a-z0-9]+(?:-[a-z]+)*", text)}
    said |= {f"seawall.dev/{name}" for text in texts for name in re.findall(r"\{GROUP\}/([a-z0-9]+(?:-[a-z]+)*)", text)}
    assert {each.name for each in metadata_names()} == said - {API_VERSION}
    assert {each.name for each in metadata_names()} <= rows().keys()


def test_a_name_without_a_docstring_is_an_error() -> None:
    with pytest.raises(PageError, match="MINE_ANNOTATION has no docstring"):
        list(names_in(ast.parse('MINE_ANNOTATION = f"{GROUP}/mine"\nOTHER = 1\n')))


def test_no_event_has_a_reason_that_is_on_no_page() -> None:
    """A reason is a member of a closed set, or what a state is called."""
    written = [
        f"{path}:{call.lineno}: {ast.unparse(call.args[1])}"
        for path, module in sources()
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Event" and call.args
        if isinstance(call.args[1], ast.Constant)
    ]
    assert not written


def known_events() -> Iterator[str]:
    paths = set(sets_of_reasons())
    for each in enums_of(seawall.domain):
        if f"{each.__module__}.{each.__name__}" in paths:
            yield from _values(each)
    yield from _values(StopReason)
    yield from (f"Hold{state.value}" for state in HoldState)
    yield from (f"Reassignment{stage.value}" for stage in ReassignmentStage)


def _values(words: type[StrEnum]) -> Iterator[str]:
    yield from (word.value for word in words)


def test_the_events_of_the_transcripts_are_on_the_page() -> None:
    posted = {
        reason
        for path in TRANSCRIPTS.rglob("*.txt")
        for reason in re.findall(r"^ +event (?:Normal|Warning) (\w+):", path.read_text(), re.MULTILINE)
    }
    assert len(posted) >= LEAST_EVENTS
    assert not posted - set(known_events())


def test_every_event_of_the_closed_set_is_posted_somewhere() -> None:
    text = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    assert not {reason.name for reason in EventReason if f"EventReason.{reason.name}" not in text}


def broken_rows(page: str) -> list[str]:
    """Rows that have another number of cells than their head, or that do not end where they should."""
    broken, cells = [], 0
    for line in FENCE.sub("", page).splitlines():
        if not line.startswith("|"):
            broken += [line] if cells and line.strip() else []
            cells = 0
            continue
        found = len(re.findall(r"(?<!\\)\|", line)) - 1
        cells = cells or found
        if found != cells or not line.endswith("|"):
            broken.append(line)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_rows_of_tables_are_whole(page: Path) -> None:
    assert not broken_rows(page.read_text())


def test_a_row_stays_one_whatever_is_in_it() -> None:
    text = markdown(("a", "b"), [("`x|y`", "one\ntwo <three> | four"), ("", "docs/purging.md")])
    assert not broken_rows(text)
    assert text.splitlines()[2] == "| `x\\|y` | one two &lt;three> \\| four |"
    assert broken_rows("| a | b |\n|---|---|\n| c | d\ne |\n") == ["| c | d", "e |"]
