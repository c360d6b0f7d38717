"""Numbers and times as people read them, on the page of `seawall status` and on that of `seawall ui`."""

from __future__ import annotations

from datetime import datetime, timedelta

from seawall.domain.overview.activities import Progress

BAR = 20
"""Characters of a bar."""


def as_bar(progress: Progress) -> str:
    """How far something is, to look at: a bar of plain characters, for any terminal."""
    share = min(1.0, progress.done / progress.total) if progress.total else 1.0
    full = int(BAR * share)
    return f"[{'#' * full}{'.' * (BAR - full)}]"


def as_progress(progress: Progress, now: datetime) -> str:
    """How far something is, and how long it takes still."""
    numbers = (progress.done, progress.total)
    done, total = map(as_size, numbers) if progress.unit == "bytes" else map(str, numbers)
    unit = "" if progress.unit == "bytes" else f" {progress.unit}"
    share = f" ({100 * progress.done // progress.total} %)" if progress.total else ""
    return f"{done} of {total}{unit}{share}{time_left(progress.eta, now)}"


def time_left(eta: datetime | None, now: datetime) -> str:
    """Until something should be over; empty: nobody knows."""
    if eta is None:
        return ""
    return f", about {as_span(eta - now)} left" if eta > now else f", should have ended {time_ago(eta, now)}"


def time_ago(time: datetime, now: datetime) -> str:
    """How long ago something was."""
    return f"{as_span(now - time)} ago"


def as_span(span: timedelta) -> str:
    """One number: days, hours, minutes or seconds; clocks that differ a little are forgiven."""
    seconds = max(0, int(span.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def as_seconds(seconds: int | None) -> str | None:
    """Seconds with their unit."""
    return None if seconds is None else f"{seconds} s"


def as_size(size: int) -> str:
    """Bytes with one digit after the point, as Kubernetes names their multiples."""
    scaled, unit = float(size), ""
    for larger in ("Ki", "Mi", "Gi", "Ti"):
        if scaled < 1024:  # noqa: PLR2004 - the next multiple
            break
        scaled, unit = scaled / 1024, larger
    return f"{scaled:.1f} {unit}B" if unit else f"{size} B"
