"""What servers of SQL have in common, each on loopback with GreptimeDB's table of metadata: files, users, life."""

from __future__ import annotations

import secrets
import shutil
import signal
import ssl
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from seawall.domain.dataplane.connection import ClientTLS, User
from seawall_e2e.commands import run
from seawall_e2e.loopback.pki import CertificateAuthority
from seawall_e2e.loopback.processes import Process, free_ports

START_TIMEOUT = 60
INSTALL_TIMEOUT = 600
TABLE = "greptime_metakv"
DATABASE = "metadata"


class SqlServer(ABC):
    """One server, and the user of Seawall in it.

    A standby begins with the files of another server, which is stopped while they are copied.

    Attributes:
        passwords: of the superuser, and of the user of Seawall.
        folder: that goes with `close()`.
        data: the files.
    """

    _crash: ClassVar[signal.Signals]
    """What ends it so that nothing is written any more, and the next start recovers."""
    _end: ClassVar[signal.Signals]
    """What ends it in order."""

    def __init__(self, name: str, *, secure: bool, standby_of: SqlServer | None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"seawall-{name}-"))
        self.folder.chmod(0o755)
        self.data, (self.port,) = self.folder / "data", free_ports(1)
        own = secrets.token_hex(12), secrets.token_hex(12)
        self.passwords: tuple[str, str] = own if standby_of is None else standby_of.passwords
        self.authority = CertificateAuthority(self.folder)
        self._client = self.authority.issue("client", "/CN=seawall")
        self.is_secure = secure
        self._process = Process(name, self._command(), self.folder)
        try:
            if standby_of is None:
                self._make_files()
                self.start()
                self._make_table()
            else:
                run("cp", "-a", standby_of.back_up(), self.data)
                self._follow(standby_of)
        except BaseException:
            self.close()
            raise

    @property
    def hosts(self) -> tuple[tuple[str, int], ...]:
        """Where it listens."""
        return (("127.0.0.1", self.port),)

    @property
    def user(self) -> User:
        """Seawall's."""
        return User("seawall", self.passwords[1])

    @property
    def tls(self) -> ClientTLS | None:
        """What Seawall needs of a secure one."""
        ca, client = self.authority.cert.read_text(), self._client
        return ClientTLS(ca, client.cert.read_text(), client.key.read_text()) if self.is_secure else None

    @property
    def trust(self) -> ssl.SSLContext:
        """What the superuser needs of it."""
        trust = ssl.create_default_context(cafile=self.authority.cert)
        trust.load_cert_chain(self._client.cert, self._client.key)
        return trust

    @property
    @abstractmethod
    def url(self) -> str:
        """How the database itself gets in, which may do all."""

    def start(self) -> None:
        """Starts it and waits until it answers."""
        self._process.start()
        self._process.wait_ready(self._is_ready, START_TIMEOUT)

    def kill(self) -> None:
        """Ends it as a crash would: nothing is written any more, and the next start recovers."""
        self._process.signal(self._crash)
        self._process.wait_ended(START_TIMEOUT)

    def stop(self) -> None:
        """Ends it in order."""
        self._process.signal(self._end)
        self._process.wait_ended(START_TIMEOUT)

    def pause(self) -> None:
        """Freezes what accepts connections (SIGSTOP)."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self._process.signal(signal.SIGCONT)

    def back_up(self) -> Path:
        """A copy of its files, taken while it is stopped."""
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / "data"
        self.stop()
        run("cp", "-a", self.data, copy)
        self.start()
        return copy

    def restore(self, copy: Path) -> None:
        """Puts the copy in the place of its files."""
        self.stop()
        shutil.rmtree(self.data)
        run("cp", "-a", copy, self.data)
        self.start()

    @abstractmethod
    def restore_dump(self) -> None:
        """Makes the table anew with the same keys, as a restored dump does."""

    @abstractmethod
    def promote(self) -> None:
        """Makes a primary of a standby."""

    @abstractmethod
    def put(self, key: str, value: str) -> None:
        """Writes a key, as GreptimeDB's batch_put does."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Removes a key."""

    @abstractmethod
    def get(self, key: str) -> str | None:
        """A key's value; None when it is not there."""

    def close(self) -> None:
        """Ends it and removes its data."""
        if self._process.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _command(self) -> Sequence[str | Path]: ...

    @abstractmethod
    def _is_ready(self) -> bool: ...

    @abstractmethod
    def _make_files(self) -> None: ...

    @abstractmethod
    def _make_table(self) -> None: ...

    @abstractmethod
    def _follow(self, other: SqlServer) -> None:
        """Starts it as a standby, with the files of the other one."""
