"""What pages tell people to set by hand is a field that there is, and stays set where Flux applies the object from Git.

Flux takes away what a field manager wrote whose name begins with `kubectl`, as those of kubectl's commands do. The API
server drops a field that it does not know, and kubectl calls that patched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client import ApiClient

from seawall.api.v1alpha1.kinds import KINDS
from seawall.crdgen.crd import build_crd

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *(ROOT / "charts").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
TEXTS = [*sorted(page for page in PAGES if "adr" not in page.parts), ROOT / "e2e/src/seawall_e2e/demo.py"]
COMMAND = re.compile(r"kubectl (?:-n \S+ )?annotate (?:\\\n|[^`\n])*")
OURS = re.compile(r"seawall\.dev/|strimzi\.io/")
PATCH = re.compile(r"kubectl (?:-n \S+ )?patch ([a-z]+) (?:[^`\n']|\\\n)*?-p '(\{[^']*\})'")
MANAGER = "--field-manager=by-hand"
KUBERNETES_OWN = {"pv"}
"""Kinds that pages patch and whose fields no CRD of ours has."""


def commands(text: str) -> list[str]:
    """The commands of a page that set an annotation which Seawall or Strimzi reads."""
    return [found for found in COMMAND.findall(text) if OURS.search(found)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_no_page_sets_an_annotation_that_flux_takes_away(page: Path) -> None:
    assert [found for found in commands(page.read_text()) if MANAGER not in found] == []


def test_the_commands_of_the_pages_are_found() -> None:
    found = {page.name: len(commands(page.read_text())) for page in TEXTS}
    assert {name for name, count in found.items() if count} >= {
        "purging.md",
        "replication.md",
        "strimzi.md",
        "SeawallReassignmentHangs.md",
        "demo.py",
    }
    assert commands('kubectl -n "$NAMESPACE" annotate walc x \\\n  seawall.dev/paused=true\n')
    assert commands("`kubectl annotate walc/wal seawall.dev/stop-deletes=true`")
    assert not commands("`kubectl annotate pod x example.org/y=z`, seawall.dev/paused")


def test_the_command_line_is_no_manager_that_flux_takes_for_kubectl() -> None:
    """The API server names the manager after what stands before the first slash of the user agent."""
    manager = ApiClient().user_agent.partition("/")[0]
    assert manager
    assert not manager.startswith(("kubectl", "before-first-apply", "kustomize-controller"))
    assert not MANAGER.partition("=")[2].startswith("kubectl")


def patches(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Kind, as it is typed, and body of each merge patch of a page, but for those of Kubernetes' own kinds."""
    return [(kind, json.loads(body)) for kind, body in PATCH.findall(text) if kind not in KUBERNETES_OWN]


def unknown_fields(kind: str, body: Mapping[str, Any]) -> list[str]:
    """The fields of a patch that the CRD does not have."""
    (ours,) = (each for each in KINDS if kind in {each.plural, each.kind.lower(), *each.short_names})
    schema = build_crd(ours)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return list(_unknown(schema, body, ""))


def _unknown(schema: Mapping[str, Any], body: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, value in body.items():
        known = schema.get("properties", {}).get(name)
        if known is None:
            yield f"{path}.{name}"
        elif isinstance(value, Mapping):
            yield from _unknown(known, value, f"{path}.{name}")


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_a_patch_that_a_page_shows_sets_what_there_is(page: Path) -> None:
    assert [path for kind, body in patches(page.read_text()) for path in unknown_fields(kind, body)] == []


def test_the_patches_of_the_pages_are_found() -> None:
    found = {page.name for page in TEXTS if patches(page.read_text())}
    assert found >= {"install.md", "subscription.md", "SeawallNoBackupForADay.md"}
    assert unknown_fields("walcluster", {"spec": {"deletionPolicy": "Retain"}}) == [".spec.deletionPolicy"]
    assert unknown_fields("walc", {"spec": {"topics": {"deletionPolicy": "Retain"}}}) == []


LIST = re.compile(r"^.*--set '[\w.]+=\{", re.MULTILINE)
"""A line of a command that sets a list of the chart."""
REPLACES = re.compile(r"(?:the|a|each) list replaces the one of before", re.IGNORECASE)
NOTES = ROOT / "charts/seawall/templates/NOTES.txt"


def unsaid_lists(text: str) -> list[str]:
    """Commands that set a list, and whose section does not say that it takes the one of before away."""
    sections = re.split(r"^#+ ", text, flags=re.MULTILINE)
    return [found for each in sections for found in LIST.findall(each) if not REPLACES.search(" ".join(each.split()))]


@pytest.mark.parametrize("page", [*TEXTS, NOTES], ids=lambda page: page.name)
def test_who_sets_a_list_is_told_that_it_replaces_the_one_of_before(page: Path) -> None:
    """A second database's command would take the first one's Secrets away."""
    assert unsaid_lists(page.read_text()) == []


def test_commands_that_set_a_list_are_found() -> None:
    counts = {page: len(LIST.findall(page.read_text())) for page in (*TEXTS, NOTES)}
    assert {page.name for page, count in counts.items() if count} >= {
        "install.md",
        "strimzi.md",
        "README.md",
        "NOTES.txt",
    }
    assert unsaid_lists("# A\nEach list replaces the one of before.\n# B\n helm x --set 'secrets.names={a}'\n")
