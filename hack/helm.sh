#!/usr/bin/env bash
# Prints the path of a helm: build/tools/helm, of the version that hack/helm/go.mod names. The first call builds it
# from its Go module; that takes some minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tool=$PWD/build/tools/helm
if [ ! -x "$tool" ] || [ hack/helm/go.sum -nt "$tool" ]; then
  source hack/go.sh
  mkdir -p "${tool%/*}"
  cd hack/helm
  version=$(go list -mod=readonly -m -f '{{.Version}}' helm.sh/helm/v3)
  kubernetes=$(go list -mod=readonly -m -f '{{or .Replace.Version .Version}}' k8s.io/client-go)  # v0.35.3 is of Kubernetes 1.35
  minor=${kubernetes#v0.}
  flags="-s -w -X helm.sh/helm/v3/internal/version.version=$version"
  for package in chartutil lint/rules; do
    flags+=" -X helm.sh/helm/v3/pkg/$package.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$package.k8sVersionMinor=${minor%%.*}"
  done
  echo "helm: builds $version" >&2
  CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath" go build -o "$tool" -ldflags "$flags" \
    helm.sh/helm/v3/cmd/helm
  touch "$tool"
fi
echo "$tool"
