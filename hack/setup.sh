#!/usr/bin/env bash
# Installs what building and testing needs on a bare Debian 12 machine: hack/setup.sh [browser|release]
# That is Debian packages and, unless a Go that is new enough is there, Go as a module from Go's module proxy (GOPROXY).
# `browser` adds what tests the page of tephra report. `release` adds what builds and tests programs for arm64, and what
# makes the bare Debian in which the release folder is tested. Runs as root, or through sudo. A second run changes nothing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/libraries.sh"

packages=(
  g++ clang libclang-rt-14-dev          # compilers; the fuzz targets need clang's runtime
  cmake ninja-build ccache pkg-config   # build
  git python3 xz-utils ca-certificates  # scripts, tests, compressed traces
  python3-yaml umoci                    # tests of the manifests; images
  runc                                  # the node plugin beside a real kubelet
  protobuf-compiler protobuf-compiler-grpc
  "${libraries[@]}"
)
case "$#:${1:-}" in
  0:) ;;
  1:browser) packages+=(chromium chromium-driver python3-selenium) ;;
  1:release) packages+=(mmdebstrap iproute2 g++-aarch64-linux-gnu qemu-user-static) ;;
  *) echo "usage: hack/setup.sh [browser|release]" >&2; exit 2 ;;
esac

fail() { echo "setup: $*" >&2; exit 1; }

command -v dpkg-query >/dev/null ||
  fail "this script knows Debian 12 only; install by hand: Go 1.26 or later, ${packages[*]}"
architecture=$(dpkg --print-architecture)
go_is_optional=true
source "$(dirname "${BASH_SOURCE[0]}")/go.sh"
use_go || command -v go >/dev/null || packages+=(golang-go)  # any Go can download a newer one

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120 "$@"
}

install_packages() {
  local format installed missing=() package
  # dpkg-query fails when it does not know a package; its output is still right for the known packages.
  # shellcheck disable=SC2016  # the dollar signs belong to dpkg-query
  format='${Package} ${db:Status-Status}\n'
  installed=$(dpkg-query -W -f="$format" "${packages[@]}" 2>/dev/null) || true
  for package in "${packages[@]}"; do
    grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "setup: all ${#packages[@]} packages are installed"
    return
  fi
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "missing ${missing[*]}; installing needs root, and sudo is not installed"
    as_root=(sudo)
  fi
  echo "setup: installing ${missing[*]}"
  apt update || { sleep 5; apt update; } || fail "apt-get update failed twice"
  apt install -y --no-install-recommends "${missing[@]}" || fail "could not install ${missing[*]}"
}

# Go's own archive is a module too. It is checked against a hash from here instead of Go's checksum database, which
# Go before 1.21 cannot ask about toolchains and which some networks do not reach.
download_go() {
  local hash module="golang.org/toolchain" version="v0.0.1-go$go_installs.linux-$architecture" answer folder
  case $architecture in
    amd64) hash="h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=" ;;
    arm64) hash="h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=" ;;
    *) fail "no hash of Go $go_installs for $architecture, expected amd64 or arm64; install Go 1.26 or later by hand" ;;
  esac
  echo "setup: downloading Go $go_installs from the module proxy ($(go env GOPROXY))"
  ask() { (cd / && GONOSUMDB=$module GOTOOLCHAIN=local go mod download -json "$module@$version"); }
  answer=$(ask) || { sleep 5; answer=$(ask); } || fail "could not download $module@$version: $answer"
  field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1" <<<"$answer"; }
  folder=$(field Dir)
  if [ "$(field Sum)" != "$hash" ]; then
    chmod -R u+w "$folder" && rm -rf "$folder"
    fail "$module@$version has the hash $(field Sum), expected $hash"
  fi
  # Modules carry no executable files. hack/go.sh finds this Go once bin/go is executable, so that comes last.
  chmod 755 "$folder"/pkg/tool/*/* "$folder"/bin/gofmt
  chmod 755 "$folder"/bin/go
  use_go || fail "Go in $folder does not run: $("$folder/bin/go" version 2>&1)"
}

install_packages
use_go || download_go
echo "setup: $(go version) is at $(command -v go)"
