#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# examples/README.md: it names every example, what it links to is there, and its command for a compiler alone has all shared files.
set -euo pipefail
cd "$TSR_TEST_SOURCE_DIR/examples"
failed=0
fail() {
  echo "FAIL: $*" >&2
  failed=1
}

for file in [0-9]*.c python/*.py plugin/*.c; do
  grep -qF "]($file)" README.md || fail "README.md does not name $file"
done
while read -r link; do
  [ -e "$link" ] || fail "README.md links to $link, which is not there"
done < <(grep -oE '\]\([^)#]+' README.md | cut -c 3-)
for file in common/*.c; do
  [[ $file == *_test.c ]] || grep -qF " examples/$file" README.md || fail "the command for a compiler alone lacks $file"
done
exit "$failed"
