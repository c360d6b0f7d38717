"""The chain of commits of a topic: each is created only where there is none, so nobody can commit beside another one.

Who commits number n + 1 has read number n, or has written it. As there is one object of each number, all who ever
committed did so after the same commits, and what they knew of them was true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from sparkjob.bucket import PAGE, Bucket
from sparkjob.fields import Fields
from wal_subscription.stops import MustStop, Reason, Stop, Trouble
from wal_subscription.table.commit import CHECKPOINT_EVERY, Commit, checkpoint_of, parse_commit, parse_fields

VERSION = 1
_DIGITS = 20
_NAMED = re.compile(rf"[0-9]{{{_DIGITS}}}\.json")


class Overtaken(Trouble):
    """Another driver has committed after the same commit."""


class Chain:
    """The commits of one topic.

    Attributes:
        folder: below the prefix of the bucket.
    """

    def __init__(self, bucket: Bucket, folder: str, topic: str) -> None:
        self.folder = folder
        self._bucket, self._topic = bucket, topic

    def newest(self, known: int | None = None) -> Commit | None:
        """The last commit; None: there is none. `known` is one that there was: what is long before it is not listed.

        Raises:
            MustStop: one is missing behind the newest checkpoint, or is no commit of this program.
            Refused, Interrupted: the store does not let us, or does not answer.
        """
        listed = self._last_numbers(0 if known is None else checkpoint_of(known))
        last = listed[-1] if listed else None
        if known is not None and (last is None or last < known):
            raise self._lost(f"commit {known} is gone")
        if last is None:
            return None
        wanted = range(checkpoint_of(last), last + 1)
        if listed[0] > wanted.start:
            listed = self._numbers(wanted.start)
        missing = min(set(wanted).difference(listed), default=None)
        if missing is not None:
            raise self._lost(f"commit {missing} is gone, and commit {last} is there")
        return self.read(last)

    def read(self, number: int) -> Commit:
        """One that there is. Raises as `newest`."""
        commit = parse_commit(self._content(number))
        if commit is None or commit.number != number:
            raise self._lost(f"object {self._path(number)} is no commit of this program")
        return commit

    def commits(self) -> Iterator[Commit]:
        """All of them, from the first one on. Raises as `newest`."""
        newest = self.newest()
        if newest is None:
            return
        for first in range(0, newest.checkpoint, CHECKPOINT_EVERY):
            yield from self._of_checkpoint(first + CHECKPOINT_EVERY)
        for number in range(newest.checkpoint, newest.number + 1):
            yield self.read(number)

    def _of_checkpoint(self, number: int) -> Iterator[Commit]:
        """What it is made of; one that is lost costs time."""
        try:
            content = self._bucket.get(checkpoint_path(self.folder, number))
        except FileNotFoundError:
            for each in range(checkpoint_of(number - 1), number):
                yield self.read(each)
            return
        for fields in Fields.of(json.loads(content), "checkpoint").objects("commits"):
            yield parse_fields(fields)

    def append(self, commit: Commit) -> None:
        """Commits, or nothing is changed by it.

        Raises:
            Overtaken: another driver was the first.
            MustStop: a commit that a checkpoint is made of is gone.
            Refused, Interrupted: as `newest`; after the latter it may be there, or come to be there later.
        """
        if commit.number == commit.checkpoint > 0:
            self._write_checkpoint(commit.number)
        content, path = commit.to_bytes(), self._path(commit.number)
        if self._bucket.create(path, content):
            return
        try:
            found = self._bucket.get(path)
        except FileNotFoundError:
            raise Trouble(f"another driver is about to make commit {commit.number} of topic {self._topic}") from None
        if found != content:  # else it is ours: an answer was lost
            raise Overtaken(f"another driver has made commit {commit.number} of topic {self._topic}")

    def _write_checkpoint(self, number: int) -> None:
        """Of the commits since the one before. Whoever writes it writes the same, as they never change."""
        commits = [json.loads(self._content(each)) for each in range(checkpoint_of(number - 1), number)]
        content = {"version": VERSION, "number": number, "commits": commits}
        self._bucket.put(checkpoint_path(self.folder, number), json.dumps(content, separators=(",", ":")).encode())

    def _last_numbers(self, known: int) -> list[int]:
        """The numbers of the last commits, in their order: of more than a page, steps that double find the end."""
        listed = self._numbers(known)
        if len(listed) < PAGE:
            return listed
        low, step = listed[-1], PAGE
        while found := self._numbers(low + step, 1):
            low, step = found[0], step * 2
        while step >= PAGE:  # nothing is beyond low + step
            step //= 2
            if found := self._numbers(low + step, 1):
                low = found[0]
        return self._numbers(low)

    def _numbers(self, first: int, most: int | None = None) -> list[int]:
        """Of the commits from this one on, a page at most."""
        after = "" if first == 0 else _name(first - 1)
        names = self._bucket.names(f"{self.folder}/log", after, most or PAGE)
        return [self._number_of(name) for name in names]

    def _number_of(self, name: str) -> int:
        if not _NAMED.fullmatch(name):
            raise self._lost(f"object {self.folder}/log/{name} is no commit of this program")
        return int(name.removesuffix(".json"))

    def _content(self, number: int) -> bytes:
        try:
            return self._bucket.get(self._path(number))
        except FileNotFoundError:
            raise self._lost(f"commit {number} is gone") from None

    def _path(self, number: int) -> str:
        return commit_path(self.folder, number)

    def _lost(self, what: str) -> MustStop:
        message = f"the chain of topic {self._topic} in the bucket is broken: {what}"
        return MustStop(Stop(self._topic, Reason.TARGET_LOST, None, message))


def chain_folder(writer: str, topic: str, topic_id: str, generation: int) -> str:
    """Where the chain of a topic is."""
    return f"{writer}/chains/{topic}/{topic_id}/{generation}"


def commit_path(folder: str, number: int) -> str:
    """Of a commit."""
    return f"{folder}/log/{_name(number)}"


def checkpoint_path(folder: str, number: int) -> str:
    """Of the checkpoint that has what the commits below this number say."""
    return f"{folder}/checkpoints/{_name(number)}"


def _name(number: int) -> str:
    return f"{number:0{_DIGITS}}.json"
