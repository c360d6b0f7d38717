"""A slow outside does not make the kubelet end the process; a tick that hangs does."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from seawall import progress
from seawall.adapters.greptimedb.interfaces import GreptimeDB
from seawall.adapters.greptimedb.sql_session import SQLSession
from seawall.adapters.http import Http, Part
from seawall.adapters.kafka import admin, errors
from seawall.adapters.kafka.client import SharedClient
from seawall.adapters.kafka.raw import connect
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.object_store import S3Bucket
from seawall.api.meta import Key
from seawall.domain.dataplane.connection import NotReached, PartRefused, PartUnavailable
from seawall.domain.errors import SeawallError
from seawall.domain.kafka import KafkaConnection
from seawall.domain.object_store import S3Connection
from seawall.domain.times import OPERATOR_STUCK_SECONDS
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.handlers.operator import Operator
from seawall.observe import chains
from seawall.observe.ledger import LedgerObserver
from seawall.observe.shared_brokers import BrokersObserver
from seawall.progress import Progress, Turn, request_ended
from seawall.reconciler import Outcome, Ticked
from seawall_e2e.waiting import WaitedInVain, wait_until
from tests.support.clock import Time
from tests.support.mutants import find_survivors
from tests.support.source_mutants import rewritten
from tests.worlds.purge_world import WAL, World

TOPICS = [f"wal_{number}" for number in range(300)]
DONE = Ticked(Outcome.WAITING, None)
NOWHERE = "127.0.0.1:1"
HANGS = "a tick hangs: no request of it has ended for more than 300 s"
STORY_PATIENCE = 30.0
"""Seconds in which a thread that waits for its turn is awake once."""


class Process:
    """The part of an operator process that answers /healthz, with a clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.telemetry = Telemetry(per_topic=False, monotonic=lambda: self.now)
        self._operator = SimpleNamespace(_telemetry=self.telemetry, _watcher=SimpleNamespace(has_ended=lambda: False))

    def unhealthy(self) -> str | None:
        """What /healthz says."""
        return Operator._unhealthy(cast("Operator", self._operator))

    def tick(self, kind: str, run: Callable[[], Any]) -> Ticked:
        """One tick, which does this."""

        def tick(_: Key) -> Ticked:
            run()
            return DONE

        return self.telemetry.measured(kind, tick)(WAL)


class SlowKafka:
    """Answers each request after so many seconds; meanwhile the kubelet asks once, in `heard`."""

    def __init__(self, process: Process, seconds: float) -> None:
        self._process, self._seconds = process, seconds
        self.heard: list[str | None] = []
        self.admin = admin.ConfluentKafkaAdmin(KafkaConnection((NOWHERE,)))
        client = SimpleNamespace(get=lambda: self, wait_for=lambda _, *answers: errors.wait_for(*answers))
        self.admin._client = cast("SharedClient", client)

    def describe_configs(self, resources: Sequence[Any], **_: float) -> dict[Any, Future[Any]]:
        """All at once, and late."""
        self._process.now += self._seconds
        self.heard.append(self._process.unhealthy())
        answer: Future[Any] = Future()
        answer.set_result({})
        return dict.fromkeys(resources, answer)

    def poll(self, _: float) -> int:
        """It has nothing to say."""
        return 0


def kubelet_hears(seconds: float, calls: int) -> list[str | None]:
    """While one tick asks a Kafka for the configs of 300 topics so many times, in three requests each."""
    process = Process()
    kafka = SlowKafka(process, seconds)
    process.tick("Ledger", lambda: [kafka.admin.describe_configs(TOPICS) for _ in range(calls)])
    assert process.unhealthy() is None
    return kafka.heard


def test_a_tick_that_takes_long_since_each_request_is_slow_is_well() -> None:
    heard = kubelet_hears(12.0, calls=10)
    assert len(heard) * 12 > OPERATOR_STUCK_SECONDS
    assert set(heard) == {None}


def test_a_tick_whose_request_does_not_end_hangs() -> None:
    assert kubelet_hears(OPERATOR_STUCK_SECONDS + 1, calls=1)[0] == HANGS


Sharing = Callable[[pytest.MonkeyPatch, Callable[[], Any]], Callable[[], object]]
"""How ticks ask for an observation that one of them at a time makes, by what it is given."""


def of_a_ledger(patch: pytest.MonkeyPatch, observe: Callable[[], Any]) -> Callable[[], object]:
    """As the watch, purges and holds of one WALCluster do."""
    observer, cluster = LedgerObserver(cast("Any", None), cast("Any", None), Time(), Time()), World().cluster()
    patch.setattr(LedgerObserver, "_try", lambda *_: observe())
    return lambda: observer.observe(cluster)


def of_brokers(_: pytest.MonkeyPatch, observe: Callable[[], Any]) -> Callable[[], object]:
    """As the WALClusters on one Kafka do."""
    observer, kafka = BrokersObserver(Time()), KafkaConnection((NOWHERE,))
    return lambda: observer.observe(WAL, kafka, None, observe)


def kubelet_hears_of_two(
    sharing: Sharing, seconds: float, *, ends: bool, patience: float = STORY_PATIENCE
) -> list[str | None]:
    """Twice, after so many seconds each, while one tick observes and another one waits for its turn.

    `ends`: whether a request of the one that observes ends then.
    """
    process, heard, first = Process(), list[str | None](), threading.Lock()

    def gets_on() -> bool:
        return process.telemetry.longest_without_progress() == 0

    def observe() -> None:
        if not first.acquire(blocking=False):
            return
        wait_until(lambda: len(process.telemetry._running) == 2, "both ticks run", every=0.005)
        for _ in range(2):
            process.now += seconds
            if ends:
                request_ended()
                with suppress(WaitedInVain):  # then the kubelet hears it
                    wait_until(gets_on, "who waits gets on, too", within=patience, every=0.005)
            heard.append(process.unhealthy())

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(progress, "TURN_SECONDS", 0.001)
        ask = sharing(patch, observe)
        for each in [pool.submit(process.tick, kind, ask) for kind in ("Ledger", "WALPurge")]:
            each.result()
    assert process.unhealthy() is None
    return heard


@pytest.mark.parametrize("sharing", [of_a_ledger, of_brokers])
def test_who_waits_for_a_tick_that_gets_on_is_well(sharing: Sharing) -> None:
    assert kubelet_hears_of_two(sharing, 200.0, ends=True) == [None, None]


@pytest.mark.parametrize("sharing", [of_a_ledger, of_brokers])
def test_who_waits_for_a_tick_that_hangs_hides_nothing(sharing: Sharing) -> None:
    assert kubelet_hears_of_two(sharing, 200.0, ends=False) == [None, HANGS]


def test_two_that_wait_for_each_other_do_not_get_on() -> None:
    clock = itertools.count()
    one, other = Progress(clock.__next__), Progress(clock.__next__)
    for _ in range(3):
        one.follow(other)
        other.follow(one)
    assert (one.at, other.at) == (1, 1)


def ended(run: Callable[[], object]) -> float:
    """How many times what a tick does was counted as something that ended."""
    found = Progress(itertools.count().__next__)
    with found.of_this_thread(), suppress(SeawallError, PartUnavailable, PartRefused):
        run()
    return found.at


def ask_kubernetes(folder: Path) -> object:
    config = folder / "kubeconfig"
    config.write_text(
        f"""{{"apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [{{"name": "u", "user": {{}}}}],
        "clusters": [{{"name": "c", "cluster": {{"server": "http://{NOWHERE}"}}}}],
        "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}]}}"""
    )
    return KubeApi(1, kubeconfig=str(config)).get("/api")


def ask_http(_: Path) -> object:
    return Http(Part("the part", "the spec", NotReached.METASRV_UNREACHABLE, "")).get(f"http://{NOWHERE}/")


def ask_a_store(_: Path) -> object:
    return S3Bucket(S3Connection("lake", "", "r", f"http://{NOWHERE}", None, "k", "s"), seconds=0.5).get("a")


def ask_by_the_second_client_of_kafka(_: Path) -> object:
    return connect(KafkaConnection((NOWHERE,)), 0.5)


def ask_for_metadata(_: Path) -> object:
    client = SharedClient(KafkaConnection((NOWHERE,)), 0.2)
    try:
        return client.view()
    finally:
        client.close()


class Session(SQLSession):
    """Of a server that says nothing."""

    def _log_in(self, host: str, plain: socket.socket) -> None:
        self._host, self._plain = host, plain

    def _log_out(self) -> None:
        self._plain.close()

    def _leader(self) -> str:
        return ""


def ask_by_sql(_: Path) -> object:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        sentences = cast("Any", SimpleNamespace(translated=nullcontext))
        with closing(Session(("127.0.0.1", server.getsockname()[1]), sentences, 1.0)) as session:
            return session.leader()


def flush(_: Path) -> object:
    """In threads of its own."""
    return GreptimeDB(f"http://{NOWHERE}", f"http://{NOWHERE}").flush_regions([1, 2, 3])


def read_chains(folder: Path) -> object:
    """In threads of its own."""
    rows = cast("Any", [SimpleNamespace(name=str(number)) for number in range(2 * chains.FEW)])
    return chains.read_all(cast("Any", lambda _: ask_a_store(folder)), rows)


def await_no_answer(_: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errors, "KAFKA_GRACE_SECONDS", 0.0)
        return errors.wait_for({"wal_0": Future()}, 0.01)


@pytest.mark.parametrize(
    "ask",
    [
        ask_kubernetes,
        ask_http,
        ask_a_store,
        ask_by_the_second_client_of_kafka,
        ask_for_metadata,
        ask_by_sql,
        flush,
        read_chains,
        await_no_answer,
    ],
)
def test_a_request_that_ends_counts_whatever_it_ended_with(ask: Callable[[Path], object], tmp_path: Path) -> None:
    assert ended(lambda: ask(tmp_path)) > 0


def test_a_turn_counts() -> None:
    turn = Turn()

    def take() -> None:
        with turn:
            pass

    assert ended(take) == 1


def test_what_asks_outside_of_ticks_counts_for_none() -> None:
    found = Progress(itertools.count().__next__)
    request_ended()
    with ThreadPoolExecutor(1) as pool, found.of_this_thread():
        pool.submit(request_ended).result()
    request_ended()
    assert found.at == 0


def slow_kafka() -> None:
    test_a_tick_that_takes_long_since_each_request_is_slow_is_well()


def turns() -> None:
    assert kubelet_hears_of_two(of_a_ledger, 200.0, ends=True, patience=0.3) == [None, None]


def test_each_way_to_get_on_is_needed_and_none_is_too_easy() -> None:
    assert not find_survivors(
        [
            (rewritten(errors, "wait_for", "    request_ended()\n    return", "    return"), slow_kafka),
            (rewritten(Turn, "__enter__", "mine.follow(holder)", "pass"), turns),
            (
                rewritten(Progress, "follow", "max(self.at, other.at)", "self._clock()"),
                test_two_that_wait_for_each_other_do_not_get_on,
            ),
            (rewritten(Progress, "renew", "self._clock()", "self.at"), slow_kafka),
        ]
    )
