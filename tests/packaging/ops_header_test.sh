#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# <tessera/ops.h> is what src/ops/operators.def says, and tensor.h declares the operators of the list as it does.
exec "$TSR_TEST_SOURCE_DIR/scripts/generate-ops-header" --check
