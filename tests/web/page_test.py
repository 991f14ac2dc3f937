#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example page: it comes up, and its parts work on each device that it offers."""
import time

from browser import run_claims

STATE = """
  const {width, height} = document.getElementById('image');
  const {data} = document.getElementById('image').getContext('2d').getImageData(0, 0, width, height);
  return {
    ready: document.body.dataset.ready ?? null,
    trouble: document.getElementById('trouble').textContent,
    outputs: ['matmul-result', 'softmax-result', 'kernel-result'].map(id => document.getElementById(id).textContent),
    wrong: document.querySelectorAll('output.bad').length,
    colours: new Set(new Uint32Array(data.buffer)).size,
    offered: [...document.querySelectorAll('#devices label')].map(label => label.textContent.trim().split(':')[0]),
  };
"""


def settled(browser, backend, seconds=60):
    """The page's state once it shows this backend's results."""
    end = time.monotonic() + seconds
    while True:
        state = browser.run(STATE)
        if state["ready"] == backend or state["trouble"] or time.monotonic() > end:
            return state
        time.sleep(0.2)


def is_right(state, backend):
    return state["ready"] == backend and state["trouble"] == "" and state["wrong"] == 0 and state["colours"] > 50 \
        and "GFLOP/s" in state["outputs"][0] and "the sum 1.000000" in state["outputs"][1] \
        and "pixels" in state["outputs"][2]


def the_page_comes_up_on_the_cpu(browser):
    browser.open("index.html")
    state = settled(browser, "cpu")
    return is_right(state, "cpu") or state


def every_device_that_is_offered_works(browser):
    browser.open("index.html")
    offered = settled(browser, "cpu")["offered"]
    for i, backend in enumerate(offered):
        browser.run("document.querySelectorAll('#devices input')[args[0]].click()", i)
        state = settled(browser, backend)
        if not is_right(state, backend):
            return state
    return "webgpu" in offered or offered


def a_mistake_in_the_kernel_is_shown(browser):
    browser.open("index.html")
    settled(browser, "cpu")
    browser.run("""
      const form = document.getElementById('kernel');
      form.elements.source.value = 'kernel draw(';
      form.requestSubmit();
    """)
    end = time.monotonic() + 20
    while browser.run(STATE)["wrong"] == 0 and time.monotonic() < end:
        time.sleep(0.2)
    state = browser.run(STATE)
    return "kernel:1:" in state["outputs"][2] and state["wrong"] == 1 or state


ENDLESS = "kernel draw(inout u32 p[], u32 w, u32 h, f32 l, f32 t, f32 s) { while (p[0] == 0) { p[1] += 1; } }"


def an_endless_kernel_is_ended_and_the_page_answers_meanwhile(browser):
    browser.open("index.html")
    settled(browser, "cpu")
    browser.run("""
      const form = document.getElementById('kernel');
      form.elements.source.value = args[0];
      form.requestSubmit();
    """, ENDLESS)
    frames = browser.run("""
      let frames = 0;
      for (const end = performance.now() + 1000; performance.now() < end; frames++) await new Promise(requestAnimationFrame);
      return frames;
    """)
    end = time.monotonic() + 40
    while browser.run(STATE)["wrong"] == 0 and time.monotonic() < end:
        time.sleep(0.5)
    told = browser.run(STATE)["outputs"][2]
    browser.run("document.getElementById('matmul').requestSubmit()")
    time.sleep(2)
    after = browser.run(STATE)["outputs"][0]
    return frames > 5 and "stopped after" in told and "GFLOP/s" in after or (frames, told, after)


if __name__ == "__main__":
    run_claims(the_page_comes_up_on_the_cpu, every_device_that_is_offered_works, a_mistake_in_the_kernel_is_shown,
               an_endless_kernel_is_ended_and_the_page_answers_meanwhile)
