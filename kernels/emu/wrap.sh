#!/bin/sh
# wrap.sh SOURCE CHECKED: prints the C++ file that holds one source of kernels and tells the emulator of its
# entries. Everything of the source but the entries is in a namespace without a name, so that sources
# cannot meet; with CHECKED=true the entries get other names, so that both builds fit into one library.
# CXX and CXXFLAGS are the compiler's.
set -eu
source=$1 checked=$2
unit=$(basename "$source" .cu)
# shellcheck disable=SC2086 # flags are words
entries=$($CXX $CXXFLAGS -x c++ -E -P -D EMU_UNIT="$unit" -D EMU_ENTRIES "$source" | tr '\n' ' ' |
	sed 's/EMU_GLOBAL/\n&/g' | sed -n 's/^EMU_GLOBAL *void *\([A-Za-z_][A-Za-z_0-9]*\) *(.*/\1/p' | sort -u)
test -n "$entries" || { echo "wrap.sh: no kernel in $source" >&2; exit 1; }

prefix=
test "$checked" = false || prefix=checked_
echo '#include "dev.cuh"'
for e in $entries; do test -z "$prefix" || echo "#define $e $prefix$e"; done
echo "static int emu_mutant = -1;"
echo "namespace {"
echo "#include \"$source\""
echo "}"
for e in $entries; do test -z "$prefix" || echo "#undef $e"; done
echo "static constexpr emu::Kernel emu_kernels[] = {"
for e in $entries; do echo "    emu::Entry<&$prefix$e>::kernel(\"$e\"),"; done
echo "};"
echo "EMU_REGISTER(\"$unit\", $checked)"
