"""The examples get from pydantic the verdict that their folder says; test_crds asks the API server the same."""

import re
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from seawall.api.v1alpha1.wal_cluster import WALClusterSpec

EXAMPLES = Path(__file__).parents[2] / "crds/examples"


@pytest.mark.parametrize("path", sorted((EXAMPLES / "valid").glob("*.yaml")), ids=lambda path: path.stem)
def test_valid_examples_are_accepted(path: Path) -> None:
    WALClusterSpec.model_validate(yaml.safe_load(path.read_text())["spec"], by_alias=True, by_name=False)


@pytest.mark.parametrize("path", sorted((EXAMPLES / "invalid").glob("*.yaml")), ids=lambda path: path.stem)
def test_invalid_examples_are_refused(path: Path) -> None:
    with pytest.raises(ValidationError):
        WALClusterSpec.model_validate(yaml.safe_load(path.read_text())["spec"], by_alias=True, by_name=False)


def test_the_readmes_example_is_accepted() -> None:
    text = (EXAMPLES.parents[1] / "README.md").read_text()
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    WALClusterSpec.model_validate(yaml.safe_load(example)["spec"], by_alias=True, by_name=False)
