"""What holds for the tests of all distributions."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

from seawall_e2e.worker_shares import WorkerShares

settings.register_profile("no timed tests", deadline=None)  # machines are noisy
settings.load_profile("no timed tests")

GROUPS = {
    "cluster": "cluster",
    "kube": "operator",
    "api_server": "api-server",
    "one_kafka": "refdb",
    "kafka": "kafka",
    "sasl_kafka": "sasl-kafka",
    "etcd": "etcd",
}
"""Bed → group of the tests that use it; the first counts: what the shared operator brings is dearest."""
LATE = ("kafka", "refdb", "sasl_kafka")
"""Beds that cost much while nobody uses them: in a group, tests without them come first, those with the last last."""
SMALL = "any other group"
ORDER = ("cluster", "operator", "api-server", "spark", "mirror", "kafka", "refdb", "sasl-kafka", SMALL)
"""How groups begin: the longest first, by what the end of a run says of them (`seawall_e2e.worker_shares`).

A long one that begins late is what all others wait for: api-server after the small ones was five minutes in which half
of the machine did nothing. Tests without a group fill what is left.
"""
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
IN_BACKGROUND = "seawall_in_background"
"""What the controller tells each worker: whether it is the one in the background."""
NICENESS = 10
"""Of the worker in the background: beside two busy cores, it has a fifteenth of one."""
PATIENCE = 4
"""By how much longer than anywhere a test may take there before it counts as hanging."""


class WithBackgroundWorker(LoadGroupScheduling):
    """The last of the workers is given tests without a group only: it does what the others leave, while they wait.

    One with beds would slow all the others down: a database that is written to, or a Kafka, costs as long as it lives.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if node.workerinput[IN_BACKGROUND]:
            single = next((scope for scope in self.workqueue if "::" in scope), None)
            if single is None:
                return
            self.workqueue.move_to_end(single, last=False)
        super()._assign_work_unit(node)


def pytest_configure_node(node: WorkerController) -> None:
    """The last of several workers is in the background, where tests are given out by groups (--dist loadgroup)."""
    workers = node.workerinput["workercount"]
    is_last_of_several = workers > 1 and node.gateway.id == f"gw{workers - 1}"
    node.workerinput[IN_BACKGROUND] = node.config.option.dist == "loadgroup" and is_last_of_several


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    """Has the tests of groups given out with a worker in the background."""
    return WithBackgroundWorker(config, log) if config.option.dist == "loadgroup" else None


def pytest_configure(config: pytest.Config) -> None:
    """The controller of several workers notes who does what.

    A shell has its background ignore SIGINT, and whoever is started there does so too: to a test that presses Ctrl-C,
    nothing would end.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config.option, "dist", "no") == "loadgroup" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(WorkerShares())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Looks for no garbage while tests are collected: all that is imported stays.

    Nor later in what was: each look at it takes half a second, and pytest makes five at the end of each worker.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Gives way to all others, in the background worker.

    Linux weighs sessions before it weighs the processes of one (sched(7), the autogroup feature), and each Kafka has
    its own: the worker needs one too, and that one is niced.
    """
    if _is_in_background(session.config):
        os.setsid()
        os.nice(NICENESS)
        if (autogroup := Path("/proc/self/autogroup")).exists():
            autogroup.write_text(str(NICENESS))


def _is_in_background(config: pytest.Config) -> bool:
    return bool(getattr(config, "workerinput", {}).get(IN_BACKGROUND))


def _timeout_of(item: pytest.Item) -> float:
    """Seconds, as pytest-timeout finds them: the test's own, or those of all."""
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0] if marker else item.config.getini("timeout"))


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
        if _is_in_background(item.config):
            item.add_marker(pytest.mark.timeout(PATIENCE * _timeout_of(item)), append=False)
    yield
    items.sort(key=_order)


def _order(item: pytest.Item) -> tuple[bool, int, str, bool, int]:
    marker = item.get_closest_marker("xdist_group")
    group, is_short = str(marker.args[0]) if marker else "", item.path.stem not in LONG
    beds = _beds_of(item)
    late = max((place for place, bed in enumerate(LATE, 1) if bed in beds), default=0)
    return marker is None, ORDER.index(group if group in ORDER else SMALL), group, is_short, late


def _beds_of(item: pytest.Item) -> set[str]:
    """The beds that a test asks for: by its fixtures, or by a parameter in whose name one is a word."""
    if not isinstance(item, pytest.Function):
        return set()
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return {*item.fixturenames, *(word for value in values if isinstance(value, str) for word in value.split())}
