#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The table of operators of the Python module, and its types, are what src/ops/operators.def says.
exec "$TSR_TEST_SOURCE_DIR/scripts/generate-python-lists" --check
