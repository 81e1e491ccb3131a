#!/usr/bin/env bash
# From a bare Debian 12 machine to Volcano Jobs placed live: packages, builds, a control plane on
# loopback with two racks of fake 8-GPU nodes, and four Jobs shown until they end.
#   hack/demo.sh [--keep]    --keep leaves the cluster running until Ctrl-C
# Progress goes to stderr, build output to build/demo.log.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"
case "$*" in
  "" | --keep) ;;
  *) echo "usage: hack/demo.sh [--keep]" >&2; exit 2 ;;
esac

log=build/demo.log
mkdir -p build
: >"$log"

# quietly WHAT COMMAND...: says what happens and how long it has taken; shows the log only when it
# went wrong.
quietly() {
  local began=$SECONDS what=$1 status=0
  shift
  "$@" >>"$log" 2>&1 &
  local job=$!
  [ -t 2 ] || echo "demo: $what ..." >&2
  while [ -t 2 ] && kill -0 "$job" 2>/dev/null; do
    printf '\rdemo: %s ... %d s' "$what" $((SECONDS - began)) >&2
    sleep 1
  done
  wait "$job" || status=$?
  [ ! -t 2 ] || printf '\r' >&2
  if [ "$status" -ne 0 ]; then
    echo >&2
    tail -n 100 "$log" >&2
    echo "demo: $what failed; the whole output is in $log" >&2
    exit 1
  fi
  printf 'demo: %s took %d s\n' "$what" $((SECONDS - began)) >&2
}

quietly "installing packages" hack/setup.sh
quietly "building the engine (first time about 4 minutes)" build release --target tephra --target tephra-engine
quietly "building the scheduler (first time about 3 minutes)" hack/build-scheduler.sh
quietly "building the lab (first time about 6 minutes)" hack/build-lab.sh
exec python3 hack/live_demo.py "$@"
