"""The benchmarks that need pods run small: they end, their peers ran, and their JSON is of the format.

How long anything takes is no test's business.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import managed_kafka
import roll
from pods import Place
from result_format import require_valid

from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox


def test_roll(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    roll.main(["--size", "small", "--results", str(tmp_path)], Place(site, toolbox))
    assert peers_of(tmp_path / "roll.json") == {"sum of the bare replays", "in a restart by hand"}


def test_kafka(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    managed_kafka.main(["--size", "small", "--results", str(tmp_path)], Place(site, toolbox))
    assert peers_of(tmp_path / "kafka.json") == {"the same objects by hand"}


def peers_of(path: Path) -> set[str]:
    """What a result compares with, once it is known to be of the format."""
    body: dict[str, Any] = json.loads(path.read_text())
    require_valid(body)
    return {result["against"] for result in body["results"]} - {None}
