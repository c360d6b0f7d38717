"""The format of a benchmark's result, so strict that a benchmark whose peer did not run has none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KEYS = ("name", "command", "load1", "commit", "machine", "setting", "results")
RESULT_KEYS = (
    *("metric", "value", "unit", "min", "max"),
    *("against", "againstValue", "againstMin", "againstMax"),
    *("ratio", "goal", "met", "samples", "againstSamples"),
)
TIMES = frozenset({"s", "ms", "µs"})
PRECISION = 1e-3
"""Of a ratio whose parts are rounded to five digits."""

Body = Mapping[str, Any]


def require_valid(body: Body) -> None:
    """Checks a result.

    Raises:
        ValueError: what is wrong with it, all at once.
    """
    found = list(_problems(body))
    if found:
        raise ValueError(f"no valid result of {body.get('name') or 'a benchmark'}: {'; '.join(found)}")


def _problems(body: Body) -> Iterator[str]:
    if tuple(body) != KEYS:
        yield f"its keys are {', '.join(body)}"
        return
    yield from (f"{key} is no word" for key in ("name", "command", "commit") if not _is_word(body[key]))
    yield from (f"{key} is no object" for key in ("machine", "setting") if not isinstance(body[key], Mapping))
    if not _are_numbers([body["load1"]]) or body["load1"] < 0:
        yield "load1 is no load"
    results = body["results"]
    for result in results:
        yield from (f"{result.get('metric')}: {problem}" for problem in _problems_of(result))
    if not any(result.get("against") or result.get("goal") for result in results):
        yield "nothing is compared with a peer or a limit"
    lines = [(result.get("metric"), result.get("against")) for result in results]
    yield from (f"{metric} is there twice" for metric, against in set(lines) if lines.count((metric, against)) > 1)


def _problems_of(result: Body) -> Iterator[str]:
    if tuple(result) != RESULT_KEYS:
        yield f"its keys are {', '.join(result)}"
        return
    if not _is_word(result["metric"]) or not isinstance(result["unit"], str):
        yield "the metric or its unit is no word"
    yield from _problems_of_side(result, "value", "min", "max", "samples")
    if (result["goal"] is None) is not (result["met"] is None):
        yield "it is not told whether the goal is met"
    if result["against"] is None:
        if result["againstSamples"] or result["ratio"] is not None or str(result["goal"]).startswith("ratio"):
            yield "it has a ratio to nothing"
        return
    peer = list(_problems_of_side(result, "againstValue", "againstMin", "againstMax", "againstSamples"))
    yield from peer
    if not peer and result["unit"] in TIMES and result["againstMin"] <= 0:
        yield f"the peer took no time: {result['against']} did not run"
    if not peer and not _is_ratio(result):
        yield "the ratio is another one"


def _problems_of_side(result: Body, value: str, least: str, most: str, samples: str) -> Iterator[str]:
    if not result[samples]:
        yield f"{samples} is empty: it did not run"
    elif not _are_numbers([result[value], result[least], result[most], *result[samples]]):
        yield f"{samples} has what is no number"
    elif not result[least] <= result[value] <= result[most]:
        yield f"{value} is not between {least} and {most}"


def _is_ratio(result: Body) -> bool:
    value, peer, ratio = result["value"], result["againstValue"], result["ratio"]
    if not peer or ratio is None:
        return not peer and ratio is None
    return math.isclose(ratio, value / peer, rel_tol=PRECISION)


def _are_numbers(values: Sequence[object]) -> bool:
    return all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) for value in values
    )


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value)
