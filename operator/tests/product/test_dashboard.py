"""The dashboard, judged by Grafana's own schemas, and each of its queries asked of a real Prometheus engine."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from seawall.crdgen.names import PublishedMetric, published_metrics
from seawall_e2e.loopback.processes import platform_folder
from tests.product.test_alerts import FETCH_TIMEOUT
from tests.product.test_chart import EVERYTHING, Render, helm, render, the

__all__ = ["helm", "render"]  # fixtures
BUILD_TIMEOUT = 600
MINUTES = 70
"""Longer than the longest range but a day, of which a counter that rises shows a part."""
VALUES = {"namespace": "db", "state": "UnderMinISR", "type": "Stalled", "status": "True"}
"""Of labels that queries choose by; others have any."""
VARIABLES = {"$__rate_interval": "5m", "$namespace": "db"}

Dashboard = dict[str, Any]


@pytest.fixture
def dashboard(render: Render) -> Dashboard:
    """As the chart's ConfigMap has it."""
    found: Dashboard = json.loads(the(render(EVERYTHING), "ConfigMap")["data"]["seawall.json"])
    return found


def judged_by_grafana(dashboard: Dashboard) -> str:
    """What Grafana's schemas find wrong; empty: nothing."""
    program = platform_folder("dashboard.sh", BUILD_TIMEOUT) / "dashboard"
    done = subprocess.run([str(program)], input=json.dumps(dashboard), capture_output=True, text=True, check=False)  # noqa: S603 - ours
    return "" if done.returncode == 0 else done.stderr


def panel_of(dashboard: Dashboard, kind: str) -> dict[str, Any]:
    return next(panel for panel in dashboard["panels"] if panel["type"] == kind)


def test_it_is_what_grafana_reads(dashboard: Dashboard) -> None:
    assert judged_by_grafana(dashboard) == ""
    kinds = {each["name"]: each["type"] for each in dashboard["templating"]["list"]}
    assert kinds == {"datasource": "datasource", "namespace": "query"}, "of which the schemas take any"


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (lambda each: each.update(tittle="Seawall"), "unexpected field 'tittle'"),
        (lambda each: each.pop("annotations"), "annotations: required field"),
        (lambda each: panel_of(each, "stat").update(type="graph"), "no schema"),
        (lambda each: panel_of(each, "stat")["targets"][0].update(exp="1"), "unexpected field 'exp'"),
        (
            lambda each: panel_of(each, "timeseries")["fieldConfig"]["defaults"].update(custom={"lineWith": 2}),
            "lineWith",
        ),
    ],
)
def test_what_grafana_does_not_know_is_found(
    dashboard: Dashboard, breaks: Callable[[Dashboard], object], said: str
) -> None:
    broken = copy.deepcopy(dashboard)
    breaks(broken)
    assert said in judged_by_grafana(broken)


def queries_of(dashboard: Dashboard) -> list[str]:
    """Each query, with what Grafana puts in for its variables."""
    found = []
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = str(target["expr"])
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            found.append(query)
    return found


def series_of(metric: PublishedMetric) -> Iterator[str]:
    """Those that there are of a metric, each with all labels that it has, and no others."""
    labels = {each: VALUES.get(each, "any") for each in metric.labels}
    if metric.type != "histogram":
        yield written(metric.name, labels)
        return
    for bound in ("1", "+Inf"):
        yield written(f"{metric.name}_bucket", {**labels, "le": bound})
    yield written(f"{metric.name}_count", labels)


def written(name: str, labels: Mapping[str, str]) -> str:
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inside}}}"


def silent(queries: list[str], folder: Path) -> str:
    """What promtool says of queries that find nothing, or cannot be read; empty: each finds something."""
    series = [
        {"series": each, "values": f"1+1x{MINUTES}"} for metric in published_metrics() for each in series_of(metric)
    ]
    asked = [
        {
            "expr": f"clamp_max(count({query}), 1)",
            "eval_time": f"{MINUTES}m",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for query in queries
    ]
    tests = [{"interval": "1m", "input_series": series, "promql_expr_test": asked}]
    (folder / "tests.yaml").write_text(json.dumps({"rule_files": [], "tests": tests}))
    command = [str(platform_folder("promtool.sh", FETCH_TIMEOUT) / "promtool"), "test", "rules", "tests.yaml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - promtool
    return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}"


def test_each_query_finds_series_as_the_operator_has_them(dashboard: Dashboard, tmp_path: Path) -> None:
    queries = queries_of(dashboard)
    assert not [query for query in queries if "$" in query]
    assert silent(queries, tmp_path) == ""


@pytest.mark.parametrize(
    "query",
    [
        "sum by (namespace) (seawall_topics{namespce='db'})",  # a label that it does not have
        "sum(seawall_topic)",
        "sum(seawall_leader",
    ],
)
def test_a_query_that_finds_nothing_is_found(query: str, tmp_path: Path) -> None:
    assert silent([query], tmp_path) != ""
