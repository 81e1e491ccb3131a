#!/usr/bin/env bash
# Prints what Go's vulnerability database knows about programs: hack/vulnerabilities.sh PROGRAM...
# The output is govulncheck's, one JSON message after another. Programs without a symbol table are read by their table of
# functions. The database is a Go module too, so no other service is asked. Its version is in
# hack/vulnerabilities/go.mod; `cd hack/vulnerabilities && ../go get golang.org/x/vulndb@latest` takes the newest one.
set -euo pipefail
programs=()
for each in "$@"; do programs+=("$(realpath -e "$each")"); done
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$PWD/build/tools
database=$tools/go-vulnerabilities
if [ ! -d "$database" ] || [ hack/vulnerabilities/go.sum -nt "$database" ]; then
  source hack/go.sh
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  echo "vulnerabilities: builds govulncheck and its database" >&2
  export CGO_ENABLED=0 GOFLAGS="-mod=readonly -trimpath"
  mkdir -p "$tools" "$work/repository/data"
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
fi
for each in "${programs[@]}"; do
  "$tools/govulncheck" -mode=binary -format=json -db="file://$database" "$each"
done
