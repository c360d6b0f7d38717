"""Spark on loopback: a copy of it in the cache, and an archive of the classes that it loads (AppCDS).

With the archive a start costs half as many processor seconds. Java takes one only for the class path that it was made
of: that of a virtual environment is another one in each clone, so the jars are copied once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyspark

from seawall_e2e.loopback.java import QUICK, java_version, make_once
from seawall_e2e.loopback.processes import cache_folder

TRIAL = """
from sparkjob.session import open_session
spark = open_session("what most applications load")
spark.createDataFrame([(1, "a")], "a int, b string").groupBy("b").count().collect()
spark.sparkContext.parallelize(range(9), 2).mapPartitions(lambda part: [sum(part)]).collect()
spark.stop()
spark.sparkContext._gateway.shutdown()
spark.sparkContext._gateway.proc.stdin.close()
raise SystemExit(spark.sparkContext._gateway.proc.wait())
"""
"""Java writes the archive when it ends, so it is waited for."""
TRIAL_SECONDS = 600.0


@cache
def spark_variables() -> dict[str, str]:
    """Of a program that starts a Spark: where it is, and how its Java starts."""
    found = sorted(path.name for path in _installed("jars").iterdir())
    key = sha256("\n".join([*found, java_version()]).encode()).hexdigest()[:16]
    home, archive = cache_folder() / "spark-home" / key, cache_folder() / "appcds" / f"spark-{key}.jsa"
    variables = {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    make_once(home, _copy_to)
    make_once(archive, lambda unfinished: _build(unfinished, variables))
    # Java says on stdout that an archive does not fit: one of other options is one.
    return variables | {"SPARK_SUBMIT_OPTS": f"{QUICK} -XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off"}


def _installed(name: str) -> Path:
    return Path(pyspark.__file__).parent / name


def _copy_to(home: Path) -> None:
    for name in ("bin", "jars"):
        shutil.copytree(_installed(name), home / name)


def _build(archive: Path, variables: dict[str, str]) -> None:
    """By a small application."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"SPARK_SUBMIT_OPTS": f"{QUICK} -XX:ArchiveClassesAtExit={archive}", "SPARK_MASTER": "local[2]"}
        subprocess.run(
            [sys.executable, "-c", TRIAL],
            env={**os.environ, **variables, **own, "SPARK_LOCAL_DIRS": folder},
            check=True,
            capture_output=True,
            timeout=TRIAL_SECONDS,
        )
