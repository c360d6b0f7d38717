"""A command that goes on while the test plays what it waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.support.site import Site

END_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Typed:
    """`seawall …` of the site's namespace, as an admin types it."""

    process: subprocess.Popen[str]

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.process.poll() is not None

    def lines(self) -> list[str]:
        """What it printed, once it has ended well."""
        said, errors = self.process.communicate(timeout=END_SECONDS)
        assert (self.process.returncode, errors) == (0, ""), f"{said}\n{errors}"
        return said.splitlines()


@contextmanager
def typed(site: Site, *words: str) -> Iterator[Typed]:
    """Types it; it ends with the context at the latest."""
    environment = {**os.environ, "KUBECONFIG": str(site.kube.server.kubeconfig)}
    command = [sys.executable, "-m", "seawall", *words, "-n", site.namespace]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Typed(process)
        finally:
            process.kill()
