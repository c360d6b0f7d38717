"""Each YAML block of docs/install.md, and each sample that it names, is applied to a real API server with the CRDs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.kube import Object
from tests.support.site import Site

pytestmark = pytest.mark.integration

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "install.md"
SAMPLES = ("own-manifests", "managed-kafka")
APPLIED = re.compile(r"<<'YAML'\n(.*?)\n *YAML\n", re.DOTALL)
SHOWN = re.compile(r"^( *)```yaml\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
SECRET = re.compile(r"^kubectl -n databases (create secret .*)$", re.MULTILINE)


def blocks() -> list[Object]:
    """All YAML of the page, in its order; fragments are the spec of the WALCluster above them."""
    page = PAGE.read_text()
    found = [(each.start(), each[1]) for each in APPLIED.finditer(page)]
    found += [(each.start(), each[2]) for each in SHOWN.finditer(page)]
    return [yaml.safe_load(text) for _, text in sorted(found)]


def test_each_block_of_the_page_is_applied_as_it_is(own_site: Site) -> None:
    site, kinds = own_site, list[str]()
    for block in blocks():
        if "kind" not in block:
            merged = site.kube.merge(site.path(), block)
            assert block["spec"]["dataPlane"].items() <= _given(merged, block).items(), "nothing of it was dropped"
            kinds.append("fragment")
            continue
        assert block["metadata"].pop("namespace") == "databases"
        site.kube.server.kubectl("apply", "-n", site.namespace, "-f", "-", stdin=yaml.safe_dump(block))
        if block["kind"] == "WALCluster":  # the fragments complete the samples, which say where the database is
            site.kube.server.kubectl("apply", "-n", site.namespace, "-k", str(DOCS / "examples" / SAMPLES[0]))
        kinds.append(block["kind"])
    assert kinds == ["WALCluster", "fragment", "WALPurge", "WALPurge", "fragment"]
    (secret,) = SECRET.findall(PAGE.read_text())
    site.kube.server.kubectl("-n", site.namespace, *secret.split())


def _given(found: Object, block: Object) -> Object:
    """The members of the data plane that a fragment gives, as the API server has them, without its defaults."""

    def only(value: object, shape: object) -> object:
        if isinstance(value, dict) and isinstance(shape, dict):
            return {key: only(value.get(key), shape[key]) for key in shape}
        return value

    given = only(found["spec"]["dataPlane"], block["spec"]["dataPlane"])
    assert isinstance(given, dict)
    return given


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_is_applied_as_it_is_and_nothing_of_it_is_dropped(own_site: Site, sample: str) -> None:
    site, folder = own_site, str(DOCS / "examples" / sample)
    assert f"docs/examples/{sample}" in PAGE.read_text(), "the page says how"
    first = site.kube.server.kubectl("apply", "-n", site.namespace, "-k", folder).splitlines()
    assert len(first) == 2
    again = site.kube.server.kubectl("apply", "-n", site.namespace, "-k", folder).splitlines()
    assert all(line.endswith(" unchanged") for line in again), again
