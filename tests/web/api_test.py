#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""web/tessera.js in a browser: on WebGPU, through JSPI and asyncify, and what a page is told of errors."""
from browser import run_claims

START = """
  const {load} = await import('/tessera.js');
  let opened;  // the browser's own device, to be lost
  const requestDevice = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = async function (...args) {
    return opened = await requestDevice.apply(this, args);
  };
  const outcome = promise => promise.then(() => ['no error', ''], error => [error.status, error.message]);
"""

WORK = START + """
  const tessera = await load({suspension: args[0]});
  const device = await tessera.open({backend: args[1]});
  const x = device.randn('f32', [37, 50], 1), w = device.randn('f32', [50, 20], 2), b = device.randn('f32', [20], 3);
  const y = x.matmul(w).add(b).relu().softmax();
  const sums = await y.sum(1).read();
  const order = await y.argsort(1).read();
  const halves = await device.arange('f32', 0, 9, 1).mul(0.5).cast('i32').read();
  const {shape} = await y.describe();
  const areShares = sums.every(sum => Math.abs(sum - 1) < 1e-5);
  return [tessera.suspension, device.backend, shape, areShares, order.length, [...halves]];
"""


def works(browser, suspension, backend):
    return browser.run(WORK, suspension, backend) == \
        [suspension, backend, [37, 20], True, 740, [0, 0, 1, 1, 2, 2, 3, 3, 4]]


def the_cpu_works_with_and_without_jspi(browser):
    return all(works(browser, suspension, "cpu") for suspension in ("jspi", "asyncify", "none"))


def webgpu_works_through_jspi(browser):
    return works(browser, "jspi", "webgpu")


def webgpu_works_through_asyncify(browser):
    return works(browser, "asyncify", "webgpu")


def kernels_are_timed_by_the_gpu(browser):
    rows, untimed, value, after = browser.run(START + """
      const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
      const x = device.randn('f32', [64, 64], 1);
      await x.read();
      const {value, kernels, untimed} = await tessera.profile(async () => {
        for (let i = 0; i < 3; i++) await x.matmul(x).read();
        return 7;
      });
      const second = await tessera.profile(() => 0);  // what runs in between is in neither
      return [kernels, untimed, value, second.kernels.length];
    """)
    products = [row for row in rows if "matmul" in row["name"]]
    return untimed == 0 and value == 7 and after == 0 and len(products) == 1 and products[0]["count"] == 3 and \
        products[0]["ms"] >= products[0]["longestMs"] >= 0 and sum(row["ms"] for row in rows) > 0


def an_emulated_gpu_is_listed_and_used_only_when_it_is_named(browser):
    return browser.run(START + """
      const tessera = await load(), found = await tessera.devices();
      const gpu = found.find(entry => entry.backend === 'webgpu');
      return [gpu.isSoftware, (await tessera.open()).backend];
    """) == [True, "cpu"]


def a_kernel_of_the_page_runs_on_webgpu(browser):
    return browser.run(START + """
      const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
      const kernel = await tessera.kernel(`kernel twice<WG = 64>(in f32 x[], out f32 y[], u32 n) {
          if (global.x < n) y[global.x] = 2 * x[global.x];
        }`);
      const x = device.arange('f32', 0, 1000, 1), y = device.zeros('f32', [1000]);
      await kernel.launch([1000], x, y, 1000);
      return (await y.read()).every((value, i) => value === 2 * i);
    """)


def calls_made_at_once_are_done_one_after_the_other(browser):
    return browser.run(START + """
      const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
      const made = Array.from({length: 20}, (unused, i) => device.full('f32', [4], i).add(1).read());
      const results = await Promise.all(made);
      return results.every((values, i) => values.every(value => value === i + 1));
    """)


def a_lost_device_is_a_status_and_another_can_be_opened(browser):
    first, second, values = browser.run(START + """
      const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
      const x = device.ones('f32', [1000]);
      await x.read();
      opened.destroy();
      await opened.lost;
      const first = await outcome(x.add(1).read()), second = await outcome(device.synchronize());
      const other = await tessera.open({backend: 'webgpu'});
      return [first, second, [...await other.ones('f32', [2]).read()]];
    """)
    return (first[0], second[0], values) == ("ERR_DEVICE_LOST", "ERR_DEVICE_LOST", [1, 1]) and "destroyed" in first[1]


def a_tensor_over_the_limit_is_out_of_memory_and_others_go_on(browser):
    status, message, values = browser.run(START + """
      const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
      const most = Math.min(opened.limits.maxBufferSize, 2 ** 31 - 65536);
      const [status, message] = await outcome(device.ones('u8', [most + 4096]).read());
      return [status, message, [...await device.ones('f32', [2]).read()]];
    """)
    return status == "ERR_OUT_OF_MEMORY" and values == [1, 1] or (status, message)


def a_worker_can_load_it_too(browser):
    return browser.run("""
      const source = `
        import {load} from '${location.origin}/tessera.js';
        const tessera = await load(), device = await tessera.open({backend: 'webgpu'});
        postMessage([device.backend, ...await device.ones('f32', [3]).add(1).read()]);`;
      const worker = new Worker(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})), {type: 'module'});
      return new Promise((resolve, reject) => {
        worker.onmessage = ({data}) => resolve(data);
        worker.onerror = event => reject(new Error(event.message));
      });
    """) == ["webgpu", 2, 2, 2]


def a_page_without_navigator_gpu_is_told_so_and_has_the_cpu(browser):
    reason, error, backend = browser.run(START + """
      const tessera = await load({gpu: null}), found = await tessera.devices();
      const gpu = found.find(entry => entry.backend === 'webgpu');
      return [gpu.reason, await outcome(tessera.open({backend: 'webgpu'})), (await tessera.open()).backend];
    """)
    return "no navigator.gpu" in reason and error[0] == "ERR_UNAVAILABLE" and "no navigator.gpu" in error[1] \
        and backend == "cpu"


if __name__ == "__main__":
    run_claims(the_cpu_works_with_and_without_jspi, webgpu_works_through_jspi, webgpu_works_through_asyncify,
               kernels_are_timed_by_the_gpu,
               an_emulated_gpu_is_listed_and_used_only_when_it_is_named, a_kernel_of_the_page_runs_on_webgpu,
               calls_made_at_once_are_done_one_after_the_other, a_lost_device_is_a_status_and_another_can_be_opened,
               a_tensor_over_the_limit_is_out_of_memory_and_others_go_on, a_worker_can_load_it_too,
               a_page_without_navigator_gpu_is_told_so_and_has_the_cpu)
