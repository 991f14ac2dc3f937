#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual page: made from the program's help, fresh, complete, and good roff.
set -euo pipefail
# shellcheck source=tests/cli/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)

claim "docs/tessera.1 is what the program prints"
"$top/scripts/generate-man" --check 2>"$work/err" || {
  err=$(<"$work/err")
  fail "docs/tessera.1 is stale"
}

claim "a page that is another is noticed"
mkdir -p "$work/tree/docs" "$work/tree/scripts"
cp "$top/scripts/generate-man" "$work/tree/scripts"
sed 's/exit code/exit number/' "$top/docs/tessera.1" >"$work/tree/docs/tessera.1"
! "$work/tree/scripts/generate-man" --check 2>"$work/err" || fail "a stale page passes"
has "$(<"$work/err")" "docs/tessera.1 is stale: run scripts/generate-man"

claim "it has every command with every option of its help, and the exit codes"
page=$(sed 's/\\-/-/g' "$top/docs/tessera.1")
for command in devices config estimate kernel "kernel check" "kernel emit" "kernel run" check bench tune demo version help; do
  has "$page" ".SS \"tessera $command\""
  # shellcheck disable=SC2086  # several words
  expect 0 help $command
  while read -r option; do has "$page" "$option"; done < <(grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' "$work/out" | grep -oE -- '--[a-z-]+' | grep -v -- --help)
done
for code in 0 1 2 3 4 130; do has "$page" $'.TP\n.B '"$code"$'\n'; done

claim "settings of whoever makes it are not in it"
TESSERA_THREADS=3 expect 0 help --man
[[ $out == "$(<"$top/docs/tessera.1")" ]] || fail "the page depends on the settings"

if ! command -v man >/dev/null || ! command -v groff >/dev/null; then
  printf 'the rest is skipped: there is no man(1) with groff here\n'
  exit 0
fi
claim "man shows it without a complaint"
LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings=w -l "$top/docs/tessera.1" >"$work/out" 2>"$work/err" || fail "man fails"
err=$(<"$work/err")
is_empty "$err" "what man complains of"
has "$(<"$work/out")" "--bytes-per-activation"
