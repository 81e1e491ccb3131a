#!/usr/bin/env bash
# From a bare Debian 12 machine to a first simulated schedule. Arguments go to `tephra simulate`.
# The schedule is alone on stdout; progress goes to stderr and build output to a log.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

log=build/demo.log
mkdir -p build
: >"$log"

# quietly WHAT COMMAND...: says what happens; shows the log only when it went wrong.
quietly() {
  local began=$SECONDS
  echo "demo: $1 ..." >&2
  if ! "${@:2}" >>"$log" 2>&1; then
    tail -n 100 "$log" >&2
    echo "demo: $1 failed; the whole output is in $log" >&2
    exit 1
  fi
  echo "demo: $1 took $((SECONDS - began)) s" >&2
}

quietly "installing packages" hack/setup.sh
quietly "building tephra" build release --target tephra
exec build/release/simulations/tephra simulate simulations/examples/demo.yaml "$@"
