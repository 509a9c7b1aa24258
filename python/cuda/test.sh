#!/bin/sh
# test.sh: builds the wheel of thresher-cuda in build/wheel-cuda, has auditwheel check its tag, installs it in an environment
# of its own, and runs its program; on the emulator of a CUDA device, if that was built (make emu), it searches, too.
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
tools=build/wheel-tools into=build/wheel-cuda installed=build/wheel-cuda-installed
if ! cmp -s python/cuda/requirements.txt $tools/installed.txt; then
  "$python" -m venv --clear $tools
  $tools/bin/pip install --quiet --disable-pip-version-check --only-binary=:all: -r python/cuda/requirements.txt
  cp python/cuda/requirements.txt $tools/installed.txt
fi
rm -rf $into
GO="${GO:-go}" $tools/bin/python -m build --wheel --no-isolation --outdir $into python/cuda >/dev/null
wheel=$(ls $into/*.whl)
# It prints one compatible tag, of an older or of this version, if the program keeps what the tag promises.
$tools/bin/auditwheel show "$wheel" >$into/auditwheel.txt
audited=$(tr '\n' ' ' <$into/auditwheel.txt | sed -n 's/.*following platform tag: *"manylinux_2_\([0-9]*\)_x86_64".*/\1/p')
if [ -z "$audited" ] || [ "$audited" -gt 28 ]; then
  echo "test.sh: auditwheel finds that $wheel is no manylinux_2_28:" >&2
  cat $into/auditwheel.txt >&2
  exit 1
fi

"$python" -m venv --clear $installed
$installed/bin/pip install --quiet --disable-pip-version-check --no-index --no-deps "$wheel"
program=$(cd / && "$OLDPWD/$installed/bin/python" -c 'import thresher_cuda; print(thresher_cuda.PROGRAM)')
"$program" version
emulator=$PWD/build/emu/libcuda.so.1
if [ -e "$emulator" ]; then
  "$python" - $into <<'END'
import pathlib, struct, sys

# Unit vectors of 64 dimensions, and the first two of them as queries, in numpy's format.
for name, rows in ("atoms", 64), ("queries", 2):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, 64), }}".ljust(117) + "\n"
    values = b"".join(struct.pack("<f", i == j) for i in range(rows) for j in range(64))
    pathlib.Path(sys.argv[1], name + ".npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values)
END
  THRESHER_LIBCUDA=$emulator "$program" search --vectors $into/atoms.npy --queries $into/queries.npy --metric ip -k 1 --method certain \
    --backend cuda --costs builtin --out $into/answers.jsonl
  "$program" verify --vectors $into/atoms.npy --queries $into/queries.npy --metric ip --answers $into/answers.jsonl --strict-delta
fi
ls -l $into/*.whl
