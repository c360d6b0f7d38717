"""Tables of what is read and written beside fields: annotations, labels and finalizers, and metrics."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase

import seawall
from seawall.api.meta import GROUP
from seawall.crdgen.markdown import PageError, markdown
from seawall.handlers.metrics.telemetry import Telemetry

SOURCE = Path(seawall.__file__).parent
KINDS_OF_NAMES = ("ANNOTATION", "FINALIZER", "GATE", "LABEL")
"""How constants end whose values stand in the metadata of objects."""

_HEADER = """## Annotations, labels and finalizers

Where a value ends with `@<expiry>` it counts until then, and not while clocks disagree
([conditions.md](conditions.md#annotations)).

"""
_METRICS = """## Metrics

Port 8080, path `/metrics`, for whoever may get it ([chart](../charts/seawall/README.md#metrics)); Prometheus adds
`pod`. `namespace` and `name` are the object's: the policy's in
`seawall_policy_…`, `seawall_backup_policy_…` and `seawall_drill_…`, that of the `kind` where there is one, else the
WALCluster's. Only the leader has gauges of objects, and they go with the object. Counters begin anew with a process.

`seawall_object_condition` has one series for each condition of each object, as the last tick of its controller left
it, a minute ago at most; of an object that could not be read for five minutes there is none. A WALCluster has 18 at
most, others have 3 to 8, and no status can have more than 24: so 1,000 objects are some 6,000 series.
`seawall_topic_state` and `seawall_topic_reason` are there with the chart's `settings.topicMetrics` alone, one series of
each for each topic.

"""


@dataclass(frozen=True, slots=True, order=True)
class MetadataName:
    """A key that Seawall reads or writes in the metadata of objects.

    Attributes:
        name: as it is written.
        what: an annotation, a label, a finalizer or a readiness gate.
        text: its meaning.
    """

    name: str
    what: str
    text: str


def metadata_names() -> list[MetadataName]:
    """All of them, by name.

    Raises:
        PageError: one has no docstring.
    """
    return sorted(found for path in SOURCE.rglob("*.py") for found in names_in(ast.parse(path.read_text("utf-8"))))


def names_in(module: ast.Module) -> Iterator[MetadataName]:
    """Those of one module.

    Raises:
        PageError: one has no docstring.
    """
    for constant, below in pairwise([*module.body, ast.Pass()]):
        match constant:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.JoinedStr(
                    values=[ast.FormattedValue(value=ast.Name(id="GROUP")), ast.Constant(value=str(path))]
                ),
            ) if name.endswith(KINDS_OF_NAMES):
                what = name.rpartition("_")[2].lower()
                yield MetadataName(f"{GROUP}{path}", what, _text_below(name, below))


def _text_below(name: str, below: ast.stmt) -> str:
    match below:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    raise PageError(f"{name} has no docstring")


def names_table() -> str:
    """Annotations, labels and finalizers in Markdown."""
    rows = [(f"`{each.name}`", each.what, each.text) for each in metadata_names()]
    return _HEADER + markdown(("name", "is", "where, and what it means"), rows)


@dataclass(frozen=True, slots=True, order=True)
class PublishedMetric:
    """A metric as Prometheus has it.

    Attributes:
        name: without the suffixes of a histogram's series.
        type: counter, gauge or histogram.
        labels: beside those that Prometheus adds.
        text: its HELP.
    """

    name: str
    type: str
    labels: tuple[str, ...]
    text: str


def published_metrics(registry: CollectorRegistry | None = None) -> list[PublishedMetric]:
    """All of them, by name."""
    found = Telemetry(per_topic=True).registry if registry is None else registry
    # prometheus_client says the names of labels only of series that there are.
    collectors = {each for each in found._names_to_collectors.values() if isinstance(each, MetricWrapperBase)}  # noqa: SLF001
    return sorted(_published(each) for each in collectors)


def _published(collector: MetricWrapperBase) -> PublishedMetric:
    (family,) = collector.describe()
    name = f"{family.name}_total" if family.type == "counter" else family.name
    return PublishedMetric(name, family.type, tuple(collector._labelnames), family.documentation)  # noqa: SLF001


def metrics_table() -> str:
    """Metrics in Markdown."""
    rows = [
        (f"`{each.name}`", each.type, ", ".join(f"`{label}`" for label in each.labels), each.text)
        for each in published_metrics()
    ]
    return _METRICS + markdown(("metric", "type", "labels", "is"), rows)
