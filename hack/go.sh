# Sourced: puts a Go that is new enough for lab/go.mod first on PATH. It looks on PATH, in /usr/local/go and at the
# toolchain that hack/setup.sh downloads into Go's module cache.
# shellcheck shell=bash

go_installs=1.26.8  # what hack/setup.sh downloads; the hashes of its module are there

# use_go: returns 1 when no Go is new enough.
use_go() {
  local lab program version needed cache
  lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../lab" && pwd) || return
  needed=$(sed -n 's/^go //p' "$lab/go.mod")
  cache=${GOMODCACHE:-${GOPATH:-${HOME:-}/go}/pkg/mod}
  for program in "$(command -v go)" /usr/local/go/bin/go \
    "$cache/golang.org/toolchain@v0.0.1-go$go_installs.linux-$(dpkg --print-architecture 2>/dev/null)/bin/go"; do
    [ -x "$program" ] || continue
    # In the module's folder, because there Go 1.21 or later may replace itself by the Go that go.mod names.
    version=$(cd "$lab" && "$program" env GOVERSION 2>/dev/null) || continue
    if printf '%s\n' "go$needed" "$version" | sort -CV; then
      [ "$program" = "$(command -v go)" ] || export PATH="${program%/*}:$PATH"
      return
    fi
  done
  return 1
}

use_go || [ "${go_is_optional:-}" ] || {
  echo "no Go is new enough for lab/go.mod: hack/setup.sh downloads Go $go_installs" >&2
  exit 1
}
