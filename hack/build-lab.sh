#!/usr/bin/env bash
# Builds the lab into build/lab: tephra-lab, tephra-churn, and the kubectl and vcctl of the same versions.
# The first build takes about six minutes on two cores. --only NAME builds one of the four.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/go.sh
only=
case "${1:-}" in
  --only) only=${2:?--only: no name given, expected tephra-lab, tephra-churn, kubectl or vcctl} ;;
  "") ;;
  *) echo "build-lab: unknown argument '$1', expected --only NAME" >&2; exit 2 ;;
esac

hack/volcano-apis.sh
mkdir -p build/lab lab/crds
out=$PWD/build/lab
cd lab
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath"

# Volcano's resource definitions lie in its module; the program carries a copy.
volcano=$(go list -m -f '{{.Dir}}' volcano.sh/volcano)
if [ -z "$volcano" ]; then
  go mod download volcano.sh/volcano
  volcano=$(go list -m -f '{{.Dir}}' volcano.sh/volcano)
fi
chart=$volcano/installer/helm/chart/volcano
for definition in "$chart"/crd/bases/*.yaml "$chart"/charts/jobflow/crd/bases/*.yaml; do
  copy=crds/$(basename "$definition")
  cmp -s "$definition" "$copy" || install -m 644 "$definition" "$copy"
done

# Without a version of their own the programs call themselves v0.0.0-master+$Format:%H$, which
# kubectl cannot parse.
kubernetes=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
stamp=k8s.io/component-base/version
minor=${kubernetes#v1.}
ldflags="-s -w -X $stamp.gitVersion=$kubernetes -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X $stamp.gitTreeState=clean"

build() { # NAME PACKAGE
  if [ -n "$only" ] && [ "$only" != "$1" ]; then return; fi
  echo "build-lab: $1" >&2
  go build -ldflags "$ldflags" -o "$out/$1" "$2"
}
build tephra-lab ./cmd/tephra-lab
build tephra-churn ./cmd/tephra-churn
build kubectl k8s.io/kubernetes/cmd/kubectl
build vcctl volcano.sh/volcano/cmd/cli
