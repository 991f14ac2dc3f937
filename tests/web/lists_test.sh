#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# web/lists.js says what the headers say.
exec "$TSR_TEST_SOURCE_DIR/scripts/generate-web-lists" --check
