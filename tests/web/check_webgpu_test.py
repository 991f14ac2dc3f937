#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance run in a browser, on its WebGPU: SwiftShader, where there is no GPU."""
from browser import all_cases_pass, run_claims


def every_case_passes_on_webgpu(browser):
    return all_cases_pass(browser, "--backend", "webgpu", "--quick")


if __name__ == "__main__":
    run_claims(every_case_passes_on_webgpu)
