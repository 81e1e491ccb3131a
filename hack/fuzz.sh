#!/usr/bin/env bash
# Fuzzes within a bound: hack/fuzz.sh [SECONDS|RUNSx, of each target; default 10] [TARGET...]
#
# A target is an executable build/asan/tests/fuzz/fuzz_*, with its seeds in tests/fuzz/corpus/<target>, or a Go function
# <package>.Fuzz* of plugins/volcano, with its seeds in the function. An input that breaks a target fails the run, and the
# log names its file. With the fix, commit it to the corpus, or for Go to <package>/testdata/fuzz, where Go writes it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"

bound=${1:-10}
[[ $bound =~ ^[1-9][0-9]*x?$ ]] || { echo "usage: hack/fuzz.sh [SECONDS|RUNSx] [TARGET...]" >&2; exit 2; }
wanted=("${@:2}")
module=plugins/volcano
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

source hack/go.sh
hack/volcano-apis.sh && hack/proto-go.sh
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath"
targets=()
for path in tests/fuzz/fuzz_*.cc; do
  targets+=("$(basename "$path" .cc)")
done
while IFS=: read -r path line; do
  function=${line#func } package=${path%/*}
  targets+=("${package#"$module"/}.${function%%(*}")
done < <(grep -ro '^func Fuzz[A-Za-z]*(' "$module" --include=*_test.go | sort)
[ ${#wanted[@]} -eq 0 ] || targets=("${wanted[@]}")
[[ " ${targets[*]}" != *" fuzz_"* ]] || build asan

artifacts=build/asan/artifacts logs=build/asan/logs
mkdir -p "$artifacts" "$logs"

fuzz_cc() { # TARGET: prints executions and new units
  local seeds=tests/fuzz/corpus/$1 limit=-max_total_time=$bound
  [[ $bound != *x ]] || limit=-runs=${bound%x}
  mkdir "$scratch/$1"
  [ ! -d "$seeds" ] || cp -r "$seeds/." "$scratch/$1"
  # -timeout: one input that takes this long is a finding, as a crash is.
  "build/asan/tests/fuzz/$1" "$limit" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$artifacts/$1-" "$scratch/$1" >"$logs/$1" 2>&1 || return
  sed -n 's/^stat::number_of_executed_units: *//p; s/^stat::new_units_added: *//p' "$logs/$1" | paste -sd' '
}

fuzz_go() { # PACKAGE.FUNCTION: the same
  local limit=$bound
  [[ $bound == *x ]] || limit+=s
  (cd $module && go test -vet=off -run '^$' -fuzz "^${1#*.}\$" -fuzztime "$limit" -fuzzminimizetime 1x \
    "./${1%.*}" -test.fuzzcachedir "$scratch/go") >"$logs/$1" 2>&1 || return
  sed -n 's/.*execs: \([0-9]*\).*new interesting: \([0-9]*\).*/\1 \2/p' "$logs/$1" | tail -1
}

broken=0
for target in "${targets[@]}"; do
  kind=fuzz_go
  [[ $target != fuzz_* ]] || kind=fuzz_cc
  if found=$($kind "$target"); then
    echo "fuzz: $target: ${found% *} executions, ${found#* } inputs that reach new code"
  else
    tail -n 60 "$logs/$target"
    echo "fuzz: $target FAILED; the end of $logs/$target names the input"
    broken=$((broken + 1))
  fi
done
echo "fuzz: ${#targets[@]} targets, $broken with findings"
[ "$broken" -eq 0 ]
