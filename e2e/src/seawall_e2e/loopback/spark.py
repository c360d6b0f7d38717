"""Spark on loopback: a copy of it in the cache, and an archive of the classes that it loads (AppCDS).

With the archive a start costs half as many processor seconds. Java takes one only for the class path that it was made
of: that of a virtual environment is another one in each clone, so the jars are copied once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path

import pyspark

from seawall_e2e.loopback.java import DOWNLOAD_TIMEOUT, java_version
from seawall_e2e.loopback.processes import cache_folder, platform_folder

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For short work on a busy machine."""
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
    """Of a program that starts a Spark: where it is, its connector's jars, and how its Java starts."""
    jars = platform_folder("spark/jars.sh", DOWNLOAD_TIMEOUT)
    found = sorted(path.name for path in _installed("jars").iterdir())
    key = sha256("\n".join([*found, str(jars), java_version()]).encode()).hexdigest()[:16]
    home, archive = cache_folder() / "spark-home" / key, cache_folder() / "appcds" / f"spark-{key}.jsa"
    variables = {"SPARK_HOME": str(home), "SEAWALL_SPARK_JARS": str(jars), "PYSPARK_PYTHON": sys.executable}
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test runs may start at once
        if not home.exists():
            _copy_to(home)
        if not archive.exists():
            _build(archive, variables)
    # Java says on stdout that an archive does not fit: a Spark without the connector's jars is one.
    return variables | {"SPARK_SUBMIT_OPTS": f"{QUICK} -XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off"}


def _installed(name: str) -> Path:
    return Path(pyspark.__file__).parent / name


def _copy_to(home: Path) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=home.parent))
    for name in ("bin", "jars"):
        shutil.copytree(_installed(name), unfinished / name)
    unfinished.chmod(0o755)
    unfinished.rename(home)


def _build(archive: Path, variables: dict[str, str]) -> None:
    """By a small application."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        unfinished = Path(folder, archive.name)
        own = {"SPARK_SUBMIT_OPTS": f"{QUICK} -XX:ArchiveClassesAtExit={unfinished}", "SPARK_MASTER": "local[2]"}
        subprocess.run(
            [sys.executable, "-c", TRIAL],
            env={**os.environ, **variables, **own, "SPARK_LOCAL_DIRS": folder},
            check=True,
            capture_output=True,
            timeout=TRIAL_SECONDS,
        )
        unfinished.replace(archive)
