"""Files by URI, through Hadoop's file systems: `file:` is tested, other schemes pass through to their jars."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from sparkjob.errors import Refused
from sparkjob.session import java_of, sentence_of


class Storage:
    """Reads and writes small files whole."""

    def __init__(self, spark: SparkSession) -> None:
        self._java = java_of(spark)
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - pyspark has no other door

    def read(self, uri: str) -> bytes:
        """The content of a file.

        Raises:
            Refused: It cannot be read; the sentence says why.
        """
        try:
            path, files = self._open(uri)
            stream = files.open(path)
            try:
                return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise Refused(f"{uri} cannot be read: {sentence_of(error)}") from None

    def parquet_columns(self, uri: str) -> set[str]:
        """The columns that the footer of a Parquet file names.

        Raises:
            Py4JJavaError: Storage failed, or it is no such file.
        """
        path, _ = self._open(uri)
        parquet = self._java.org.apache.parquet.hadoop
        reader = parquet.ParquetFileReader.open(parquet.util.HadoopInputFile.fromPath(path, self._configuration))
        try:
            return {str(field.getName()) for field in reader.getFileMetaData().getSchema().getFields()}
        finally:
            reader.close()

    def check_writable(self, uri: str) -> None:
        """Makes the file's folder, so that a report without a place is refused before hours of reading.

        Raises:
            Refused: There is no such file system, or it does not let us.
        """
        try:
            path, files = self._open(uri)
            made = files.mkdirs(path.getParent())
        except Py4JError as error:
            raise Refused(f"the report cannot be written to {uri}: {sentence_of(error)}") from None
        if not made:
            raise Refused(f"the report cannot be written to {uri}: its folder cannot be made")

    def write(self, uri: str, content: bytes) -> None:
        """Writes a file, or replaces it.

        Raises:
            Py4JJavaError: Storage failed.
        """
        path, files = self._open(uri)
        files.setWriteChecksum(False)  # no .crc files beside it
        stream = files.create(path, True)
        try:
            stream.write(content)
        finally:
            stream.close()

    def _open(self, uri: str) -> tuple[Any, Any]:
        path = self._java.org.apache.hadoop.fs.Path(uri)
        return path, path.getFileSystem(self._configuration)
