"""Which task reads what: large topics are split, small ones share a task, and so an object.

How large records are nobody knows before: of many bytes a task makes several objects (`task.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from sparkjob.wire.reader import Range

MOST_OFFSETS = 1_000_000
"""Of one task: about 128 MiB of an object when records have some hundred bytes."""
LEAST_OFFSETS = 65_536
"""Smaller tasks cost more to start than to run."""


def plan_tasks(ranges: Iterable[Range], cores: int) -> list[list[Range]]:
    """Tasks of about the same number of offsets, at least three for each core where there is that much to read."""
    left = [each for each in ranges if each.start < each.end]
    total = sum(each.end - each.start for each in left)
    most = max(LEAST_OFFSETS, min(MOST_OFFSETS, -(-total // (3 * cores))))
    tasks: list[list[Range]] = []
    room = 0
    for topic, start, end in left:
        begin = start
        while begin < end:
            if room == 0:
                tasks.append([])
                room = most
            stop = min(end, begin + room)
            tasks[-1].append(Range(topic, begin, stop))
            room -= stop - begin
            begin = stop
    return tasks
