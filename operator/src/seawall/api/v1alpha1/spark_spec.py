"""The Spark application of replay verifications: what its WALCluster declares, and what one verification may set of it.

Its driver reads the log as a user of Kafka, so whoever says which code runs, as whom and with which settings has that
user. That is the owner of the WALCluster, and nobody else.
"""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from seawall.api.meta import APIModel, Name, Rule
from seawall.api.quantity import MAX_LARGE, MI, LargeBytes, bytes_rule
from seawall.api.text import SPACE

LEAST_MEMORY = 512 * MI

_CONF = r"^spark[.][a-zA-Z0-9._-]{1,200}$"

SIZE_CONF = (
    "spark.default.parallelism",
    "spark.driver.maxResultSize",
    "spark.driver.memoryOverhead",
    "spark.executor.memoryOverhead",
    "spark.network.timeout",
    "spark.sql.execution.arrow.maxBytesPerBatch",
    "spark.sql.shuffle.partitions",
    "spark.task.maxFailures",
)
"""The settings of Spark that a verification may have of its own: sizes, counts and times. None of them can load code,
change who it is, mount anything or send anything elsewhere."""

_SIZE = r"^[0-9]{1,10}[a-z]{0,3}$"
"""Their values: a number with a unit, in which Spark can substitute nothing."""

Image = Annotated[str, Field(min_length=1, max_length=512, pattern=rf"^[^{SPACE}]+$")]
PullPolicy = Literal["Always", "IfNotPresent", "Never"]
PullSecrets = Annotated[tuple[Name, ...], Field(max_length=8)]
Executors = Annotated[int, Field(strict=True, ge=1, le=1000)]
Cores = Annotated[int, Field(strict=True, ge=1, le=64)]
CpuRequest = Annotated[str, Field(max_length=16, pattern=r"^[0-9]{1,6}m?$")]


def _memory_rule(field: str) -> Rule:
    def holds(spark: SparkSpec | SparkOverrides) -> bool:
        value = spark.memory if field == "memory" else spark.driver_memory
        return value is None or value >= LEAST_MEMORY

    return Rule(
        f"!has(self.{field}) || quantity(string(self.{field})).compareTo(quantity('512Mi')) >= 0",
        f"{field} must be at least 512Mi: Spark does not start with less",
        holds,
    )


_MEMORY_RULES = (
    bytes_rule("memory", MAX_LARGE),
    bytes_rule("driverMemory", MAX_LARGE),
    _memory_rule("memory"),
    _memory_rule("driverMemory"),
)


class SparkSpec(APIModel):
    """The Spark application that reads the log: its code, its account, its settings, and how large it is by default."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *_MEMORY_RULES,
        Rule(
            f"!has(self.conf) || self.conf.all(name, name.matches('{_CONF}') && !name.startsWith('spark.kubernetes.'))",
            "conf takes settings of Spark (spark.<name>), and none of spark.kubernetes: Seawall makes the pods",
            lambda spark: all(
                re.fullmatch(_CONF, name) and not name.startswith("spark.kubernetes.") for name in spark.conf
            ),
        ),
    )

    image: Image
    """Image with Spark and Seawall's replay verification."""
    image_pull_policy: PullPolicy = "IfNotPresent"
    """When the image is pulled."""
    image_pull_secrets: PullSecrets = ()
    """Secrets of the image's registry."""
    service_account_name: Name = "seawall-replay-verification"
    """Service account of the driver, which makes executors; the chart makes one with no other rights."""
    executors: Executors = 2
    """How many executors read."""
    cores: Cores = 1
    """Tasks that each executor runs at the same time."""
    memory: Annotated[LargeBytes, Field(json_schema_extra={"default": "1Gi"})] = 1024 * MI
    """Heap of each executor, at least 512Mi. Its pod takes 40 percent more, for Python."""
    driver_memory: Annotated[LargeBytes, Field(json_schema_extra={"default": "1Gi"})] = 1024 * MI
    """Heap of the driver, at least 512Mi. Its pod takes 40 percent more, for Python."""
    cpu_request: CpuRequest | None = None
    """CPU that the pods of driver and executors request each, as in `500m`; absent: as many as their cores."""
    conf: Annotated[dict[str, Annotated[str, Field(max_length=1024)]], Field(max_length=32)] = Field(
        default_factory=dict
    )
    """Further settings of Spark, such as `spark.executor.defaultJavaOptions`. None of spark.kubernetes."""


class SparkOverrides(APIModel):
    """What one verification sets of its Spark application; what is absent is as its WALCluster declares.

    Code and account are the WALCluster's alone: named here they must be the same, or the verification is refused.
    """

    RULES: ClassVar[tuple[Rule, ...]] = (
        *_MEMORY_RULES,
        Rule(
            f"!has(self.conf) || self.conf.all(name, name in {list(SIZE_CONF)})",
            f"conf of a verification takes only {', '.join(SIZE_CONF)}: whatever else is set in "
            "spec.verification.spark of its WALCluster",
            lambda spark: all(name in SIZE_CONF for name in spark.conf),
        ),
        Rule(
            f"!has(self.conf) || self.conf.all(name, self.conf[name].matches('{_SIZE}'))",
            "conf of a verification takes numbers, with a unit such as m, g or s",
            lambda spark: all(re.fullmatch(_SIZE, value) for value in spark.conf.values()),
        ),
    )

    image: Image | None = None
    """Best left out: the WALCluster says which image runs, and another one is refused."""
    image_pull_policy: PullPolicy | None = None
    """Best left out: as the WALCluster says, and nothing else."""
    image_pull_secrets: PullSecrets | None = None
    """Best left out: as the WALCluster says, and nothing else."""
    service_account_name: Name | None = None
    """Best left out: as the WALCluster says, and nothing else."""
    executors: Executors | None = None
    """How many executors read."""
    cores: Cores | None = None
    """Tasks that each executor runs at the same time."""
    memory: LargeBytes | None = None
    """Heap of each executor, at least 512Mi. Its pod takes 40 percent more, for Python."""
    driver_memory: LargeBytes | None = None
    """Heap of the driver, at least 512Mi. Its pod takes 40 percent more, for Python."""
    cpu_request: CpuRequest | None = None
    """CPU that the pods of driver and executors request each, as in `500m`."""
    conf: Annotated[dict[str, Annotated[str, Field(max_length=64)]], Field(max_length=16)] = Field(default_factory=dict)
    """Settings of Spark about sizes, counts and times, such as `spark.sql.shuffle.partitions`, beside those that the
    WALCluster has. Anything that could load code, mount, or send elsewhere is refused."""
