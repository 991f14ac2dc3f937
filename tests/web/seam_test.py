#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web/webgpu.js in a browser, without the backend above it: the functions of webgpu_api.h, and how they fail."""
from browser import run_claims

# A memory of ours in place of a module's, and the statuses by name.
START = """
  const {makeWebGpu} = await import('/webgpu.js');
  const {statuses} = await import('/lists.js');
  const memory = new WebAssembly.Memory({initial: 4}), view = new DataView(memory.buffer);
  const api = makeWebGpu(() => memory, navigator.gpu).imports;
  const status = async promise => statuses[await promise];
  const OUT = 8, TEXT = 4096, DATA = 65536;
  const text = (at, value) => {
    const bytes = new TextEncoder().encode(value + '\\0');
    new Uint8Array(memory.buffer, at).set(bytes);
    return bytes.length - 1;
  };
  const lastError = () => {
    api.error_text(TEXT, 2048);
    const all = new Uint8Array(memory.buffer, TEXT);
    return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
  };
  const made = async promise => {
    if (await promise !== 0) throw new Error(lastError());
    return view.getUint32(OUT, true);
  };
  let opened;
  const requestDevice = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    return opened = await requestDevice.apply(this, args);
  };
  const open = async () => {
    if (await api.start(0) !== 0) throw new Error(lastError());
    return made(api.device_open(0, Infinity, OUT));
  };
"""

DOUBLE = """
  const WGSL = `
    struct P { n: u32, by: u32 }
    @group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> y: array<u32>;
    @group(0) @binding(2) var<uniform> p: P;
    @compute @workgroup_size(64) fn run(@builtin(global_invocation_id) at: vec3u) {
      if (at.x < p.n) { y[at.x] = x[at.x] * p.by; }
    }`;
  const program = device => {
    view.setUint32(16, 1, true);
    view.setUint32(20, 0, true);
    const bytes = text(TEXT, WGSL);
    text(TEXT + 3000, 'run');
    return api.program_create(device, TEXT, bytes, TEXT + 3000, 2, 16, 16, OUT);
  };
"""


def a_kernel_runs_and_its_result_is_read(browser):
    return browser.run(START + DOUBLE + """
      const device = await open(), bytes = 400;
      const buffers = [];  // what is read, what is written, the parameters, and the way back
      for (const [kind, size] of [[0, 512], [0, 512], [1, 1024], [2, 400]]) {
        buffers.push(await made(api.buffer_create(device, kind, size, OUT)));
      }
      const run = await made(program(device));
      new Uint32Array(memory.buffer, DATA, 100).forEach((unused, i, all) => { all[i] = i; });
      api.write(device, buffers[0], 0, DATA, bytes);
      view.setUint32(DATA + 1024, 100, true);
      view.setUint32(DATA + 1028, 3, true);
      api.write(device, buffers[2], 256, DATA + 1024, 16);
      [buffers[0], 0, 512, buffers[1], 0, 512].forEach((word, i) => view.setUint32(DATA + 2048 + 4 * i, word, true));
      if (api.dispatch(device, run, DATA + 2048, 2, buffers[2], 256, 2, 1, 1) !== 0) return lastError();
      api.copy(device, buffers[3], 0, buffers[1], 0, bytes);
      const number = await made(api.submit(device, OUT));
      if (await api.read(device, buffers[3], 0, DATA + 4096, bytes, Infinity) !== 0) return lastError();
      if (await api.read(device, buffers[3], 11, DATA + 8192, 3, 1e18) !== 0) return lastError();
      const part = Array.from(new Uint8Array(memory.buffer, DATA + 8192, 3));  // the end of word 2, the start of word 3
      const waited = await status(api.wait(device, number, 1000)), checked = await status(api.device_check(device));
      const result = Array.from(new Uint32Array(memory.buffer, DATA + 4096, 100));
      for (const buffer of buffers) api.buffer_destroy(device, buffer);
      api.program_destroy(device, run);
      api.device_close(device);
      return [number, waited, checked, part, result.every((value, i) => value === 3 * i)];
    """) == [1, "OK", "OK", [0, 9, 0], True]


def bind_groups_are_made_once_and_go_with_their_buffers(browser):
    return browser.run(START + DOUBLE + """
      const device = await open(), counts = [];
      let groups = 0;
      const createBindGroup = GPUDevice.prototype.createBindGroup;
      GPUDevice.prototype.createBindGroup = function (...args) {
        groups++;
        return createBindGroup.apply(this, args);
      };
      const make = async (kind, size) => made(api.buffer_create(device, kind, size, OUT));
      const uniform = await make(1, 1024), back = await make(2, 256), run = await made(program(device));
      let x = await make(0, 256), y = await make(0, 256);
      const scale = async (from, to, by) => {
        new Uint32Array(memory.buffer, DATA, 4).set([4, by, 0, 0]);
        api.write(device, uniform, 0, DATA, 16);
        [from, 0, 256, to, 0, 256].forEach((word, i) => view.setUint32(DATA + 2048 + 4 * i, word, true));
        if (api.dispatch(device, run, DATA + 2048, 2, uniform, 0, 1, 1, 1) !== 0) throw new Error(lastError());
        api.copy(device, back, 0, to, 0, 256);
        await made(api.submit(device, OUT));
        if (await api.read(device, back, 0, DATA + 4096, 16, Infinity) !== 0) throw new Error(lastError());
        counts.push([groups, view.getUint32(DATA + 4096 + 8, true)]);
      };
      const fill = first => {
        new Uint32Array(memory.buffer, DATA, 4).set([first, first + 1, first + 2, first + 3]);
        api.write(device, x, 0, DATA, 16);
      };
      fill(10);
      await scale(x, y, 2);
      await scale(x, y, 3);
      await scale(y, x, 1);
      api.buffer_destroy(device, x);
      x = await make(0, 256);  // gets the number of the other
      fill(20);
      await scale(x, y, 2);
      return counts;
    """) == [[1, 24], [1, 36], [2, 36], [3, 44]]


def an_adapter_is_described(browser):
    features, kind, buffer_pages, items, name = browser.run(START + """
      await api.start(0);
      if (api.adapter_count() !== 1 || api.adapter_info(0, DATA) !== 0) return lastError();
      const words = new Uint32Array(memory.buffer, DATA, 15), name = new Uint8Array(memory.buffer, DATA + 60, 128);
      return [words[0], words[1], words[2], words[5], new TextDecoder().decode(name.slice(0, name.indexOf(0)))];
    """)
    return kind == 2 and buffer_pages * 256 >= 2**28 and items >= 256 and "swiftshader" in name.lower()


def wrong_text_is_a_build_error_with_the_compilers_words(browser):
    status, message = browser.run(START + DOUBLE + """
      const device = await open();
      const wrong = WGSL.replace('x[at.x]', 'nothing'), bytes = text(TEXT, wrong);
      text(TEXT + 3000, 'run');
      return [await status(api.program_create(device, TEXT, bytes, TEXT + 3000, 2, 16, 16, OUT)), lastError()];
    """)
    return status == "ERR_BUILD" and "nothing" in message and message.startswith("7:")


def a_buffer_over_the_limit_is_out_of_memory(browser):
    status, message, other = browser.run(START + """
      const device = await open(), limit = opened.limits.maxBufferSize;
      const over = Math.min(limit + 4, 4294967292);
      const first = await status(api.buffer_create(device, 0, over, OUT));
      return [first, lastError(), await status(api.buffer_create(device, 0, 1024, OUT))];
    """)
    return status == "ERR_OUT_OF_MEMORY" and "over this device's limit" in message and other == "OK"


def a_lost_device_answers_so_ever_after(browser):
    statuses, message = browser.run(START + """
      const device = await open();
      const buffer = await made(api.buffer_create(device, 2, 64, OUT));
      const pending = api.read(device, buffer, 0, DATA, 64, Infinity);
      opened.destroy();
      const found = [await status(pending), await status(api.buffer_create(device, 0, 64, OUT)),
        await status(api.write(device, buffer, 0, DATA, 16)), await status(api.submit(device, OUT)),
        await status(api.wait(device, 1, 100)), await status(api.device_check(device))];
      const said = lastError();
      api.buffer_destroy(device, buffer);
      api.device_close(device);
      return [found, said];
    """)
    # The read was asked for before the loss; the browser may call that a loss or an aborted mapping.
    return set(statuses[1:]) == {"ERR_DEVICE_LOST"} and statuses[0] != "OK" and "destroyed" in message


def a_wait_ends_after_its_time(browser):
    return browser.run(START + """
      const device = await open();
      return [await status(api.wait(device, 1, 0)), await status(api.wait(device, 1, 20)), lastError()];
    """) == ["ERR_TIMEOUT", "ERR_TIMEOUT", "the device was not done after 20 ms"]


def without_navigator_gpu_the_reason_is_said(browser):
    status, message, count = browser.run(START + """
      const none = makeWebGpu(() => memory, undefined).imports;
      const found = await status(none.start(0));
      none.error_text(TEXT, 2048);
      const all = new Uint8Array(memory.buffer, TEXT);
      return [found, new TextDecoder().decode(all.slice(0, all.indexOf(0))), none.adapter_count()];
    """)
    return status == "ERR_UNAVAILABLE" and "no navigator.gpu" in message and count == 0


if __name__ == "__main__":
    run_claims(an_adapter_is_described, a_kernel_runs_and_its_result_is_read, bind_groups_are_made_once_and_go_with_their_buffers,
               wrong_text_is_a_build_error_with_the_compilers_words, a_buffer_over_the_limit_is_out_of_memory,
               a_lost_device_answers_so_ever_after, a_wait_ends_after_its_time,
               without_navigator_gpu_the_reason_is_said)
