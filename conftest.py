"""What holds for the tests of all distributions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("no timed tests", deadline=None)  # machines are noisy
settings.load_profile("no timed tests")

GROUPS = {
    "cluster": "cluster",
    "kube": "operator",
    "api_server": "api-server",
    "one_kafka": "refdb",
    "kafka": "kafka",
    "sasl_kafka": "kafka",
    "etcd": "etcd",
}
"""Bed → group of the tests that use it; the first counts: what the shared operator brings is dearest."""
LONGEST = ("cluster", "operator", "kafka", "api-server", "spark", "refdb")
"""Groups that take minutes, longest first: the tests on the cluster take a third of all time."""
LONG = (
    "test_a_purge_loses_no_row",
    "test_a_roll_waits_for_the_wal",
    "test_a_verification_gates_a_purge",
    "test_mutants",
    "test_simulation",
)
"""Files that take minutes of their group, or half a minute without beds: they are the first of their group.

A worker is given its next group three tests before the end of one: those should be short.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tells each test, `beds` and xdist with which others it shares what it runs on."""
    marker, found = metafunc.definition.get_closest_marker("xdist_group"), ""
    if marker is not None:
        found = str(marker.args[0])
    elif "cluster" in metafunc.fixturenames or metafunc.definition.get_closest_marker("integration"):
        found = next((group for bed, group in GROUPS.items() if bed in metafunc.fixturenames), "")
    marks = [pytest.mark.xdist_group(found)] if found and marker is None else []
    group = pytest.param(found, id=pytest.HIDDEN_PARAM, marks=marks)
    metafunc.parametrize("beds", [group], indirect=True, scope="session")


@pytest.fixture(scope="session", autouse=True)
def beds(request: pytest.FixtureRequest) -> str:
    """The group of a test; fixtures that depend on it last until a test of another group begins.

    Processes that nobody uses any more take a tenth of the machine.
    """
    return str(getattr(request, "param", ""))  # a TestCase has none


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Keeps tests of a group on one worker of xdist (--dist loadgroup), so that beds start once.

    A test that brings its beds itself stays with those of its file. What takes long begins first, and single tests fill
    what is left: no worker waits for the others at the end. Without --no-loadscope-reorder, xdist would begin with the
    groups of the most tests.
    """
    for item in items:
        if item.get_closest_marker("integration") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    yield
    items.sort(key=_order)


def _order(item: pytest.Item) -> tuple[bool, int, str, bool]:
    marker = item.get_closest_marker("xdist_group")
    group, is_short = str(marker.args[0]) if marker else "", item.path.stem not in LONG
    return marker is None, LONGEST.index(group) if group in LONGEST else len(LONGEST), group, is_short
