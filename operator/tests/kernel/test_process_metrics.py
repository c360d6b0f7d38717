"""What a process says of itself, whether it leads or not: since when it runs, and which namespaces it serves."""

from __future__ import annotations

import time

from seawall.handlers.metrics.telemetry import Telemetry


def published(telemetry: Telemetry, metric: str) -> list[str]:
    lines = telemetry.exposition().decode().splitlines()
    return [line for line in lines if line.startswith(metric)]


def test_each_served_namespace_has_a_series_and_the_whole_cluster_none() -> None:
    """A list that replaces the one of before shows as a series that ends."""
    telemetry = Telemetry(per_topic=False, namespaces=("db-a", "db-b"))
    served = [f'seawall_served_namespace{{namespace="{name}"}} 1.0' for name in ("db-a", "db-b")]
    assert published(telemetry, "seawall_served_namespace") == served
    telemetry.lead(leading=False)
    assert published(telemetry, "seawall_served_namespace") == served
    assert published(Telemetry(per_topic=False), "seawall_served_namespace") == []


def test_a_process_says_when_it_began() -> None:
    before = time.time()
    telemetry = Telemetry(per_topic=False)
    telemetry.lead(leading=False)
    (line,) = published(telemetry, "seawall_process_start_time_seconds")
    assert before <= float(line.split()[1]) <= time.time()
