#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance run in a browser, on the CPU as WebAssembly."""
import os

from browser import all_cases_pass, run_claims

# One case of so many, and at least one of each operator, 1 for all: the same code runs all of them outside of a browser (tests/cli/check_test.sh).
SAMPLE = os.environ.get("TSR_TEST_WEB_SAMPLE") or os.environ.get("TSR_TEST_SAMPLE") or "4"


def a_sample_of_the_cases_passes_on_the_cpu(browser):
    return all_cases_pass(browser, "--backend", "cpu", "--quick", "--sample", SAMPLE)


def the_module_for_engines_without_jspi_gives_the_same(browser):
    return all_cases_pass(browser, "--backend", "cpu", "--quick", "--op", "*max*", suspension="asyncify")


if __name__ == "__main__":
    run_claims(a_sample_of_the_cases_passes_on_the_cpu, the_module_for_engines_without_jspi_gives_the_same, webgpu=False)
