#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/architecture.md: the files, folders and functions that it names are there.
set -euo pipefail
cd "$TSR_TEST_SOURCE_DIR"
page=docs/architecture.md
failed=0
fail() {
  echo "FAIL: $page: $*" >&2
  failed=1
}

# Paths from the root of the repository; `<name>` and `*` stand for any name.
paths=$(grep -oE '`(src|kernels|tools|include|web|bindings|tests|examples|scripts)/[^` ]*`' "$page" | tr -d '`' | sed 's/<[a-z]*>/*/g' | sort -u)
[ "$(wc -l <<<"$paths")" -gt 40 ] || fail "names hardly any file"
for path in $paths; do
  compgen -G "$path" >/dev/null || fail "there is no $path"
done

# Files in the tables of the walk: | layer | `file`, `file` | what happens |
rows=$(grep -E '^\| (core|lang|backends|runtime|graph|ops) \| `' "$page")
[ "$(wc -l <<<"$rows")" -gt 15 ] || fail "has hardly any row of the walk"
while IFS='|' read -r _ layer files _; do
  for file in $(grep -oE '`[^`]*`' <<<"$files" | tr -d '`'); do
    [ -e "src/${layer// /}/$file" ] || fail "there is no src/${layer// /}/$file"
  done
done <<<"$rows"

# Functions and types.
for name in $(grep -oE '\btsri?_[a-z0-9_]+[a-z0-9]\b' "$page" | sort -u); do
  grep -rqwE --include='*.[ch]' "$name" src include || fail "nothing is called $name"
done
exit "$failed"
