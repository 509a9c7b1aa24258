#!/bin/sh
# symbols.sh OUT: writes one X(name) line for each symbol of the CUDA driver that
# gorgonia.org/cu and this package use. C_INCLUDE_PATH must name the folder of cuda.h.
set -eu
out=$1
go=${GO:-go}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$go" list -tags cuda -export -f '{{.Export}}' gorgonia.org/cu . >"$tmp/archives"
n=0
while read -r archive; do
	n=$((n + 1))
	mkdir "$tmp/$n"
	(cd "$tmp/$n" && ar x "$archive" && rm -f _go_.o __.PKGDEF)
done <"$tmp/archives"
# gorgonia's own C functions begin with cu too, and shim.c has its own cuInit.
echo cuInit >"$tmp/own"
nm "$tmp"/1/*.o | awk '$2 == "T" { print $3 }' >>"$tmp/own"
nm "$tmp"/*/*.o | awk '$1 == "U" && $2 ~ /^cu[A-Z]/ { print $2 }' | LC_ALL=C sort -u |
	grep -vxF -f "$tmp/own" | sed 's/.*/X(&)/' >"$tmp/list"
test -s "$tmp/list"
cp "$tmp/list" "$out"
