"""The benchmark that needs pods runs small, and its peer with it; how long it takes is no test's business."""

from __future__ import annotations

import json
from pathlib import Path

import managed_kafka
import pytest
import roll
from pods import Place
from result_format import require_valid

from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox


# A roll on pods is in every run: test_a_roll_waits_for_the_wal.py. The other benchmarks run small there, on processes.
@pytest.mark.soak
def test_roll(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    roll.main(["--size", "small", "--results", str(tmp_path)], Place(site, toolbox))
    require_valid(json.loads((tmp_path / "roll.json").read_text()))


# Two Kafkas of three nodes are brought up and rolled: three minutes.
@pytest.mark.soak
def test_kafka(site: Site, toolbox: Toolbox, tmp_path: Path) -> None:
    managed_kafka.main(["--size", "small", "--results", str(tmp_path)], Place(site, toolbox))
    require_valid(json.loads((tmp_path / "kafka.json").read_text()))
