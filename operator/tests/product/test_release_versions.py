"""The version of a release: wherever it stands, and in the changelog."""

from __future__ import annotations

from pathlib import Path

import pytest
import versions

from seawall_e2e.releases import upgraded

ROOT = Path(__file__).parents[3]
CHANGELOG = "# Changelog\n\n## Unreleased\n\n* New.\n\n## 0.0.9 (2026-01-02)\n\n* Old.\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of version 0.1.0, of which the newest release is 0.0.9."""
    for pattern in {each.partition("#")[0] for each in versions.PLACES} | {*versions.GUIDES}:
        for path in ROOT.glob(pattern):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
    (tmp_path / versions.CHANGELOG).write_text(CHANGELOG)
    return tmp_path


def test_a_tree_has_one_version() -> None:
    found = {has for _, _, has in versions._standing(ROOT)}
    assert len(found) == 1
    assert {has for _, has in versions._named(ROOT)} == found


def test_all_pages_and_examples_that_name_the_version_follow_it() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*") if path.suffix in {".md", ".yaml"}]
    naming = {str(path.relative_to(ROOT)) for path in pages if versions.NAMED.search(path.read_text())}
    assert naming == set(versions.GUIDES)


def test_a_prepared_tree_is_that_version_everywhere(root: Path) -> None:
    assert len(versions.differences(root, "1.2.3")) == 11 + len(versions.GUIDES)
    versions.prepare(root, "1.2.3", "2026-11-26")
    assert versions.differences(root, "1.2.3") == []
    for name in versions.GUIDES:
        before, now = (ROOT / name).read_text(), (root / name).read_text()
        assert versions.NAMED.findall(now) == ["1.2.3"] * len(versions.NAMED.findall(before)), name
        assert now == versions.NAMED.sub(lambda found: found[0].replace(found[1], "1.2.3"), before), name
    assert "VERSION=0.1.0" in (root / "docs/releases.md").read_text(), "what was once is not written anew"
    assert "0.1.0" not in (root / "docs/install.md").read_text()
    assert 'requires = ["hatchling==1.33.0"]' in (root / "operator/pyproject.toml").read_text(), (
        "and nothing else changed"
    )


def test_what_is_unreleased_becomes_the_versions_section_once(root: Path) -> None:
    versions.prepare(root, "1.2.3", "2026-11-26")
    versions.prepare(root, "1.2.3", "2026-11-27")
    text = (root / versions.CHANGELOG).read_text()
    assert text == CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## 1.2.3 (2026-11-26)\n")
    assert versions.notes(root, "1.2.3") == "* New."
    assert versions.notes(root, "0.0.9") == "* Old."
    assert versions.notes(root, "1.2") == ""


@pytest.mark.parametrize(
    "place", ["operator/pyproject.toml", "charts/seawall/Chart.yaml", "charts/seawall-crds/Chart.yaml"]
)
def test_a_place_that_was_forgotten_is_told(root: Path, place: str) -> None:
    versions.prepare(root, "1.2.3", "2026-11-26")
    path = root / place
    path.write_text(path.read_text().replace("1.2.3", "1.2.2", 1))
    assert versions.differences(root, "1.2.3") == [f"{place} has 1.2.2"]


@pytest.mark.parametrize("guide", versions.GUIDES)
def test_a_guide_that_was_forgotten_is_told(root: Path, guide: str) -> None:
    """Its commands and samples would install the images of the release before."""
    versions.prepare(root, "1.2.3", "2026-11-26")
    path = root / guide
    path.write_text(path.read_text().replace("1.2.3", "1.2.2"))
    assert versions.differences(root, "1.2.3") == [f"{guide} names 1.2.2"]


@pytest.mark.parametrize(
    ("tag", "here", "tried"),
    [
        (None, "0.1.0", ("0.0.1", "0.1.0")),
        ("v0.1.0", "0.2.0", ("0.1.0", "0.2.0")),
        ("v0.9.0", "0.10.0", ("0.9.0", "0.10.0")),
        ("v0.1.0", "0.1.0", ("0.1.0", "0.1.1")),
    ],
)
def test_an_upgrade_is_from_one_version_to_another(tag: str | None, here: str, tried: tuple[str, str]) -> None:
    assert upgraded(tag, here) == tried
