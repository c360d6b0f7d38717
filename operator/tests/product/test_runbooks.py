"""Each alert has a page, each page an alert; what the pages name and tell people to type is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import seawall.api
import seawall.domain
from seawall.api.v1alpha1.kinds import KINDS
from seawall.handlers.metrics.backups import OUTCOMES
from seawall.reconciler import STATUS_NOT_WRITTEN
from tests.product.runbook_commands import FENCE, blocks, script_of, typed, wrong_words
from tests.product.test_architecture import LINKED, leads_somewhere
from tests.product.test_chart import CHART, EVERYTHING, Render, Values, helm, render, the
from tests.product.test_conditions_page import enums_of

__all__ = ["helm", "render"]  # fixtures
ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "runbooks"
INDEX = FOLDER / "README.md"
PAGES = sorted(set(FOLDER.glob("*.md")) - {INDEX})
HEADINGS = ["## Meaning", "## Impact", "## Diagnosis", "## Way out"]
FEWEST_LINES, MOST_LINES = 25, 50
OTHER_WORDS = frozenset({"LastCaughtUpTimestamp", "NaN", "OOMKilled", "SequenceReused", "VerificationSchedule"})
"""Of Kafka's tools, Prometheus, Kubernetes, the Spark application, and a queue's name (label `kind`)."""


def alerts(render: Render, values: Values = EVERYTHING) -> dict[str, str]:
    """Alert → where it leads."""
    (group,) = the(render(values), "PrometheusRule")["spec"]["groups"]
    return {rule["alert"]: rule["annotations"].get("runbook_url", "") for rule in group["rules"]}


def test_each_alert_has_a_page_and_each_page_an_alert(render: Render) -> None:
    assert sorted(alerts(render)) == [page.stem for page in PAGES]


def test_each_alert_leads_to_its_page(render: Render) -> None:
    for base in ("https://forge.example/seawall/blob/main/docs/runbooks", "http://docs/"):
        found = alerts(render, {**EVERYTHING, "prometheusRule": {"enabled": True, "runbookBaseUrl": base}})
        assert found == {alert: f"{base.rstrip('/')}/{alert}.md" for alert in found}
    assert all(url.startswith("https://") for url in alerts(render).values())


def test_the_charts_table_has_each_alert_once(render: Render) -> None:
    rows = re.findall(
        r"^\| \[`(\w+)`\]\(\.\./\.\./docs/runbooks/(\w+)\.md\) \| .+ \|$",
        (CHART / "README.md").read_text(),
        re.MULTILINE,
    )
    assert sorted(rows) == [(alert, alert) for alert in sorted(alerts(render))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_are_short_and_alike(page: Path) -> None:
    text = page.read_text()
    headings = re.findall(r"^#+ .+$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    assert headings == [f"# {page.stem}", *HEADINGS]
    assert FEWEST_LINES <= len(text.splitlines()) <= MOST_LINES
    diagnosis = text.partition("## Diagnosis")[2].partition("## Way out")[0]
    assert blocks(diagnosis), "it is found out by commands"
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(FENCE.findall(text)), "every block is checked"


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_links_of_runbooks_lead_somewhere(page: Path) -> None:
    broken = [
        target
        for target in LINKED.findall(page.read_text())
        if "://" not in target and not _leads(page, *target.partition("#")[::2])
    ]
    assert not broken


def _leads(page: Path, path: str, heading: str) -> bool:
    return leads_somewhere((page.parent / path) if path else page, heading)


def known_words() -> Iterator[str]:
    """Reasons, states, stages, conditions, kinds and alerts."""
    for package in (seawall.api, seawall.domain):
        for each in enums_of(package):
            yield from (member.value for member in each)
    yield from (kind.kind for kind in KINDS)
    yield STATUS_NOT_WRITTEN
    yield from OUTCOMES
    yield from (page.stem for page in PAGES)


def test_each_word_that_a_page_quotes_is_one_of_ours() -> None:
    known = set(known_words()) | OTHER_WORDS
    quoted = {
        (page.stem, word)
        for page in PAGES
        for word in re.findall(r"`([A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}\w+)`", page.read_text())
    }
    assert not {(page, word) for page, word in quoted if word not in known}


def test_votes_of_a_kafka_that_seawall_runs_are_left_to_it() -> None:
    """By hand beside it two voters would be away at once."""
    way_out = (FOLDER / "SeawallQuorumAtRisk.md").read_text().partition("## Way out")[2]
    points = re.split(r"^\* ", way_out.partition("\n\n")[2].partition("\n\n")[0], flags=re.MULTILINE)[1:]
    (managed,) = [at for at, point in enumerate(points) if "kafka.managed" in point]
    (by_hand,) = [at for at, point in enumerate(points) if "remove-controller" in point]
    assert managed < by_hand
    assert points[by_hand].startswith("Of any other Kafka")
    assert all(word in points[managed] for word in ("no vote", "`ChangingVoters`", "(../kafka.md#voters)"))


def test_what_the_pages_tell_people_to_type_can_be_typed(tmp_path: Path) -> None:
    calls, wrong = set(), []
    for page in [INDEX, *PAGES]:
        (folder := tmp_path / page.stem).mkdir()
        found, problem = typed(script_of(page.read_text()), folder)
        calls |= set(found)
        wrong += [f"{page.stem}: {problem}"] if problem else []
    assert not wrong, "\n".join(wrong)
    wrong = wrong_words(sorted(calls), tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get walc wal | grep 'Ready",
        'kubectl -n "$NOBODY" get walc',
        "etcdctl endpoint status",
        "kubectl get walc --sort",
        "kubectl describe walx wal",
        "kubectl get walc wal -o jsonpath='{.status.restart.nothing}'",
        "kubectl get walv -o jsonpath='{range .items[*]}{.status.nothing}{end}'",
        "kubectl get walv x -o jsonpath='{range .status.findings[*]}{.nothing}{end}'",
        "seawall ledger",
        "seawall hold drop x",
        "seawall drop --help",
        "kafka-topics --bootstrap-server x --describe --under-min-isr",
    ],
)
def test_what_cannot_be_typed_is_found(tmp_path: Path, command: str) -> None:
    calls, problem = typed(script_of(f"```sh\n{command}\n```\n"), tmp_path)
    assert problem or wrong_words(calls, tmp_path)
