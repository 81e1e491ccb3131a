#!/usr/bin/env bash
# Makes build/sysroot-arm64: the libraries of hack/libraries.sh for arm64, from Debian 12, unpacked. The preset `arm64`
# compiles with them, and programs run with them under qemu-user. Needs the packages of `hack/setup.sh release`.
# A second run changes nothing. --again makes it again, with the versions that Debian has now.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source hack/libraries.sh
case "$*" in
  "" | --again) ;;
  *) echo "usage: hack/arm64-sysroot.sh [--again]" >&2; exit 2 ;;
esac
root=build/sysroot-arm64
list="$root/.packages"
if [ -z "$*" ] && [ "$(cat "$list" 2>/dev/null)" = "${libraries[*]}" ]; then exit; fi
command -v mmdebstrap >/dev/null || { echo "arm64-sysroot: mmdebstrap is missing: run hack/setup.sh release" >&2; exit 1; }

rm -rf "$root" "$root.new"
mkdir -p build
mmdebstrap --quiet --variant=extract --architectures=arm64 --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
  --skip=cleanup/apt/cache --include="libc6-dev ${libraries[*]}" bookworm "$root.new"

# As dpkg keeps them: what each package is, and its files. hack/build-images.sh reads them.
for archive in "$root.new"/var/cache/apt/archives/*.deb; do
  package=$(dpkg-deb -f "$archive" Package)
  dpkg-deb -f "$archive" >"$root.new/var/lib/dpkg/info/$package.control"
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed 's,^\./,/,' >"$root.new/var/lib/dpkg/info/$package.list"
  rm "$archive"
done

# Debian's links from the root of the file system would lead out of the sysroot.
find "$root.new/usr/lib" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfnr "$root.new$(readlink "$link")" "$link"
done
echo "${libraries[*]}" >"$root.new/.packages"
mv "$root.new" "$root"
