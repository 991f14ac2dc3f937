#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pip makes one wheel of bindings/python, without a network; it holds libtessera, needs no other file of this tree, and works by itself.
set -euo pipefail

python=/usr/bin/python3
for module in pip setuptools wheel numpy; do
  "$python" -c "import $module" 2>/dev/null || {
    echo "skipped: $python has no $module (scripts/setup python)"
    exit 77
  }
done
"$python" -c 'import os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || {
  echo "skipped: no headers of $python (scripts/setup python)"
  exit 77
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
TESSERA_BUILD_DIR=$TSR_TEST_BUILD_DIR "$python" -m pip wheel --quiet --no-index --no-deps --no-build-isolation \
  --wheel-dir "$folder" "$TSR_TEST_SOURCE_DIR/bindings/python"
wheels=("$folder"/tessera-*-cp311-abi3-*.whl)
[ -f "${wheels[0]}" ] || {
  echo "FAIL: no wheel for the stable ABI among" "$folder"/* >&2
  exit 1
}
"$python" -m zipfile -e "${wheels[0]}" "$folder/installed"
for file in libtessera.so.0 _core.abi3.so py.typed ops.pyi _core.pyi lib/stride_tricks.py; do
  [ -f "$folder/installed/tessera/$file" ] || {
    echo "FAIL: the wheel has no tessera/$file" >&2
    exit 1
  }
done
cd "$folder"
PYTHONPATH=$folder/installed "$python" -c '
import tessera as np
import os
assert os.path.dirname(np.__file__).startswith(os.getcwd()), np.__file__
libraries = [line.split()[-1] for line in open("/proc/self/maps") if "libtessera" in line]
assert libraries and all(name.startswith(os.getcwd()) for name in libraries), libraries
assert (np.arange(4) ** 2).sum().item() == 14
'
for program in examples/python/03_kernel.py bindings/python/tests/test_arrays.py; do
  PYTHONPATH=$folder/installed "$python" "$TSR_TEST_SOURCE_DIR/$program" >"$folder/log" 2>&1 || {
    echo "FAIL: $program with the wheel:" >&2
    cat "$folder/log" >&2
    exit 1
  }
done

# Without the package `wheel`, pip runs `setup.py install` and later uninstalls the files of its record.
(cd "$TSR_TEST_SOURCE_DIR/bindings/python" &&
  TESSERA_BUILD_DIR=$TSR_TEST_BUILD_DIR "$python" -W ignore setup.py --quiet install --root "$folder/root" --record "$folder/record") >"$folder/log" 2>&1 ||
  {
    echo "FAIL: setup.py install:" >&2
    cat "$folder/log" >&2
    exit 1
  }
grep -q '/tessera/libtessera.so.0$' "$folder/record" || {
  echo "FAIL: uninstalling would leave libtessera.so.0 behind" >&2
  exit 1
}
echo "$(basename "${wheels[0]}"): $(stat -c %s "${wheels[0]}") bytes"
