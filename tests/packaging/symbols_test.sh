#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The shared library exports names that begin with tsr_ and no others, and has the soname libtessera.so.0.
set -euo pipefail

exported=$(nm -D --defined-only "$TSR_TEST_LIBRARY" | awk '{print $NF}')
foreign=$(grep -v '^tsr_' <<<"$exported" || true)
if [ -n "$foreign" ]; then
  echo "FAIL: exported, but not tsr_:" $foreign >&2
  exit 1
fi
grep -qx tsr_version <<<"$exported" || {
  echo "FAIL: tsr_version is not exported" >&2
  exit 1
}

soname=$(readelf -d "$TSR_TEST_LIBRARY" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
if [ "$soname" != libtessera.so.0 ]; then
  echo "FAIL: the soname is '$soname', not libtessera.so.0" >&2
  exit 1
fi
echo "$(wc -l <<<"$exported") symbols, all tsr_; soname $soname"
