"""One operator process: the wiring of watcher, work queue, Lease and probes, and its life from start to SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from importlib.metadata import version

from aiohttp import web

from seawall.adapters.clock import MonotonicStopwatch, ServerDates, SystemClock
from seawall.adapters.data_planes import AllDataPlanes
from seawall.adapters.kafka.clusters import ConfluentKafkaClusters
from seawall.adapters.kube.access import KubeAccessReviews
from seawall.adapters.kube.api import KubeApi
from seawall.adapters.kube.intents import ConfigMapIntentStore
from seawall.adapters.kube.kafka_objects import KubeKafkaObjects
from seawall.adapters.kube.kafka_pods import KubeKafkaPods
from seawall.adapters.kube.objects import KubeAdapter
from seawall.adapters.kube.spark import KubeSparkApplications
from seawall.adapters.kube.strimzi import KubeStrimzi
from seawall.adapters.kube.workloads import KubeWorkloads
from seawall.adapters.lease import Lease
from seawall.adapters.object_stores import S3Stores
from seawall.adapters.self_signed import serving_context
from seawall.adapters.times import LEASE_AWAITS_WATCH_SECONDS, LEASE_RETRY_SECONDS
from seawall.api.meta import GROUP, PAGE_KEY_ANNOTATION, VERSION_ANNOTATION, Key
from seawall.api.pages import PAGES_PORT_ANNOTATION
from seawall.api.resource import AnyResource
from seawall.api.v1alpha1.cluster import WAL_CLUSTER
from seawall.api.v1alpha1.hold import WAL_HOLD
from seawall.api.v1alpha1.kinds import RESOURCES
from seawall.controllers.preview import PurgePreview, ReassignmentPreview
from seawall.domain.errors import SeawallError
from seawall.domain.ledger.observation import Unavailable
from seawall.domain.ledger.page import LedgerPage
from seawall.domain.overview.snapshot import Leader
from seawall.domain.purge.preview import PlannedRun
from seawall.domain.reassignment.preview import PlannedReassignment
from seawall.domain.times import OPERATOR_DRAIN_SECONDS, OPERATOR_STUCK_SECONDS
from seawall.handlers.access import Gate
from seawall.handlers.event_filter import Subject
from seawall.handlers.metrics.telemetry import Telemetry
from seawall.handlers.pages import build_metrics, build_pages, build_probes
from seawall.handlers.queues import Queues
from seawall.handlers.terms import Terms
from seawall.handlers.ui.reading import Reading
from seawall.handlers.unheard import Unheard
from seawall.handlers.watch import Watcher
from seawall.handlers.wiring import QUEUES, Meters, Outside, Wiring, wire
from seawall.settings import Settings

PAGE_CONNECTIONS = 8
"""Questions about people's rights at once."""

_log = logging.getLogger(__name__)


class Operator:
    """One operator process. Make it inside of a running loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._telemetry = Telemetry(per_topic=settings.topic_metrics, namespaces=settings.namespaces)
        self._elector = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._absent: type[AnyResource] | None = None
        dates = ServerDates()
        self._clock = SystemClock(dates)
        self._api = KubeApi(settings.workers * QUEUES, dates)
        self._kube = KubeAdapter(self._api, settings.namespaces)
        self._page_key = secrets.token_urlsafe(32) if settings.page_key else None
        shown = {PAGES_PORT_ANNOTATION: str(settings.pages_port), VERSION_ANNOTATION: version("seawall")}
        self._lease = Lease(
            KubeApi(1, dates),
            Key(settings.pod_namespace, settings.lease_name),
            settings.pod_name,
            {PAGE_KEY_ANNOTATION: self._page_key, **shown},
        )
        self._terms = Terms(self._wiring_on(self._outside()), self._lease)
        ticks = {kind: self._telemetry.measured(kind, partial(self._terms.tick, kind)) for kind in self._terms.kinds()}
        self._queues = Queues(ticks, settings.workers, settings.resync_seconds)
        self._watcher = Watcher(settings.namespaces, self._wake_from_watcher)
        self._unheard = Unheard(self._kube.list_metadata, self._watcher.has_heard)

    def _outside(self) -> Outside:
        return Outside(
            self._kube,
            ConfluentKafkaClusters(),
            AllDataPlanes,
            ConfigMapIntentStore(self._api),
            KubeSparkApplications(self._api),
            KubeWorkloads(self._api),
            KubeKafkaPods(self._api),
            self._clock,
            MonotonicStopwatch(),
            S3Stores(),
            self._settings.pod_namespace,
            self._strimzi(),
            KubeKafkaObjects(self._api) if self._settings.managed_kafka else None,
        )

    def _wiring_on(self, outside: Outside) -> Callable[[], Wiring]:
        found = self._telemetry
        meters = Meters(found, found.wal, found.reassignments, found.restarts, found.brokers, found.subscriptions)
        return partial(wire, outside, meters, self._wake_wal_cluster, self._wake_hold)

    def _strimzi(self) -> KubeStrimzi | None:
        """None: nobody asks for Strimzi's resources; the chart gives the rights for them together with the setting."""
        settings = self._settings
        return KubeStrimzi(self._api, settings.strimzi_namespaces or settings.namespaces) if settings.strimzi else None

    async def run(self) -> None:
        """Runs until SIGTERM or SIGINT."""
        stopped = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(name, stopped.set)
        settings = self._settings
        runners = [
            await _serve(build_probes(self._unhealthy, self._unready), settings.health_port),
            *await self._serve_pages(),
        ]
        tasks = [asyncio.create_task(work) for work in (self._queues.run(), self._elect(), self._watch())]
        waiter = asyncio.create_task(stopped.wait())
        await asyncio.wait([waiter, *tasks], return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in tasks if task.done()]
        await self._stop(tasks)
        for runner in runners:
            await runner.cleanup()
        for task in failed:
            task.result()

    async def _watch(self) -> None:
        """Starts the watcher once all CRDs are there: kopf looks for them only at its start."""
        for resource in RESOURCES:
            await self._wait_for(resource)
        self._watcher.start()
        while True:
            await asyncio.sleep(self._settings.resync_seconds)
            await self._wake_unheard()

    async def _wake_unheard(self) -> None:
        """The leader looks at what its watch does not tell of; if that goes on, it watches anew.

        The process stays: what it remembers is evidence, and where the right to watch is missing a start mends nothing.
        """
        if not self._lease.is_leader():
            self._unheard.forget()
            return
        found = await asyncio.to_thread(self._unheard.find)
        for subject in found.unheard:
            self._wake_from_watcher(subject)
        if not found.deaf:
            return
        first, kinds = found.deaf[0], sorted({each.kind for each in found.deaf})
        what = f"{first.kind} {first.key} and {len(found.deaf) - 1} more"
        _log.warning("the API server lists %s, the watch has not told of them: watching begins anew", what)
        self._telemetry.begin_to_watch_anew(kinds)
        before, self._watcher = self._watcher, self._watcher.successor()
        await asyncio.to_thread(before.stop)
        self._watcher.start()
        self._unheard.forget()

    async def _wait_for(self, resource: type[AnyResource]) -> None:
        while True:
            try:
                await asyncio.to_thread(self._kube.require_served, resource)
            except SeawallError as error:
                self._absent = resource
                _log.warning("waiting for the CRD of %s: %s", resource.KIND.kind, error)
                await asyncio.sleep(LEASE_RETRY_SECONDS)
            else:
                self._absent = None
                return

    async def _elect(self) -> None:
        """Runs for the Lease while it watches: who hears of nothing would keep it from a process that does.

        One whose watcher ends renews it no more, and leads on until it is over: the kubelet restarts it meanwhile.
        """
        was_leader = False
        while True:
            watches = self._watcher.is_watching()
            attempt = self._lease.try_hold if watches else self._lease.is_leader
            is_leader = await self._loop.run_in_executor(self._elector, attempt)
            if is_leader != was_leader:
                _log.info("%s", "leading" if is_leader else "not leading")
            was_leader = is_leader
            self._telemetry.lead(leading=is_leader)
            self._telemetry.measure_clocks(self._clock.trusted())
            if self._terms.renew():
                _log.info("a new term of the Lease begins: what was found before it is forgotten")
                self._queues.set_active(active=False)  # what waits for a time of the term before is due now
            self._queues.set_active(active=is_leader)
            await asyncio.sleep(LEASE_RETRY_SECONDS if watches else LEASE_AWAITS_WATCH_SECONDS)

    async def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        """Stops handing out work, waits for the running ticks, and only then gives the Lease back.

        First ends whatever begins ticks: the queues with those that wait for a thread, and the election, which switches
        queues on. The watcher ends while the ticks do, as the kubelet does not wait for one after the other.
        """
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        handed_over = hand_over(self._queues, self._elector, self._lease.release)
        await asyncio.gather(asyncio.to_thread(self._watcher.stop), handed_over)

    async def _serve_pages(self) -> tuple[web.AppRunner, web.AppRunner]:
        """For people and Prometheus, by TLS; who it is, and what they may, is asked on each."""
        settings, metrics = self._settings, self._telemetry.exposition
        tls = serving_context(settings.pod_name)
        gate = Gate(KubeAccessReviews(KubeApi(PAGE_CONNECTIONS, is_anonymous=True)), self._page_key)
        reading = Reading(self._kube, self._latest, self._leader, self._clock)
        pages = build_pages(gate, reading, self._plan, self._moves, metrics)
        scraped = build_metrics(metrics, gate if settings.metrics_secure else None)
        return (
            await _serve(pages, settings.pages_port, tls),
            await _serve(scraped, settings.metrics_port, tls if settings.metrics_secure else None),
        )

    def _latest(self, key: Key) -> LedgerPage | Unavailable | None:
        return self._terms.wiring.watch_of_ledgers.latest(key)

    def _plan(self, cluster: Key, topics: Sequence[str]) -> PlannedRun | Unavailable | None:
        return PurgePreview(self._kube, self._terms.wiring.ledgers, self._clock).plan(cluster, topics)

    def _moves(self, cluster: Key) -> PlannedReassignment | None:
        return ReassignmentPreview(self._terms.wiring.replication).plan(cluster)

    def _leader(self) -> Leader:
        """For the page: only who leads has looked."""
        settings = self._settings
        lease = f"{settings.pod_namespace}/{settings.lease_name}"
        if self._lease.is_leader():
            return Leader(lease, settings.pod_name, self._clock.now())
        return Leader(lease, problem=f"{settings.pod_name} does not lead: what it shows is what the API server has")

    def _wake_wal_cluster(self, key: Key) -> None:
        """Called from threads that found something which people should read in the status."""
        self._loop.call_soon_threadsafe(self._queues.wake, Subject(WAL_CLUSTER.kind, key))

    def _wake_hold(self, key: Key) -> None:
        """Called from a thread that saw that records of a hold are gone."""
        self._loop.call_soon_threadsafe(self._queues.wake, Subject(WAL_HOLD.kind, key))

    def _wake_from_watcher(self, subject: Subject) -> None:
        self._loop.call_soon_threadsafe(self._queues.wake, subject)
        if subject.kind == WAL_CLUSTER.kind:
            for kind in self._terms.wiring.beside:
                self._loop.call_soon_threadsafe(self._queues.wake, Subject(kind, subject.key))

    def _unhealthy(self) -> str | None:
        if self._watcher.has_ended():
            return "the watcher has ended"
        if self._telemetry.longest_without_progress() > OPERATOR_STUCK_SECONDS:
            return f"a tick hangs: no request of it has ended for more than {OPERATOR_STUCK_SECONDS} s"
        return None

    def _unready(self) -> str | None:
        if self._absent is not None:
            plural = self._absent.KIND.plural
            return f"not watching yet: is the CRD {plural}.{GROUP} installed, and may the operator list {plural}?"
        return None if self._watcher.ready.is_set() else "not watching yet"


async def hand_over(queues: Queues, elector: Executor, release: Callable[[], None]) -> None:
    """Waits for the running ticks, and only then gives the Lease back, by the thread that renews it.

    While one still runs, nobody else is to act beside it: then the Lease ends by itself, some seconds later.
    """
    loop = asyncio.get_running_loop()
    drained = loop.run_in_executor(None, queues.drain)
    done, _ = await asyncio.wait([drained], timeout=OPERATOR_DRAIN_SECONDS)
    if not done:
        _log.warning("ticks still run after %s s: the Lease is left to end by itself", OPERATOR_DRAIN_SECONDS)
        return
    await loop.run_in_executor(elector, release)


async def _serve(app: web.Application, port: int, tls: ssl.SSLContext | None = None) -> web.AppRunner:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, port=port, ssl_context=tls).start()
    return runner
