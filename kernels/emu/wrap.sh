#!/bin/sh
# wrap.sh SOURCE CHECKED: prints a C++ file that includes one source of kernels and registers its entries
# with the emulator. Everything but the entries is in an unnamed namespace, so that sources cannot conflict;
# with CHECKED=true the entries get other names, so that both builds can be linked into one library.
# CXX and CXXFLAGS are the compiler and its flags.
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
