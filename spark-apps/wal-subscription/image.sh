#!/usr/bin/env bash
# The image of this application: ../image.sh says what is done with it.
exec "$(dirname "${BASH_SOURCE[0]}")/../image.sh" wal-subscription "$@"
