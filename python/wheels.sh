#!/bin/sh
# wheels.sh: builds the wheels of all platforms and the sdist in build/wheels, and checks what
# they contain. The programs are cross-compiled; only that of this machine is run.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
tools=../build/python-tools
if ! cmp -s requirements-tools.txt $tools/installed.txt; then
  "$python" -m venv --clear $tools
  $tools/bin/pip install --quiet --disable-pip-version-check -r requirements-tools.txt
  cp requirements-tools.txt $tools/installed.txt
fi
rm -rf ../build/wheels
for target in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
  THRESHER_TARGET=$target $tools/bin/python -m build --wheel --no-isolation --outdir ../build/wheels . >/dev/null
done
$tools/bin/python -m build --sdist --no-isolation --outdir ../build/wheels . >/dev/null
$tools/bin/twine check --strict ../build/wheels/*
wheels=$(cd ../build/wheels && pwd)
[ ! -x ../build/python-test/bin/python ] || (cd tests && THRESHER_WHEELS=$wheels ../../build/python-test/bin/python -m pytest test_wheels.py)
ls -l ../build/wheels
