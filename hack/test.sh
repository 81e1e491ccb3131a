#!/usr/bin/env bash
# Everything that must hold before a change goes in: hack/test.sh [--only release|asan|fuzz|claims]
# The slower checks are in hack/test-slow.sh. TEPHRA_JOBS bounds the parallelism.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

steps=(release asan fuzz claims)
case "$*" in
  "") ;;
  "--only release" | "--only asan" | "--only fuzz" | "--only claims") steps=("$2") ;;
  *) echo "usage: hack/test.sh [--only release|asan|fuzz|claims]" >&2; exit 2 ;;
esac

claims() { build release && tests/claims/all --quick; }

# The sanitized build also replays, byte for byte, what the release build wrote.
asan() {
  build_and_test asan && build release --target tephra &&
    tests/replay/cross_build.sh build/release/simulations/tephra build/asan/simulations/tephra
}

step setup hack/setup.sh
for name in "${steps[@]}"; do
  case $name in
    release) step release build_and_test release ;;
    asan) step asan asan ;;
    fuzz) step fuzz hack/fuzz.sh 10 ;;
    claims) step claims claims ;;
  esac
done
finish
