"""One operator process: the wiring of watcher, work queue, Lease and probes, and its life from start to SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import signal
from concurrent.futures import ThreadPoolExecutor

from aiohttp import web

from seawall.adapters.clock import SystemClock
from seawall.adapters.dataplane.looks import BackgroundLooks
from seawall.adapters.kafka_clusters import ConfluentKafkaClusters
from seawall.adapters.kube import KubeAdapter
from seawall.adapters.kube_api import KubeApi
from seawall.adapters.lease import RETRY_SECONDS, Lease
from seawall.api.meta import Key
from seawall.controllers.wal_cluster import WALClusterController
from seawall.domain.errors import SeawallError
from seawall.handlers.probes import build_app
from seawall.handlers.telemetry import Telemetry
from seawall.handlers.watch import Watcher
from seawall.reconciler import Reconciler
from seawall.settings import Settings
from seawall.workqueue import WorkQueue

_log = logging.getLogger(__name__)

STUCK_SECONDS = 300
"""A tick that runs for longer than this has hung: every call in it has a deadline of seconds."""

DRAIN_SECONDS = 10
"""How long a stopping process waits for its running ticks."""


class Operator:
    """One operator process. Make it inside of a running loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._telemetry = Telemetry(per_topic=settings.topic_metrics)
        self._workers = ThreadPoolExecutor(settings.workers, thread_name_prefix="tick")
        self._elector = ThreadPoolExecutor(1, thread_name_prefix="lease")
        api = KubeApi(connections=settings.workers)
        self._kube = KubeAdapter(api, settings.namespaces)
        self._lease = Lease(KubeApi(connections=1), Key(settings.pod_namespace, settings.lease_name), settings.pod_name)
        clock = SystemClock()
        looks = BackgroundLooks(clock, self._wake_from_thread)
        controller = WALClusterController(self._kube, ConfluentKafkaClusters(), looks, clock, self._telemetry)
        reconciler = Reconciler(controller, self._lease.is_leader)
        tick = self._telemetry.measured(controller.kind, reconciler.tick)
        self._queue = WorkQueue(tick, self._workers, settings.resync_seconds)
        self._watcher = Watcher(settings.namespaces, self._wake_from_thread)

    async def run(self) -> None:
        """Runs until SIGTERM or SIGINT."""
        stopped = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(name, stopped.set)
        runner = await self._serve_http()
        tasks = [asyncio.create_task(work) for work in (self._queue.run(), self._elect(), self._watch())]
        waiter = asyncio.create_task(stopped.wait())
        await asyncio.wait([waiter, *tasks], return_when=asyncio.FIRST_COMPLETED)
        failed = [task for task in tasks if task.done()]
        await self._stop(tasks)
        await runner.cleanup()
        for task in failed:
            task.result()

    async def _watch(self) -> None:
        """Starts the watcher once the CRDs are there: kopf looks for them only at its start."""
        while True:
            try:
                await asyncio.to_thread(self._kube.require_served)
                break
            except SeawallError as error:
                _log.warning("waiting for the WALCluster CRD: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
        self._watcher.start()
        await asyncio.Event().wait()

    async def _elect(self) -> None:
        while True:
            was_leader = self._lease.is_leader()
            is_leader = await self._loop.run_in_executor(self._elector, self._lease.try_hold)
            if is_leader != was_leader:
                _log.info("%s", "leading" if is_leader else "not leading")
            self._telemetry.lead(leading=is_leader)
            self._queue.set_active(active=is_leader)
            await asyncio.sleep(RETRY_SECONDS)

    async def _stop(self, tasks: list[asyncio.Task[None]]) -> None:
        """Stops handing out work, waits for the running ticks, and only then gives the Lease back."""
        self._queue.set_active(active=False)
        await asyncio.to_thread(self._watcher.stop)
        for task in tasks:
            task.cancel()
        drained = self._loop.run_in_executor(None, self._workers.shutdown)
        await asyncio.wait([drained], timeout=DRAIN_SECONDS)
        await self._loop.run_in_executor(self._elector, self._lease.release)

    async def _serve_http(self) -> web.AppRunner:
        runner = web.AppRunner(build_app(self._unhealthy, self._unready, self._telemetry.exposition), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, port=self._settings.http_port).start()
        return runner

    def _wake_from_thread(self, key: Key) -> None:
        self._loop.call_soon_threadsafe(self._queue.wake, key)

    def _unhealthy(self) -> str | None:
        if self._watcher.has_ended():
            return "the watcher has ended"
        if self._telemetry.longest_tick_seconds() > STUCK_SECONDS:
            return f"a tick has been running for more than {STUCK_SECONDS} s"
        return None

    def _unready(self) -> str | None:
        return None if self._watcher.ready.is_set() else "not watching yet: is the WALCluster CRD installed?"
