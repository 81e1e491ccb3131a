#!/usr/bin/env bash
# Gets the public data sets that claims compare with: hack/data.sh [--list] [--from DIR] [--to DIR] [SET...]
# Without a name it gets every set that a public home has. An interrupted run goes on where it was.
set -euo pipefail
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/data/get.py" "$@"
