#!/bin/sh
# binaries.sh: builds what a machine with a GPU but without Go needs, in build/device: the tests of gpu, which also serve
# the benchmarks, those of device, and the program, with the tag cuda, the emulator's selftest with its kernels, all
# compressed, and VERSION, which records their sources. They may need libc only, of version 2.34 or older, and the selftest
# the C++ library; with the tree they take less than 64 MiB.
set -eu
cd "$(dirname "$0")/../.."
go=${GO:-go}
out=build/device
most=63 # MiB, of 64
libc=2.34

kernels/toolchain/install.sh
export CGO_ENABLED=1 C_INCLUDE_PATH="$PWD/build/cuda/nvidia/cuda_runtime/include"
rm -rf $out
mkdir -p $out
flags='-trimpath -tags cuda,netgo,osusergo'
# shellcheck disable=SC2086 # flags are words
{
  $go test $flags -ldflags '-s -w' -c -o $out/ ./gpu ./gpu/device
  $go build $flags -buildvcs=false -ldflags '-s -w' -o $out/thresher ./cmd/thresher
}
mkdir -p build/selftest/work
rm -f build/selftest/selftest
make -s -j "${JOBS:-2}" -f kernels/emu/selftest/selftest.mk OUT="$PWD/build/selftest" HERE="$PWD/kernels/emu/selftest"
${PYTHON:-python3} kernels/emu/selftest/ptx.py build/selftest/ptx
# The C++ library is the machine's: that of a newer system, linked statically, needs a newer libc.
${CXX:-g++} build/selftest/work/test_*.o -o $out/selftest -ldl -pthread

for program in $out/*; do
  # libm and the loader are parts of the C library
  needs=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libm\.so' -e '^ld-linux' || true)
  test "$program" != $out/selftest || needs=$(echo "$needs" | grep -v -e '^libstdc++' -e '^libgcc_s' || true)
  newest=$(readelf -V "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
  case "$needs" in
  libc.so.6 | '') ;;
  *)
    echo "binaries.sh: $program needs $needs" >&2
    exit 1
    ;;
  esac
  if [ "$(printf '%s\n' "${newest:-0}" $libc | sort -V | tail -n 1)" != $libc ]; then
    echo "binaries.sh: $program needs libc $newest, newer than $libc" >&2
    exit 1
  fi
done
mv $out/selftest build/selftest/selftest
tar -C build/selftest -czf $out/selftest.tar.gz selftest ptx
PYTHONPATH=bench ${PYTHON:-python3} bench/gpu/text.py $out/records.gz
${PYTHON:-python3} bench/gpu/binaries.py $out/thresher $out/gpu.test $out/device.test
tree=0
if files=$(git ls-files --cached --others --exclude-standard 2>/dev/null); then
  tree=$(echo "$files" | tr '\n' '\0' | xargs -0 du -cb 2>/dev/null | awk '$2 == "total" {n += $1} END {print n + 0}')
fi
size=$((($(du -sb $out | cut -f 1) + tree + 1048575) / 1048576))
if [ "$size" -ge $most ]; then
  echo "binaries.sh: $out and the tree take $size MiB, $most are too many" >&2
  exit 1
fi

# A + where files differ from the commit.
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
test -z "$(git status --porcelain --untracked-files=no -- '*.go' '*.c' '*.h' '*.cu' '*.cuh' '*.ptx' 'kernels/ptx/cubins/*.zip' go.mod 2>/dev/null)" || commit=$commit+
{
  echo "commit $commit"
  echo "go $($go env GOVERSION)"
  (cd kernels/ptx && sha256sum ./*.ptx) | sed 's|\(.*\)  \./\(.*\)|\2 \1|'
} >$out/VERSION
echo "$out: $size MiB with the tree, commit $commit"
