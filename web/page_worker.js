// SPDX-License-Identifier: MIT
// What the example page computes, in a worker, so that the page answers while the CPU works. page.js sends {id, name, args} and
// gets {id, value} or {id, error: {status, message}}.
import {load} from './tessera.js';

// Longest wait for a kernel. One that a person has just written may never end.
const TIMEOUT_MS = 5000;

let tessera, device, logits;

const work = {
  async start() {
    tessera = await load();
    return {version: tessera.version, found: await tessera.devices()};
  },

  async use({backend, index}) {
    device?.release();
    device = null;
    device = await tessera.open({backend, index, timeoutMs: TIMEOUT_MS});
    logits = device.randn('f32', [10], 7);
  },

  async multiply(n) {
    const a = device.randn('f32', [n, n], 1), b = device.randn('f32', [n, n], 2);
    await a.matmul(b).read();  // builds the kernels
    const start = performance.now();
    const product = await a.matmul(b).read();
    return {ms: performance.now() - start, first: product[0]};
  },

  async softmax(temperature) {
    return logits.div(temperature).softmax().read();
  },

  async draw({source, width, height, view}) {
    const kernel = await tessera.kernel(source);
    const pixels = device.zeros('u32', [height, width]);
    await pixels.read();
    const start = performance.now();
    try {
      await kernel.launch([width, height], pixels, width, height, view.left, view.top, view.step);
      return {words: await pixels.read(), ms: performance.now() - start};
    } finally {
      kernel.release();
      pixels.release();
    }
  },
};

onmessage = async ({data: {id, name, args}}) => {
  try {
    postMessage({id, value: await work[name](...args)});
  } catch (error) {
    postMessage({id, error: {status: error.status ?? null, message: error.message}});
  }
};
