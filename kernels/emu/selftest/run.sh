#!/bin/sh
# run.sh OUT: builds the emulator with the test kernels, OUT/selftest/libcuda.so.1, and tests it. If the CUDA
# compiler is installed (kernels/toolchain), it also compiles the test kernels to OUT/selftest/ptx. -v after
# OUT prints every mutant; --bench measures instead of testing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/selftest"
out=$(cd "$1/selftest" && pwd)
shift

sh "$here/../build.sh" "$out" "$here"
missing=$(nm -D --defined-only "$out/libcuda.so.1" | awk '{ print $3 }' | LC_ALL=C sort | LC_ALL=C comm -13 - "$here/../symbols.txt")
test -z "$missing" || { echo "FAIL the library lacks $missing"; exit 1; }
make -s -j "${JOBS:-2}" -f "$here/selftest.mk" OUT="$out" HERE="$here" ${CXX:+CXX="$CXX"}
if [ -d "$here/../../../build/cuda/nvidia" ]; then
	python3 "$here/ptx.py" "$out/ptx"
fi
"$out/selftest" "$@" "$out/libcuda.so.1" 2>"$out/log" || { tail -5 "$out/log"; exit 1; }
