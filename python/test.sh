#!/bin/sh
# test.sh [all]: builds the wheel, installs it where neither Go nor a compiler is found, and
# tests it: types, style, documentation, pytest, the notebook. "all" also installs the packages of all
# adapters (PyTorch among them, gigabytes); without them their tests are skipped.
#
# PYTHON is 3.10 or newer. Environments are kept in build/python-tools and build/python-test.
set -eu
cd "$(dirname "$0")"
python=${PYTHON:-python3}
tools=../build/python-tools test=../build/python-test
requirements=requirements-test.txt
[ "${1-}" != all ] || requirements=requirements-adapters.txt

# install FOLDER FILE: an environment with the packages of a file, made again if the file changes.
install() {
  if ! cmp -s "$2" "$1/installed.txt"; then
    "$python" -m venv --clear "$1"
    "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
    cp "$2" "$1/installed.txt"
  fi
}
install $tools requirements-tools.txt
install $test $requirements

echo "ruff, mypy"
$tools/bin/ruff check --quiet .
$tools/bin/ruff format --quiet --check .
$tools/bin/mypy --no-error-summary --python-executable $test/bin/python src examples

echo "sdist and wheel"
rm -rf ../build/wheels
$tools/bin/python -m build --no-isolation --outdir ../build/wheels . >/dev/null
$tools/bin/twine check --strict ../build/wheels/* >/dev/null
$test/bin/pip install --quiet --disable-pip-version-check --force-reinstall --no-deps ../build/wheels/thresher-*.whl

# PATH has no Go and no compiler.
bin=$(cd $test/bin && pwd)
wheels=$(cd ../build/wheels && pwd)
run() { env -i PATH="$bin" HOME="${HOME:-/}" TMPDIR="${TMPDIR:-/tmp}" LANG=C.UTF-8 THRESHER_WHEELS="$wheels" "$@"; }
cd tests # so that thresher is the installed one
run python -m pytest -p no:cacheprovider --durations=5 .
cd ../examples
run python execute.py ../../build/python-test
