#!/bin/sh
# zigcc.sh ARGUMENTS: a C compiler whose programs run with glibc 2.28 and newer, whatever this machine has: clang and the
# headers and stubs of that version, from the Python package ziglang of the interpreter PYTHON.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
export ZIG_GLOBAL_CACHE_DIR="${ZIG_GLOBAL_CACHE_DIR:-$root/build/zig}" ZIG_LOCAL_CACHE_DIR="${ZIG_LOCAL_CACHE_DIR:-$root/build/zig}"
# gorgonia.org/cu names this machine's own headers and libraries, which are of another glibc, and links the driver, whose
# symbols gpu/device/shim.c defines.
for argument; do
  shift
  case $argument in
  -[IL]/usr/* | -[IL]/opt/* | -lcuda) ;;
  *) set -- "$@" "$argument" ;;
  esac
done
exec "${PYTHON:-python3}" -m ziglang cc -target x86_64-linux-gnu.2.28 "$@"
