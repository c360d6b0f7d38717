"""What spark-submit starts in the image. It wants a file; one of the package would put its folder before all others."""

from wal_subscription.__main__ import run

run()
