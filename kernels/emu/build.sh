#!/bin/sh
# build.sh OUT [SOURCES]: the emulator as OUT/libcuda.so.1, with the kernels of SOURCES (a folder; default
# kernels/) in it. Each .cu becomes two objects: as it is, and with the checker's calls (EMU_RACE).
# CXX and JOBS may be set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
sources=$(cd "${2:-$here/..}" && pwd)
cxx=${CXX:-g++}
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
work=$out/work
rm -rf "$work"
mkdir -p "$work"

flags="-std=c++20 -O2 -g1 -fPIC -fvisibility=hidden -ffp-contract=off -fno-strict-aliasing -Wall -Wextra -Wno-missing-field-initializers"
flags="$flags -ffile-prefix-map=$(dirname "$here")/= -ffile-prefix-map=$sources/="
if [ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && grep -qw bmi2 /proc/cpuinfo; then
	flags="$flags -march=x86-64-v3"
fi
kernel_flags="$flags -fno-exceptions -Wno-unused-function -Wno-unknown-pragmas -Wno-unused-variable -I$here/.."
check_flags="-fsanitize=thread --param tsan-instrument-func-entry-exit=0 --param tsan-distinguish-volatile=1"

# wrap UNIT SOURCE CHECKED: a C++ file that holds one source of kernels and tells the emulator of its
# entries. Everything of the source but its entries is in a namespace without a name, so that sources
# cannot meet; the checked entries get other names.
wrap() {
	unit=$1 source=$2 checked=$3
	entries=$("$cxx" -std=c++20 -x c++ -E -P -D EMU_UNIT="$unit" -D EMU_ENTRIES -I"$here/.." "$source" | tr '\n' ' ' |
		sed 's/EMU_GLOBAL/\n&/g' | sed -n 's/^EMU_GLOBAL *void *\([A-Za-z_][A-Za-z_0-9]*\) *(.*/\1/p' | sort -u)
	test -n "$entries" || { echo "build.sh: no kernel in $source" >&2; exit 1; }
	echo '#include "dev.cuh"'
	test "$checked" = false || for e in $entries; do echo "#define $e checked_$e"; done
	echo "static int emu_mutant = -1;"
	echo "namespace {"
	echo "#include \"$source\""
	echo "}"
	test "$checked" = false || for e in $entries; do echo "#undef $e"; done
	echo "static constexpr emu::Kernel emu_kernels[] = {"
	for e in $entries; do
		compiled=$e
		test "$checked" = false || compiled=checked_$e
		echo "    emu::Entry<&$compiled>::kernel(\"$e\"),"
	done
	echo "};"
	echo "EMU_REGISTER(\"$unit\", $checked)"
}

# compile NAME SOURCE FLAGS...: queues one object.
: >"$work/queue"
compile() {
	name=$1 source=$2
	shift 2
	printf '%s\n' "$cxx $* -c $source -o $work/$name.o" >>"$work/queue"
}

for f in "$here"/*.cc; do
	compile "$(basename "$f" .cc)" "$f" "$flags"
done
for f in "$sources"/*.cu; do
	unit=$(basename "$f" .cu)
	wrap "$unit" "$f" false >"$work/$unit.plain.cc"
	wrap "$unit" "$f" true >"$work/$unit.checked.cc"
	compile "$unit.plain" "$work/$unit.plain.cc" "$kernel_flags -DEMU_UNIT=$unit"
	compile "$unit.checked" "$work/$unit.checked.cc" "$kernel_flags -DEMU_UNIT=${unit}_checked $check_flags"
done
xargs -P "$jobs" -d '\n' -n 1 sh -c <"$work/queue"

# Calls that are linked by somebody and not emulated say so.
nm --defined-only "$work"/api_*.o "$work"/errors.o | awk '$2 == "T" { print $3 }' | LC_ALL=C sort -u >"$work/have"
LC_ALL=C sort -u "$here/symbols.txt" | LC_ALL=C comm -23 - "$work/have" | awk '
	BEGIN { print "int emu_unsupported(const char *);" }
	{ print "__attribute__((visibility(\"default\"))) int " $1 "(void) { return emu_unsupported(\"" $1 "\"); }" }' >"$work/rest.c"
"$cxx" -x c -O1 -fPIC -fvisibility=hidden -c "$work/rest.c" -o "$work/rest.o"
echo '{ global: cu*; emu_*; local: *; };' >"$work/exports"
"$cxx" -shared -Wl,-soname,libcuda.so.1 -Wl,--no-undefined -Wl,--version-script="$work/exports" -o "$out/libcuda.so.1.new" "$work"/*.o
mv "$out/libcuda.so.1.new" "$out/libcuda.so.1"
rm -rf "$work"
