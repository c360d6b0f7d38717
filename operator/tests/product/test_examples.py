"""The examples get from pydantic the verdict that their folder says; test_crds asks the API server the same."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from seawall.api.meta import APIModel
from seawall.api.v1alpha1.kinds import KINDS

EXAMPLES = Path(__file__).parents[3] / "crds/examples"


def parse(raw: dict[str, Any]) -> APIModel:
    """The spec of an object of any of our kinds."""
    (kind,) = (kind for kind in KINDS if kind.kind == raw["kind"])
    return kind.spec.model_validate(raw["spec"], by_alias=True, by_name=False)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "valid").glob("*.yaml")), ids=lambda path: path.stem)
def test_valid_examples_are_accepted(path: Path) -> None:
    parse(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", sorted((EXAMPLES / "invalid").glob("*.yaml")), ids=lambda path: path.stem)
def test_invalid_examples_are_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        parse(yaml.safe_load(path.read_text()))


def test_every_kind_has_examples_of_both() -> None:
    for verdict in ("valid", "invalid"):
        kinds = {yaml.safe_load(path.read_text())["kind"] for path in (EXAMPLES / verdict).glob("*.yaml")}
        assert kinds == {kind.kind for kind in KINDS}, verdict


PAGES = [*sorted(EXAMPLES.parents[1].glob("docs/*.md")), EXAMPLES.parents[1] / "README.md"]


def whole_objects(page: Path) -> list[dict[str, Any]]:
    """The objects that a page shows whole; others show some fields and have no apiVersion."""
    shown = (yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL))
    return [each for each in shown if str(each.get("apiVersion", "")).startswith("seawall.dev/")]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_what_the_pages_show_is_accepted(page: Path) -> None:
    for shown in whole_objects(page):
        parse(shown)


def test_the_pages_show_something_of_what_they_are_about() -> None:
    shown = {page.name: {each["kind"] for each in whole_objects(page)} for page in PAGES}
    assert shown["README.md"] == {
        "WALBackupPolicy",
        "WALCluster",
        "WALPurgePolicy",
        "WALSubscription",
        "WALVerification",
    }
    assert "WALSubscription" in shown["subscription.md"]
    assert "WALPurgePolicy" in shown["purging.md"]
    assert "WALVerification" in shown["verification.md"]
