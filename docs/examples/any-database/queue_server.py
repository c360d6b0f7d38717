"""A durable queue that keeps its log in Kafka and its messages in SQLite, and serves Seawall's contract.

    queue_server.py --listen 127.0.0.1:8080 --kafka 127.0.0.1:9092 --prefix queue_wal --topics 2 --file queue.sqlite

POST /queues/0 appends a message, and answers when Kafka has it; DELETE /queues/0 takes the oldest; GET /queues/0 shows
all. A queue is a region: queue n is logged in topic <prefix>_<n>. What the log has and SQLite not yet is in memory.
"""
# ruff: noqa: INP001, D103 - one file, to be copied

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sqlite3
import threading
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

ROOT = "/seawall/v1"
SCHEMA = """
CREATE TABLE IF NOT EXISTS identity (database TEXT NOT NULL, epoch INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS queue (number INTEGER PRIMARY KEY, flushed INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS message (queue INTEGER, entry INTEGER, body TEXT NOT NULL, PRIMARY KEY (queue, entry));
"""


class Queue:
    """One queue: what is in SQLite, and what the log has beyond that."""

    def __init__(self, number: int, topic: str, flushed: int, messages: dict[int, str]) -> None:
        self.number, self.topic, self.flushed, self.messages = number, topic, flushed, messages
        self.last, self.pending = flushed, list[tuple[int, Any]]()

    def apply(self, entry: int, record: Any) -> None:
        """A record of the log: {"push": body}, {"take": entry} or {}, which means nothing."""
        self.last = entry
        self.pending.append((entry, record))
        if "push" in record:
            self.messages[entry] = record["push"]
        self.messages.pop(record.get("take"), None)


class Database:
    """All queues. Whoever changes something has the lock."""

    def __init__(self, kafka: str, prefix: str, topics: int, file: str) -> None:
        self.prefix, self.address, self._kafka, self.lock = prefix, "", kafka, threading.Lock()
        self._sqlite = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._sqlite.execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process must not use the same file
        self._sqlite.execute("PRAGMA synchronous = FULL")
        self._sqlite.executescript(SCHEMA)
        self._producer = Producer({"bootstrap.servers": kafka, "acks": "all", "enable.idempotence": True})
        self.identity, self.epoch = self._begin()
        self.queues = [self._open(number) for number in range(topics)]

    def _begin(self) -> tuple[str, int]:
        if self._sqlite.execute("SELECT count(*) FROM identity").fetchone() == (0,):
            self._sqlite.execute("INSERT INTO identity VALUES (?, 0)", (str(uuid.uuid4()),))
        self._sqlite.execute("UPDATE identity SET epoch = epoch + 1")
        database, epoch = self._sqlite.execute("SELECT database, epoch FROM identity").fetchone()
        return database, epoch

    def _open(self, number: int) -> Queue:
        """Replays from behind what is flushed to the end of the log."""
        topic = f"{self.prefix}_{number}"
        group = {"group.id": "none", "enable.auto.commit": False, "auto.offset.reset": "error"}
        consumer = Consumer({"bootstrap.servers": self._kafka, **group})
        try:
            start, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
            found = self._sqlite.execute("SELECT flushed FROM queue WHERE number = ?", (number,)).fetchone()
            if found is None:  # a new region: its start is durable before anything is written, and entry 0 is nobody's
                end = end or self._append(topic, {}) + 1
                self._sqlite.execute("INSERT INTO queue VALUES (?, ?)", (number, end - 1))
                found = (end - 1,)
            stored = self._sqlite.execute("SELECT entry, body FROM message WHERE queue = ?", (number,))
            queue = Queue(number, topic, found[0], dict(stored.fetchall()))
            if start > queue.flushed + 1 or end <= queue.flushed:
                raise SystemExit(f"{topic} has {start} to {end - 1}, and {queue.flushed} is flushed: another log")
            consumer.assign([TopicPartition(topic, 0, queue.flushed + 1)])
            while queue.last < end - 1:
                record = consumer.poll(30)
                if record is None or record.error():
                    raise SystemExit(f"{topic} cannot be replayed: {record and record.error()}")
                queue.apply(record.offset(), json.loads(record.value()))
            return queue
        finally:
            consumer.close()

    def _append(self, topic: str, record: Any) -> int:
        """Writes to the log; the entry id, once Kafka has it on all replicas in sync."""
        answers: list[tuple[KafkaError | None, Message]] = []
        self._producer.produce(topic, json.dumps(record), partition=0, on_delivery=lambda *one: answers.append(one))
        self._producer.flush()
        ((error, message),) = answers
        if error is not None:
            raise web.HTTPServiceUnavailable(reason=f"Kafka did not take it: {error}")
        return int(message.offset() or 0)

    def change(self, queue: Queue, record: Any) -> int:
        """Logs a change, then makes it."""
        entry = self._append(queue.topic, record)
        queue.apply(entry, record)
        return entry

    def flush(self, queue: Queue) -> None:
        """Puts into SQLite what the log has, and how far that is, in one transaction."""
        with self._sqlite:
            self._sqlite.execute("BEGIN IMMEDIATE")
            for entry, record in queue.pending:
                if "push" in record:
                    self._sqlite.execute("INSERT INTO message VALUES (?, ?, ?)", (queue.number, entry, record["push"]))
                taken = (queue.number, record.get("take"))
                self._sqlite.execute("DELETE FROM message WHERE queue = ? AND entry = ?", taken)
            self._sqlite.execute("UPDATE queue SET flushed = ? WHERE number = ?", (queue.last, queue.number))
        queue.flushed, queue.pending = queue.last, []


# --- Seawall's contract: docs/any-database.md


def describe(db: Database) -> Any:
    can = {"markers": False, "durableStarts": True, "flush": True, "maintenance": False}
    wal = {"topicPrefix": db.prefix, "topicCount": len(db.queues), "deletesRecords": False}
    nodes = [{"id": 0, "address": db.address, "version": "1.0.0"}]
    who = {"contract": "1.0", "database": db.identity, "name": "queue"}
    return {**who, "capabilities": can, "wal": wal, "nodes": nodes}


def report(db: Database) -> Any:
    regions = [
        {
            "id": queue.number,
            "state": "Serving",
            "flushedEntryId": queue.flushed,
            "idleEntryId": None,
            "memoryBytes": sum(len(str(record)) for _, record in queue.pending),
        }
        for queue in db.queues
    ]
    newest = [{"topic": queue.topic, "entryId": queue.last} for queue in db.queues]
    at = datetime.now(UTC).isoformat()
    node = {"id": 0, "address": db.address, "epoch": db.epoch, "reportedAt": at}
    return {"database": db.identity, "nodes": [{**node, "regions": regions, "newestEntries": newest}]}


def head(db: Database) -> Any:
    """Queues are made at the first start and stay, so their number is a revision."""
    return {"database": db.identity, "revision": len(db.queues), "claims": []}


def metadata(db: Database) -> Any:
    region = {"leader": 0, "followers": [], "state": "Serving", "checkpointEntryId": None}
    region |= {"revision": 1, "routeRevision": 1}  # a queue never moves
    regions = [{"id": queue.number, "topic": queue.topic, **region} for queue in db.queues]
    nodes = [{"id": 0, "address": db.address}]
    return {**head(db), "topics": [], "regions": regions, "dropped": [], "nodes": nodes}


def is_id(one: Any) -> bool:
    """In JSON 7.0 is an integer, too, and true is none."""
    return type(one) in (int, float) and 0 <= one < 2**64 and one == int(one)


def flush(db: Database, body: Any) -> Any:
    wanted, meant = (body["regions"], body["database"]) if isinstance(body, dict) else (None, None)
    if not isinstance(wanted, list) or not all(is_id(one) for one in wanted):
        raise web.HTTPUnprocessableEntity(reason="regions is no list of ids")
    if not isinstance(meant, str) or not re.fullmatch("[!-~]{1,256}", meant):
        raise web.HTTPUnprocessableEntity(reason="database is no identity")
    if meant != db.identity:  # a copy of this one may answer at the same address: what is asked of one changes no other
        raise web.HTTPConflict(reason=f"another database is meant: this is {db.identity}")
    wanted = [int(one) for one in wanted]
    known = {queue.number: queue for queue in db.queues}
    for number in set(wanted) & known.keys():
        db.flush(known[number])
    unknown = [number for number in dict.fromkeys(wanted) if number not in known]
    return {"failures": [{"region": number, "detail": "there is no such queue", "final": True} for number in unknown]}


# --- HTTP


def answering(db: Database, act: Callable[..., Any]) -> Callable[[web.Request], Awaitable[web.Response]]:
    """In a thread, and one at a time: nothing is reported that is not so."""

    async def handle(request: web.Request) -> web.Response:
        body = (await request.json(),) if request.can_read_body else ()

        def locked() -> Any:
            with db.lock:
                return act(db, *body) if "number" not in request.match_info else act(db, *body, find(db, request))

        return web.json_response(await asyncio.to_thread(locked))

    return handle


def find(db: Database, request: web.Request) -> Queue:
    number = int(request.match_info["number"])
    if number >= len(db.queues):
        raise web.HTTPNotFound(reason="there is no such queue")
    return db.queues[number]


def push(db: Database, body: Any, queue: Queue) -> Any:
    return {"entry": db.change(queue, {"push": str(body)})}


def take(db: Database, queue: Queue) -> Any:
    oldest = min(queue.messages, default=None)
    if oldest is None:
        raise web.HTTPNotFound(reason="the queue is empty")
    message = queue.messages[oldest]
    db.change(queue, {"take": oldest})
    return message


def show(_: Database, queue: Queue) -> Any:
    return [queue.messages[entry] for entry in sorted(queue.messages)]


@web.middleware
async def problems(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Any:
    """Errors as RFC 9457 has them."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        status, detail, headers = error.status, error.reason, {k: v for k, v in error.headers.items() if k == "Allow"}
    except (ValueError, KeyError, TypeError):
        status, detail, headers = 422, "the request makes no sense", {}
    problem = {"type": "about:blank", "title": "the request failed", "status": status, "detail": detail}
    return web.json_response(problem, status=status, headers=headers, content_type="application/problem+json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("listen", "kafka", "prefix", "file"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--topics", type=int, required=True)
    parser.add_argument("--address", help="host:port that is reported: that of the pod; default: --listen")
    arguments = parser.parse_args()
    db = Database(arguments.kafka, arguments.prefix, arguments.topics, arguments.file)
    db.address = arguments.address or arguments.listen
    app = web.Application(middlewares=[problems])
    for path, read in {"": describe, "/reports": report, "/head": head, "/metadata": metadata}.items():
        app.router.add_get(ROOT + path, answering(db, read))
    app.router.add_post(f"{ROOT}/flush", answering(db, flush))
    app.router.add_post("/queues/{number:[0-9]+}", answering(db, push))
    app.router.add_delete("/queues/{number:[0-9]+}", answering(db, take))
    app.router.add_get("/queues/{number:[0-9]+}", answering(db, show))
    host, _, port = arguments.listen.rpartition(":")
    web.run_app(app, host=host, port=int(port), access_log=None, print=lambda *_: None)


if __name__ == "__main__":
    main()
