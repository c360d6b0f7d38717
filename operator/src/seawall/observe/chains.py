"""The chains of a subscription in its bucket: the newest commit of each topic, or why nobody can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from seawall.api.meta import Key
from seawall.api.v1alpha1.subscription import WALSubscription
from seawall.api.v1alpha1.subscription_status import MirroredTopic
from seawall.api.v1alpha1.subscription_targets import TableBucket, TargetBucket
from seawall.domain.conditions import Outlook
from seawall.domain.errors import OutsideUnavailable, Refused, SeawallError
from seawall.domain.object_store import PAGE, NoStore
from seawall.domain.subscription.case import Silent
from seawall.domain.subscription.committed.chain import (
    Chains,
    Commit,
    Gone,
    Newest,
    folder_of,
    number_of,
    object_name,
    parse,
)
from seawall.domain.subscription.reasons import Reason
from seawall.observe.connections import resolve_s3
from seawall.ports import Kube, ObjectStore, ObjectStores
from seawall.progress import in_this_tick

NONE = -1
AT_ONCE = 16
"""Chains that are read at the same time: one after another, a thousand of them outlast the liveness of the operator."""
FEW = 16
"""Chains for each thread: fewer are read at once by the one that asks."""

Place = tuple[str | None, str, str]
"""Where a bucket is: endpoint, name, and prefix in it."""


@dataclass(frozen=True, slots=True)
class Known:
    """The newest commit of a chain that was read: where, its number, and what it says."""

    place: Place
    number: int
    commit: Commit


@dataclass(slots=True)
class KnownChains:
    """What was read before, by the folders of chains."""

    newest: dict[str, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainObserver:
    """Reads chains, for the controller of subscriptions."""

    kube: Kube
    stores: ObjectStores

    def read(
        self, obj: WALSubscription, bucket: TargetBucket, writer: str, rows: Sequence[MirroredTopic], known: KnownChains
    ) -> Chains | Silent:
        """The newest commit of each topic."""
        key = obj.metadata.key
        try:
            connection = resolve_s3(
                as_reader(bucket.s3), lambda name: self.kube.get_secret(Key(obj.metadata.namespace, name))
            )
            if isinstance(connection, NoStore):
                return Silent(Outlook.STALLED, Reason.TARGET_ACCESS, connection.message)
            store = self.stores.connect(_key_of(key), connection)
            place = connection.endpoint, connection.bucket, connection.prefix
            return Chains(read_all(lambda row: read_newest(store, place, writer, row, known), rows))
        except OutsideUnavailable as error:
            return Silent(Outlook.PROGRESSING, Reason.TARGET_UNREACHABLE, str(error))
        except Refused as error:
            return Silent(Outlook.STALLED, Reason.TARGET_ACCESS, str(error))

    def forget(self, key: Key) -> None:
        """Closes the connection of a subscription that is gone."""
        self.stores.forget(_key_of(key))


def as_reader(s3: TableBucket) -> TableBucket:
    """The bucket as whom Seawall reads it."""
    if s3.reader_credentials_secret_ref is None:
        return s3
    return s3.model_copy(update={"credentials_secret_ref": s3.reader_credentials_secret_ref})


def _key_of(key: Key) -> Key:
    return Key(key.namespace, f"{key.name}/bucket")


def read_all(read: Callable[[MirroredTopic], Newest], rows: Sequence[MirroredTopic]) -> Mapping[str, Newest]:
    """The newest commit of each topic, by name; where one cannot be read, those that wait are not tried.

    Raises:
        Refused, OutsideUnavailable: as `read` says of any of them.
    """
    threads = min(AT_ONCE, len(rows) // FEW)
    if threads <= 1:
        return {row.name: read(row) for row in rows}
    with ThreadPoolExecutor(threads, thread_name_prefix="chains") as pool:
        asked = {row.name: pool.submit(in_this_tick(read), row) for row in rows}
        try:
            return {name: answer.result() for name, answer in asked.items()}
        except SeawallError:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def read_newest(store: ObjectStore, place: Place, writer: str, row: MirroredTopic, known: KnownChains) -> Newest:
    """The newest commit of a topic's chain; one that was read before is not read again, but must be there still.

    Else another bucket, or one that somebody emptied, looked like the one in which all is that was handed on.

    Raises:
        Refused, OutsideUnavailable: as the store says.
    """
    folder = folder_of(writer, row)
    before = known.newest.get(folder)
    newest = find_newest(store, folder, NONE if before is None else before.number - 1)
    if before is not None and newest < before.number:
        return Gone(before.number)
    if before is not None and (place, newest) == (before.place, before.number):
        return before.commit
    commit = None if newest == NONE else parse(store.get(f"{folder}/{object_name(newest)}"), writer, row)
    if isinstance(commit, Commit):
        known.newest[folder] = Known(place, newest, commit)
    return commit


def find_newest(store: ObjectStore, folder: str, known: int) -> int:
    """The number of the newest commit: numbers have no gap, so a chain of years is found in twenty lists.

    Raises:
        Refused, OutsideUnavailable: as the store says.
    """
    low, is_full = _last_of_page(store, folder, known)
    step = PAGE
    while is_full and _has_beyond(store, folder, low + step):
        low, step = low + step, 2 * step
    high = low + step
    while is_full and high - low > PAGE:
        middle = (low + high) // 2
        low, high = (middle, high) if _has_beyond(store, folder, middle) else (low, middle)
    while is_full:
        low, is_full = _last_of_page(store, folder, low)
    return low


def _has_beyond(store: ObjectStore, folder: str, number: int) -> bool:
    return bool(store.names(folder, object_name(number)))


def _last_of_page(store: ObjectStore, folder: str, number: int) -> tuple[int, bool]:
    """The last number of one list beyond a number, and whether there may be more."""
    names = store.names(folder, "" if number == NONE else object_name(number))
    numbers = [found for name in names if (found := number_of(name)) is not None]
    return max(numbers, default=number), len(names) >= PAGE
