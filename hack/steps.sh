# Sourced by the scripts beside it: the common environment, `build`, and `step`, which runs one
# named part of a test run, times it and counts it. A failing step never stops the run.
# shellcheck shell=bash

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null  # nothing here asks a question

export TEPHRA_JOBS="${TEPHRA_JOBS:-$(nproc)}"
export CCACHE_DIR="${CCACHE_DIR:-$PWD/.ccache}"
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$PWD}"  # clones that share a cache share hits
# Without halt_on_error a finding of UBSan is a line on stderr and the test still passes.
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"

# build PRESET [ARGUMENT...]: configures and builds; arguments go to `cmake --build`.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" --parallel "$TEPHRA_JOBS" "$@"
}

# build_and_test PRESET [ARGUMENT...]: arguments go to ctest. Finding no test is a failure.
build_and_test() {
  local preset=$1
  shift
  build "$preset" &&
    ctest --preset "$preset" --parallel "$TEPHRA_JOBS" --output-on-failure --no-tests=error "$@"
}

passed=0
failed=0
summary=""

# step NAME COMMAND...
step() {
  local name=$1 began=$SECONDS outcome
  shift
  printf '\n==> %s\n' "$name"
  if "$@"; then
    outcome=passed
    passed=$((passed + 1))
  else
    outcome=FAILED
    failed=$((failed + 1))
  fi
  printf '<== %s: %s in %d s\n' "$name" "$outcome" $((SECONDS - began))
  summary+=$(printf '%-8s %-10s %6d s' "$outcome" "$name" $((SECONDS - began)))$'\n'
}

# The last line of a run, alone on its line: what a reader and a script look for.
finish() {
  printf '\n%s\n%d passed, %d failed\n' "$summary" "$passed" "$failed"
  [ "$failed" -eq 0 ]
}
