#!/usr/bin/env bash
# Prints the path of a syft, which lists what is in an image: build/tools/syft, of the version that hack/syft/go.mod
# names. The first call builds it from its Go module; that takes some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=$PWD/build/tools/syft
if [ ! -x "$tool" ] || [ hack/syft/go.sum -nt "$tool" ]; then
  source hack/go.sh
  mkdir -p "${tool%/*}"
  cd hack/syft
  version=$(go list -mod=readonly -m -f '{{.Version}}' github.com/anchore/syft)
  echo "syft: builds $version" >&2
  CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go build -o "$tool" -ldflags "-s -w -X main.version=${version#v}" \
    github.com/anchore/syft/cmd/syft
  touch "$tool"
fi
echo "$tool"
