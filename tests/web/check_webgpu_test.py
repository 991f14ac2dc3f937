#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance run in a browser, on its WebGPU: SwiftShader, where there is no GPU."""
import os

from browser import all_cases_pass, run_claims

# One case of so many, and at least one of each operator: building a kernel takes SwiftShader 20 ms. 1 for all. Unless that is set, a quarter of the operators through
# each way to wait; tests/devices/webgpu_test.sh runs the other half outside of a browser.
SAMPLE = os.environ.get("TSR_TEST_WEB_SAMPLE")


def a_sample_passes(browser, suspension, part):
    part = [] if SAMPLE else ["--part", part]
    return all_cases_pass(browser, "--backend", "webgpu", "--quick", "--sample", SAMPLE or "100", *part, suspension=suspension)


def a_sample_of_the_cases_passes_on_webgpu_through_jspi(browser):
    return a_sample_passes(browser, "jspi", "2/4")


def a_sample_of_the_cases_passes_on_webgpu_through_asyncify(browser):
    return a_sample_passes(browser, "asyncify", "4/4")


if __name__ == "__main__":
    run_claims(a_sample_of_the_cases_passes_on_webgpu_through_jspi, a_sample_of_the_cases_passes_on_webgpu_through_asyncify)
