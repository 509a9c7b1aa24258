#!/bin/sh
# build.sh OUT [SOURCES]: builds the emulator, OUT/libcuda.so.1, with the kernels of SOURCES (a folder;
# default kernels/). Only changed files are compiled again; objects are kept in OUT/work. CXX and JOBS may be
# set.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/work"
out=$(cd "$1" && pwd)
sources=$(cd "${2:-$here/..}" && pwd)
# Other flags, compilers or folders make all objects out of date.
key="$sources ${CXX:-} $(${CXX:-g++} --version | head -n 1) $(cksum <"$here/emu.mk")"
test "$key" = "$(cat "$out/work/key" 2>/dev/null || true)" || rm -f "$out"/work/*
printf '%s\n' "$key" >"$out/work/key"
make -s -j "${JOBS:-$(nproc 2>/dev/null || echo 2)}" -f "$here/emu.mk" OUT="$out" HERE="$here" SOURCES="$sources" ${CXX:+CXX="$CXX"}
touch "$out/libcuda.so.1" # for makefiles in which it depends on the sources
