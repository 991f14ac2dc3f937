#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The files for macOS and iOS are C that clang takes for those systems. There is no SDK here, so headers of ours declare what they use of
# Apple's (tests/standins/darwin): this finds mistakes of syntax and types, and nothing that only Apple's own headers or linker know.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

compiler=${TSR_STANDIN_CLANG:-clang-19}
command -v "$compiler" >/dev/null || {
  echo "SKIPPED: there is no $compiler"
  exit 77
}

# Those of the platform layer that the build takes on Apple's systems, and the Metal backend.
sources=()
for file in src/platform/*.c src/backends/metal/*.c; do
  case $file in
    *_test.c | *_linux.c | *_windows.c | *wasm.c) ;;
    *) sources+=("$file") ;;
  esac
done
[[ " ${sources[*]} " == *" src/platform/code_memory_darwin.c "* ]] || { echo "FAILED: the files for macOS are not among those checked" >&2; exit 1; }

for target in arm64-apple-macos11 x86_64-apple-macos11 arm64-apple-ios14; do
  "$compiler" -target "$target" -fsyntax-only -nostdlibinc -isystem tests/standins/darwin -std=c17 -Isrc -Iinclude \
    -Wall -Wextra -Werror -Wno-typedef-redefinition "${sources[@]}"
  echo "$target: ${#sources[@]} files"
done

# The check can fail: a call of what is not declared.
if echo 'int main(void) { return no_such_function(); }' | "$compiler" -target arm64-apple-macos11 -fsyntax-only -x c - 2>/dev/null; then
  echo "FAILED: a function that does not exist is not found out" >&2
  exit 1
fi
