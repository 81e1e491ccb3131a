#!/usr/bin/env bash
# Fuzzes for a bounded time: hack/fuzz.sh [SECONDS_PER_TARGET=10] [TARGET...]
#
# A target is an executable build/asan/tests/fuzz/fuzz_*; its seeds are tests/fuzz/corpus/<target>,
# copied so that the tree stays clean. An input that crashes a target is kept in
# build/asan/artifacts and fails the run; put it into the corpus together with the fix.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

seconds=${1:-10}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: hack/fuzz.sh [SECONDS] [TARGET...]" >&2; exit 2; }
wanted=("${@:2}")

build asan

targets=()
for path in build/asan/tests/fuzz/fuzz_*; do
  [[ -f $path && -x $path ]] && targets+=("${path##*/}")
done
[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no build/asan/tests/fuzz/fuzz_*" >&2; exit 1; }
[ ${#wanted[@]} -eq 0 ] || targets=("${wanted[@]}")

artifacts=build/asan/artifacts
logs=build/asan/logs
mkdir -p "$artifacts" "$logs"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

crashed=0
for target in "${targets[@]}"; do
  corpus=$scratch/$target
  seeds=tests/fuzz/corpus/$target
  mkdir "$corpus"
  [ ! -d "$seeds" ] || cp -r "$seeds/." "$corpus"
  echo "fuzz: $target for $seconds s from $(find "$corpus" -type f | wc -l) seeds"
  # -timeout: one input that takes this long is a finding, as a crash is.
  if "build/asan/tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$artifacts/$target-" "$corpus" \
    >"$logs/$target" 2>&1; then
    grep '^stat::number_of_executed_units' "$logs/$target" || true
  else
    tail -n 60 "$logs/$target"
    echo "fuzz: $target FAILED; inputs are in $artifacts"
    crashed=$((crashed + 1))
  fi
done
echo "fuzz: ${#targets[@]} targets, $crashed with findings"
[ "$crashed" -eq 0 ]
