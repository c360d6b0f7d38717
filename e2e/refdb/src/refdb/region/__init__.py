"""One region: memtable, files, manifest, log."""
