"""The benchmark that needs pods runs small, and its peer with it; how long it takes is no test's business."""

from __future__ import annotations

import json
from pathlib import Path

import roll
from result_format import require_valid

from seawall_e2e.refdb import RefDbImages
from seawall_e2e.site import Site
from seawall_e2e.toolbox import Toolbox


def test_roll(site: Site, toolbox: Toolbox, refdb_images: RefDbImages, tmp_path: Path) -> None:
    roll.main(["--size", "small", "--results", str(tmp_path)], roll.Place(site, toolbox, refdb_images))
    require_valid(json.loads((tmp_path / "roll.json").read_text()))
