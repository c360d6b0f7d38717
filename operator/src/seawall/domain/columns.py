"""Columns of offsets that may be unknown, one row for each region or each topic.

A thin layer over numpy: a column is the numbers and, beside them, which of them are known. There is no number that
means "none": what stands in a row that is not known is never read. Offsets are i64, as Kafka's are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
RegionIds = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

MAX_OFFSET = 2**63 - 1


_ZERO, _FALSE, _TRUE = np.int64(0), np.bool_(False), np.bool_(True)


@lru_cache(maxsize=1024)
def everywhere(rows: int) -> Mask:
    """A mask that is set in every row, and takes no memory: it cannot be written to, so one is for all who ask."""
    return np.broadcast_to(_TRUE, rows)


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """A column of numbers, each known or not."""

    numbers: Numbers
    known: Mask

    @classmethod
    def of(cls, values: Iterable[int | None]) -> Ids:
        """A column of these; what no offset can be (beyond i64, or negative) is unknown."""
        listed = list(values)
        try:
            numbers = np.array(listed, np.int64)
        except (OverflowError, TypeError):
            return cls._of_some(listed)
        return cls(numbers, numbers >= 0)

    @classmethod
    def _of_some(cls, listed: Sequence[int | None]) -> Ids:
        """The same where not all fit."""
        fits = [value is not None and 0 <= value <= MAX_OFFSET for value in listed]
        numbers = [(value or 0) if fit else 0 for value, fit in zip(listed, fits, strict=True)]
        return cls(np.array(numbers, np.int64), np.array(fits, np.bool_))

    @classmethod
    def of_known(cls, numbers: Numbers) -> Ids:
        """A column in which every row is known."""
        return cls(numbers, everywhere(len(numbers)))

    @classmethod
    def unknown(cls, rows: int) -> Ids:
        """A column in which no row is known: one for all who ask."""
        return _unknown(rows)

    def __len__(self) -> int:
        return len(self.numbers)

    def __add__(self, other: int | Numbers) -> Ids:
        return Ids(self.numbers + other, self.known)

    def __sub__(self, other: int | Numbers) -> Ids:
        return Ids(self.numbers - other, self.known)

    def at(self, row: int | np.int64) -> int | None:
        """One row."""
        return int(self.numbers[row]) if self.known[row] else None

    def listed(self) -> list[int | None]:
        """All rows."""
        return [int(number) if known else None for number, known in zip(self.numbers, self.known, strict=True)]

    def take(self, rows: Numbers) -> Ids:
        """These rows, in this order; a row may be taken many times."""
        return Ids(self.numbers[rows], self.known[rows])

    def only(self, mask: Mask) -> Ids:
        """The column with every other row unknown."""
        return Ids(self.numbers, self.known & mask)

    def above(self, other: Ids) -> Mask:
        """Where both are known and this one is greater."""
        return (self.numbers > other.numbers) & self.known & other.known

    def equals(self, other: Ids) -> Mask:
        """Where both are known and equal."""
        same: Mask = self.numbers == other.numbers
        return same & self.known & other.known

    def least_by(self, groups: Numbers, count: int) -> Ids:
        """For each of `count` groups the least of its known rows; unknown where there is none."""
        found = np.full(count, MAX_OFFSET, np.int64)
        np.minimum.at(found, groups, np.where(self.known, self.numbers, MAX_OFFSET))
        return Ids(found, any_by(self.known, groups, count))

    def greatest_by(self, groups: Numbers, count: int) -> Ids:
        """For each of `count` groups the greatest of its known rows; unknown where there is none."""
        found = np.full(count, -MAX_OFFSET, np.int64)
        np.maximum.at(found, groups, np.where(self.known, self.numbers, -MAX_OFFSET))
        return Ids(found, any_by(self.known, groups, count))

    def least_of_all_by(self, groups: Numbers, count: int) -> Ids:
        """For each of `count` groups its least row; unknown where a row is unknown, or where there is no row."""
        return self.least_by(groups, count).only(~any_by(~self.known, groups, count))


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """A column of u64 as the database writes them, each there or not; ids of regions and entries, epochs, bytes."""

    numbers: RegionIds
    known: Mask

    @classmethod
    def of(cls, values: Sequence[int | None]) -> Words:
        """A column of these; what no u64 can be is not there."""
        fits = [value is not None and 0 <= value < 2**64 for value in values]
        numbers = ((value or 0) if fit else 0 for value, fit in zip(values, fits, strict=True))
        return cls(np.fromiter(numbers, np.uint64, count=len(fits)), np.array(fits, np.bool_))

    def at(self, row: int | np.int64) -> int | None:
        """One row."""
        return int(self.numbers[row]) if self.known[row] else None

    def take(self, rows: Any) -> Words:
        """These rows, in this order; a row may be taken many times."""
        return Words(self.numbers[rows], self.known[rows])

    def ids(self) -> Ids:
        """As offsets: what none can be (beyond i64) is unknown."""
        return ids_of(self.numbers, self.known)


class _InOrder(Ids):
    """All rows in their order, which many columns are asked for, one after another: nobody need look once more."""

    __slots__ = ()


def in_order(rows: int) -> Ids:
    """So many rows, in their order."""
    return _InOrder(np.arange(rows, dtype=np.int64), everywhere(rows))


def _is_in_order(at: Ids) -> bool:
    return isinstance(at, _InOrder) or (is_all(at.known) and are_same(at.numbers, np.arange(len(at))))


def ids_of(numbers: RegionIds, known: Mask) -> Ids:
    """Words as offsets: what none can be (beyond i64) is unknown."""
    fits = known & (numbers <= np.uint64(MAX_OFFSET))
    return Ids(numbers.view(np.int64), fits)


def greatest(*columns: Ids) -> Ids:
    """Row by row the greatest of those that are known."""
    return _combined(columns, np.maximum)


def least(*columns: Ids) -> Ids:
    """Row by row the least of those that are known."""
    return _combined(columns, np.minimum)


def least_of_all(*columns: Ids) -> Ids:
    """Row by row the least; unknown where any is unknown."""
    found = least(*columns)
    return found.only(np.logical_and.reduce([column.known for column in columns]))


@lru_cache(maxsize=1024)
def _unknown(rows: int) -> Ids:
    """It takes no memory and cannot be written to, either."""
    return Ids(np.broadcast_to(_ZERO, rows), np.broadcast_to(_FALSE, rows))


def choose(mask: Mask, yes: Ids, no: Ids) -> Ids:
    """Row by row `yes` where the mask is set, else `no`; one of them as it is, if it is chosen everywhere."""
    count = np.count_nonzero(mask)
    if count == len(mask):
        return yes
    if not count:
        return no
    return Ids(np.where(mask, yes.numbers, no.numbers), np.where(mask, yes.known, no.known))


def any_by(mask: Mask, groups: Numbers, count: int) -> Mask:
    """For each of `count` groups whether any of its rows is set."""
    found = np.zeros(count, np.bool_)
    if np.count_nonzero(mask):  # the findings of a healthy cluster are empty columns, and this is the fastest to ask
        found[groups[mask]] = True
    return found


def first_by(mask: Mask, groups: Numbers, count: int) -> Ids:
    """For each of `count` groups the number of its first row that is set."""
    rows = Ids(np.arange(len(groups), dtype=np.int64), mask)
    return rows.least_by(groups, count)


def is_all(mask: Mask) -> bool:
    """Whether the mask is set in every row. For a few rows, `all()` takes five times as long."""
    return bool(np.count_nonzero(mask) == len(mask))


def are_same(some: npt.NDArray[Any], others: npt.NDArray[Any]) -> bool:
    """Whether two columns have the same rows; `np.array_equal` takes three times as long for a few of them."""
    return len(some) == len(others) and not np.count_nonzero(some != others)


def distinct(values: RegionIds) -> RegionIds:
    """Each value once, in their order. As regions mostly come: most often there is nothing to sort."""
    return values if _rises(values) else np.unique(values)


def first_rows(values: RegionIds) -> tuple[RegionIds, Numbers, Numbers]:
    """Each value once, in their order; of each the first row that has it; and of each row, which of them it has."""
    if _rises(values):
        rows = np.arange(len(values), dtype=np.int64)
        return values, rows, rows
    found, first, place = np.unique(values, return_index=True, return_inverse=True)
    return found, first.astype(np.int64), place.astype(np.int64)


def _rises(values: RegionIds) -> bool:
    return not np.count_nonzero(values[1:] <= values[:-1])


def mask_of(values: Iterable[bool], count: int) -> Mask:
    """A mask of `count` rows."""
    return np.fromiter(values, np.bool_, count=count)


def rows_of(sorted_keys: RegionIds, wanted: RegionIds) -> Ids:
    """For each of `wanted` its row in `sorted_keys`; unknown where it is not there."""
    if not len(sorted_keys):
        return Ids.unknown(len(wanted))
    if are_same(sorted_keys, wanted):  # as from one look to the next: a search takes a hundred times as long
        return in_order(len(wanted))
    rows = np.minimum(np.searchsorted(sorted_keys, wanted), len(sorted_keys) - 1)
    return Ids(rows.astype(np.int64), sorted_keys[rows] == wanted)


def found_at(column: Ids, at: Ids) -> Ids:
    """The rows that `at` knows, in its order; unknown for the others. All rows in their order are not copied."""
    if not len(column):
        return Ids.unknown(len(at))
    if len(column) == len(at) and _is_in_order(at):
        return column
    return column.take(at.numbers).only(at.known)


def _combined(columns: Sequence[Ids], pick: Any) -> Ids:
    found = columns[0]
    for column in columns[1:]:
        if not np.count_nonzero(column.known):  # as the second half of a region, where no table is the metric engine's
            continue
        if not np.count_nonzero(found.known):
            found = column
            continue
        picked = pick(found.numbers, column.numbers)
        np.copyto(picked, found.numbers, where=~column.known)
        np.copyto(picked, column.numbers, where=~found.known)
        found = Ids(picked, found.known | column.known)
    return found
