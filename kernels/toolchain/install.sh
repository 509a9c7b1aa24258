#!/bin/sh
# install.sh: installs the CUDA tool chain in build/cuda from the Python package index;
# needs no GPU, driver, nvcc or host compiler. Does nothing if it is installed.
set -eu
cd "$(dirname "$0")"
into=../../build/cuda
if cmp -s requirements.txt $into/.installed; then
  exit 0
fi
# From scratch and in one command: pip's --target neither adds to an existing folder
# nvidia/ nor removes what another version left.
rm -rf $into
if ! "${PYTHON:-python3}" -m pip install --quiet --root-user-action=ignore --disable-pip-version-check \
  --require-hashes --no-deps --only-binary=:all: --no-compile --target $into -r requirements.txt; then
  echo "install.sh: the CUDA tool chain (kernels/toolchain/requirements.txt) could not be installed; it takes python3 with pip and a package index, and the reason is above" >&2
  exit 1
fi
cp requirements.txt $into/.installed
