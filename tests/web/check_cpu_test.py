#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The conformance run in a browser, on the CPU as WebAssembly."""
from browser import all_cases_pass, run_claims


def every_case_passes_on_the_cpu(browser):
    return all_cases_pass(browser, "--backend", "cpu", "--quick")


def the_module_for_engines_without_jspi_gives_the_same(browser):
    return all_cases_pass(browser, "--backend", "cpu", "--quick", "--op", "*max*", suspension="asyncify")


if __name__ == "__main__":
    run_claims(every_case_passes_on_the_cpu, the_module_for_engines_without_jspi_gives_the_same, webgpu=False)
