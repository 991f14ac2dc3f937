#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs a file of tests in Node.js: node.sh FILE. The output is one line per test.
if ! command -v node >/dev/null; then
  echo "SKIPPED web.$(basename "$1" _test.mjs): needs Node.js (Debian: nodejs)"
  exit 77
fi
exec node --test --test-reporter=spec "$1"
