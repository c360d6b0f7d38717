#!/usr/bin/env bash
# Installs Debian's headless Chromium, and prints its path.
set -euo pipefail
exec 3>&1 1>&2   # stdout carries the path only
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v chromium-headless-shell >/dev/null || with_lock browser packages chromium-headless-shell fonts-dejavu-core
command -v chromium-headless-shell >&3
