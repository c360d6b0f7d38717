"""The benchmark that needs pods runs small, and its peer with it; how long it takes is no test's business."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import roll
from result_format import require_valid

from seawall_e2e.refdb import RefDbImages
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox


# A roll on pods is in every run: test_a_roll_waits_for_the_wal.py. The other benchmarks run small there, on processes.
@pytest.mark.soak
def test_roll(site: Site, toolbox: Toolbox, refdb_images: RefDbImages, tmp_path: Path) -> None:
    roll.main(["--size", "small", "--results", str(tmp_path)], roll.Place(site, toolbox, refdb_images))
    require_valid(json.loads((tmp_path / "roll.json").read_text()))
