#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance run in a browser, on its WebGPU: SwiftShader, where there is no GPU."""
import os

from browser import all_cases_pass, run_claims

# One case of so many, and at least one of each operator: building a kernel takes SwiftShader 20 ms. 1 for all. Unless that is set, half of the operators:
# tests/devices/webgpu_test.sh runs the other half outside of a browser.
SAMPLE = os.environ.get("TSR_TEST_WEB_SAMPLE")
PART = [] if SAMPLE else ["--part", "2/2"]


def a_sample_of_the_cases_passes_on_webgpu(browser):
    return all_cases_pass(browser, "--backend", "webgpu", "--quick", "--sample", SAMPLE or "100", *PART)


if __name__ == "__main__":
    run_claims(a_sample_of_the_cases_passes_on_webgpu)
