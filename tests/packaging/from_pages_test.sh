#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Pages that map the names of other libraries to ours (docs/from-*.md): every function that they name is declared in a public header, and every operator
# is named by one of them.
set -euo pipefail
declared=$(cat "$TSR_TEST_SOURCE_DIR"/include/tessera/*.h | grep -oE '\btsr_[a-z0-9_]+' | sort -u)
failed=0
for page in "$TSR_TEST_SOURCE_DIR"/docs/from-*.md; do
  named=$(grep -oE '\btsr_[a-z0-9_]+' "$page" | sort -u)
  [ "$(wc -l <<<"$named")" -gt 50 ] || { echo "FAIL: ${page##*/} names hardly any function" >&2; failed=1; }
  missing=$(comm -23 <(echo "$named") <(echo "$declared"))
  [ -z "$missing" ] || { echo "FAIL: ${page##*/} names what is not there:" $missing >&2; failed=1; }
done

operators=$(sed -nE 's/^\| `([a-z0-9_]+)` \|.*/tsr_\1/p' "$TSR_TEST_SOURCE_DIR/docs/operators.md" | sort -u)
named=$(cat "$TSR_TEST_SOURCE_DIR"/docs/from-*.md | grep -oE '\btsr_[a-z0-9_]+' | sort -u)
unnamed=$(comm -23 <(echo "$operators") <(echo "$named"))
[ -z "$unnamed" ] || { echo "FAIL: no page names" $unnamed >&2; failed=1; }
exit "$failed"
