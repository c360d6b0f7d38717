"""Java for Kafka: its class path, and an archive of loaded classes (AppCDS) that halves the start."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from seawall_e2e.commands import run
from seawall_e2e.loopback.processes import Process, cache_folder, platform_folder

DOWNLOAD_TIMEOUT = 900
"""The first call on a machine downloads the jars."""

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For short work on a busy machine."""
SMALL_AND_QUICK = (*QUICK.split(), "-XX:-UsePerfData", "-Djava.awt.headless=true")
LOG4J = """\
Configuration:
  Appenders:
    Console:
      name: stdout
      PatternLayout: {pattern: "%d{ISO8601} %p %m (%c{1})%n"}
  Loggers:
    Root: {level: INFO, AppenderRef: {ref: stdout}}
"""


class Java:
    """Builds the commands that run Kafka's classes."""

    def __init__(self, folder: Path, more: Sequence[Path] = ()) -> None:
        """`more` are jars beside Kafka's."""
        jars = kafka_jars()
        self._kafka = ":".join(map(str, jars))
        self._class_path = ":".join(map(str, [*jars, *more]))
        self._log4j = folder / "log4j2.yaml"
        self._log4j.write_text(LOG4J)
        self._archive: Path | None = None

    def command(self, main: str, *args: str | Path, options: Sequence[str] = ()) -> list[str | Path]:
        """The command that runs a main class."""
        archive = [f"-XX:SharedArchiveFile={self._archive}", "-Xshare:auto"] if self._archive else []
        log4j = f"-Dlog4j2.configurationFile={self._log4j}"
        return ["java", *SMALL_AND_QUICK, *archive, log4j, *options, "-cp", self._class_path, main, *args]

    def archive_path(self) -> Path:
        """Where this class path's and this JDK's archive is; it fits no other."""
        # The JDK checks the jars' times itself and then just runs without the archive.
        # More jars at the end of the class path do it no harm.
        key = hashlib.sha256((self._kafka + java_version()).encode()).hexdigest()[:16]
        return cache_folder() / "appcds" / f"{key}.jsa"

    def use_archive(self, path: Path) -> None:
        """Lets commands use the archive from now on."""
        self._archive = path


def kafka_jars(version: str | None = None) -> list[Path]:
    """Kafka and all that it needs; None: of the version that all beds run."""
    arguments = () if version is None else (version,)
    return sorted(platform_folder("kafka/jars.sh", DOWNLOAD_TIMEOUT, *arguments).glob("*.jar"))


@cache
def java_version() -> str:
    """What `java --version` says, but for the options that it picks up from the environment."""
    return "\n".join(line for line in run("java", "--version").splitlines() if not line.startswith("Picked up "))


def make_once(place: Path, make: Callable[[Path], object]) -> None:
    """Makes a file or folder of the cache, unless it is there: elsewhere first, so that it is whole or missing."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test runs may start at once
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                unfinished = Path(folder, place.name)
                make(unfinished)
                unfinished.replace(place)


def build_archive(java: Java, main: str, *args: str | Path, folder: Path, ready: str, timeout: float) -> None:
    """Runs a program until it logs `ready` and stops it: Java then writes the archive. At once when there is one."""

    def run_once(archive: Path) -> None:
        command = java.command(main, *args, options=[f"-XX:ArchiveClassesAtExit={archive}"])
        trial = Process("appcds", command, folder)
        try:
            trial.start()
            trial.wait_ready(lambda: ready in trial.log_since_start(), timeout)
            trial.stop(timeout)
        finally:
            trial.kill()

    make_once(java.archive_path(), run_once)
    java.use_archive(java.archive_path())
