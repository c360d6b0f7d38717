"""When something begins: a cron expression, and the time zone in which it is meant."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seawall.api.meta import Rule

CronText = Annotated[str, Field(min_length=1, max_length=100)]
"""Five fields: minute, hour, day of month, month, day of week. What they say is read when it is needed."""
TimeZone = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_+/-]+$")]
"""A name of the IANA database."""

_STEP = "(/0*[1-9][0-9]*)?"
_MONTHS = "JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC"
_DAY, _WEEKDAY = "0*([1-9]|[12][0-9]|3[01])", "0*[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT"


def _field(value: str, *others: str) -> str:
    """A list of values, ranges and steps; `others` are what a term may be besides."""
    term = "|".join([rf"([*]|({value})(-({value}))?){_STEP}", *others])
    return f"({term})(,({term}))*"


CRON_PATTERN = "(?i)^ *{} *$".format(
    " +".join(
        [
            _field("0*[0-5]?[0-9]"),
            _field("0*([01]?[0-9]|2[0-3])"),
            _field(_DAY, f"LW?{_STEP}"),
            _field(f"0*([1-9]|1[0-2])|{_MONTHS}"),
            _field(_WEEKDAY, f"({_WEEKDAY})#0*[1-5]", "0*[0-7]L"),
        ]
    )
)
"""What cronsim reads, but for ranges that run backwards and dates that do not exist, which no pattern knows."""


def cron_rule(field: str) -> Rule:
    """The API server refuses what is no cron expression; the operator says of what is stored already why it is none."""
    return Rule(
        f"!has(self.{field}) || self.{field}.matches('{CRON_PATTERN}')",
        f"{field} is no cron expression with the five fields minute, hour, day of month, month and day of week",
    )


def time_zone_rule(field: str) -> Rule:
    """The same of a zone that the API server does not know; its own words come before these."""
    return Rule(
        f"!has(self.{field}) || timestamp('2000-01-01T00:00:00Z').getHours(self.{field}) >= 0",
        f"{field} is no time zone of the IANA database",
    )
