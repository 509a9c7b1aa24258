#!/bin/sh
# versions.sh: tests the package on every Python from 3.10 on that is found as python3.N, the least
# with the oldest numpy that it is for. PYTHONS names others. The wheel is made by test.sh;
# environments are kept in build/python-versions.
set -eu
cd "$(dirname "$0")/tests" # so that thresher is the installed one
build=$(cd ../../build && pwd)
found=${PYTHONS-}
if [ -z "$found" ]; then
  for minor in 10 11 12 13 14 15; do
    ! python3.$minor -c 'import ensurepip, venv' 2>/dev/null || found="$found python3.$minor"
  done
fi
for python in $found; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "Python $version"
  folder=$build/python-versions/$version
  oldest=
  [ "$version" != 3.10 ] || oldest='numpy==1.22.*'
  test -x "$folder/bin/pytest" || {
    "$python" -m venv --clear "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check pytest scipy tqdm $oldest
  }
  "$folder/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$build"/wheels/thresher-*_x86_64.whl
  env -i PATH="$folder/bin" HOME="${HOME:-/}" TMPDIR="${TMPDIR:-/tmp}" LANG=C.UTF-8 "$folder/bin/python" -m pytest -p no:cacheprovider .
done
