#!/usr/bin/env bash
# Everything that must hold before a change goes in: hack/test.sh [--only STEP]
# The slower checks, sanitizers and fuzzers among them, are in hack/test-slow.sh. TEPHRA_JOBS bounds the parallelism.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

steps=(release volcano lab manifests claims)
only=
case "$#:${1:-}" in
  0:) ;;
  2:--only) only=$2 ;;
  *) echo "usage: hack/test.sh [--only release|volcano|lab|manifests|claims]" >&2; exit 2 ;;
esac
if [ -n "$only" ] && [[ " ${steps[*]} " != *" $only "* ]]; then
  echo "hack/test.sh: --only $only, expected one of ${steps[*]}" >&2
  exit 2
fi

go_programs() { # STEP
  case $1 in
    volcano) hack/build-scheduler.sh ;;
    lab | manifests) hack/build-scheduler.sh && hack/build-lab.sh ;;
    claims) hack/build-scheduler.sh && hack/build-bench.sh && hack/build-lab.sh ;;
  esac
}

# What a step needs. Go fetches and links while C++ compiles, and the other way round.
build_for() { # STEP
  beside go_programs "$1"
  build release
  local status=$?
  rejoin && return "$status"
}

# Tests a Go module as hack/build-*.sh build it: other flags would compile Kubernetes anew, and vet
# would read all of it.
test_module() (
  cd "$1" || exit
  CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go test -vet=off ./...
)

release() { run_tests release; }
volcano() { test_module plugins/volcano; }
lab() { test_module lab; }  # and on it the whole live path
manifests() { tests/manifests/all; }
claims() { tests/claims/all --quick; }

# A step that leaves the processors to the lab, which waits more than it computes.
yielding() { (renice -n 10 -p "$BASHPID" >/dev/null; "$@"); }

step setup hack/setup.sh
if [ -n "$only" ]; then
  step build build_for "$only"
  step "$only" "$only"
  finish
  exit
fi
step build build_for claims
beside lab
for name in release volcano manifests; do step "$name" yielding "$name"; done
step lab rejoin
step claims claims
finish
