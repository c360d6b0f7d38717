"""Objects of a bucket, some of which are created only where there is none: the condition that a chain stands on.

pyarrow has no conditional writes; botocore has. It needs the extra `sparkjob[s3]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
)
from botocore.session import Session

from sparkjob.errors import Interrupted, Refused
from sparkjob.s3 import S3

PAGE = 1_000
"""Names that a list has at most."""
_SECONDS = 15
_ATTEMPTS = 3
_REFUSALS = frozenset(
    {
        "AccessDenied",
        "AllAccessDisabled",
        "InvalidAccessKeyId",
        "NoSuchBucket",
        "NotImplemented",
        "PermanentRedirect",
        "SignatureDoesNotMatch",
    }
)
_HOPELESS = (NoCredentialsError, ParamValidationError, PartialCredentialsError)
"""What the client itself refuses."""


class Bucket:
    """Objects by their paths below the prefix of a bucket.

    Raises:
        Refused: its address is none.
    """

    def __init__(self, place: S3) -> None:
        self._bucket, self._root = place.bucket, place.prefix.strip("/")
        try:
            self._client = _client(place)
        except (ValueError, BotoCoreError) as error:
            raise Refused(f"the store cannot be asked: {error}") from error

    def close(self) -> None:
        """Ends its connections."""
        self._client.close()

    def create(self, path: str, content: bytes) -> bool:
        """Publishes these bytes if there is no such object; whether there was none.

        A request whose answer was lost is sent again: so False may mean that this very call created it.

        Raises:
            Refused, Interrupted: the store does not take it, or does not answer.
        """
        try:
            self._ask(path, self._client.put_object, Key=self._key(path), Body=content, IfNoneMatch="*")
        except FileExistsError:
            return False
        return True

    def put(self, path: str, body: bytes | IO[bytes]) -> None:
        """Publishes bytes, or a file from where it is on. Raises as `create`."""
        self._ask(path, self._client.put_object, Key=self._key(path), Body=body)

    def get(self, path: str) -> bytes:
        """The whole object.

        Raises:
            FileNotFoundError: there is none.
            Refused, Interrupted: as `create`.
        """

        def read(**asked: Any) -> bytes:
            return bytes(self._client.get_object(**asked)["Body"].read())

        return bytes(self._ask(path, read, Key=self._key(path)))

    def names(self, folder: str, after: str = "", most: int = PAGE) -> list[str]:
        """Names of objects below a folder: the first ones after this name, in the order of their bytes.

        Raises as `create`.
        """
        root = self._key(f"{folder}/")
        asked = {"Prefix": root, "StartAfter": f"{root}{after}", "MaxKeys": most}
        answer = self._ask(folder, self._client.list_objects_v2, **asked)
        return [found["Key"].removeprefix(root) for found in answer.get("Contents", ())]

    def _key(self, path: str) -> str:
        return f"{self._root}/{path}" if self._root else path

    def _ask(self, path: str, call: Callable[..., Any], **asked: Any) -> Any:
        try:
            return call(Bucket=self._bucket, **asked)
        except ClientError as error:
            raise _meaning(path, error) from error
        except _HOPELESS as error:
            raise Refused(f"the store cannot be asked for {path}: {error}") from error
        except BotoCoreError as error:
            raise Interrupted(f"the store does not answer for {path}: {error}") from error


def _meaning(path: str, error: ClientError) -> Exception:
    """What the store refuses stays so, all else may work later."""
    found = error.response.get("Error", {})
    code, said = found.get("Code", ""), found.get("Message", "")
    match code:
        case "PreconditionFailed":
            return FileExistsError(path)
        case "NoSuchKey":
            return FileNotFoundError(path)
        case _ if code in _REFUSALS:
            return Refused(f"the store refuses {path}: {code}: {said}")
        case _:
            return Interrupted(f"the store has trouble with {path}: {code}: {said}")


def _client(place: S3) -> Any:
    style = "path" if place.is_path_style else "virtual"
    config = Config(
        connect_timeout=_SECONDS,
        read_timeout=_SECONDS,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        s3={"addressing_style": style},
        # Other stores than Amazon's do not know the trailers that newer clients send.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return Session().create_client(
        "s3",
        region_name=place.region,
        endpoint_url=place.endpoint,
        verify=place.ca_file,
        aws_access_key_id=place.access_key_id,
        aws_secret_access_key=place.secret_access_key,
        config=config,
    )
