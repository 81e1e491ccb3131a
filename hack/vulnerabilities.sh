#!/usr/bin/env bash
# Prints what Go's vulnerability database knows about the Go programs of the images. The output is govulncheck's, one JSON
# message after another. The programs are linked again with their symbols, because govulncheck otherwise reports every
# fault of a module, whether its code is in the program or not.
# The database is a Go module too, so no other service is asked. hack/vulnerabilities/go.mod names its version;
# `cd hack/vulnerabilities && ../go get golang.org/x/vulndb@latest` takes the newest one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/build/tools
database=$tools/go-vulnerabilities
source hack/go.sh
export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath"
if [ ! -d "$database" ] || [ hack/vulnerabilities/go.sum -nt "$database" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "vulnerabilities: builds govulncheck and its database" >&2
  mkdir -p "$tools" "$work/repository/data"
  here=$PWD
  cd hack/vulnerabilities
  go build -o "$tools/" -ldflags "-s -w" golang.org/x/vuln/cmd/govulncheck golang.org/x/vulndb/cmd/gendb
  go mod download golang.org/x/vulndb
  cp -r "$(go list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" "$work/repository/data/"
  cd "$work"
  # gendb reads the times of changes from a repository.
  (cd repository && git init -q && git add -A && git -c user.name=tephra -c user.email=tephra@localhost commit -qm data)
  "$tools/gendb" -repo "$work/repository" -out "$work/database" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
  rm -rf "$database"
  mv "$work/database" "$database"
  touch "$database"
  cd "$here"
fi
hack/volcano-apis.sh
hack/proto-go.sh
mkdir -p "$tools/with-symbols"
(cd plugins/volcano && go build -o "$tools/with-symbols/" ./cmd/tephra-scheduler ./cmd/tephra-admission)
for each in "$tools"/with-symbols/*; do
  "$tools/govulncheck" -mode=binary -format=json -db="file://$database" "$each"
done
