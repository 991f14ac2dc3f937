// SPDX-License-Identifier: MIT
// Loads one of Tessera's WebAssembly modules with all that it imports.
import {chooseSuspension, makeSuspension} from './suspend.js';
import {makeWasi} from './wasi.js';
import {makeWebGpu} from './webgpu.js';

/**
 * Loads `name`.wasm, or its asyncify twin, from beside this file or from the folder `options.base`.
 *
 * options: `base`; `suspension` ('jspi', 'asyncify' or 'none'; the best there is by default); `gpu` (the GPU object to
 * use, navigator.gpu by default, null for none); `env`, `stdout`, `stderr` as for makeWasi.
 */
export async function loadModule(name, options = {}) {
  const kind = chooseSuspension(options.suspension);
  const suspension = makeSuspension(kind);
  const memory = () => instance.exports.memory;
  const wasi = makeWasi(memory, options);
  const gpu = options.gpu === undefined ? globalThis.navigator?.gpu : options.gpu;
  const imports = {...wasi.imports, webgpu: {}};
  const webgpu = makeWebGpu(memory, kind === 'none' ? null : gpu);
  for (const [entry, imported] of Object.entries(webgpu.imports)) {
    imports.webgpu[entry] = suspension.wrapImport(imported);
  }
  const file = kind === 'asyncify' ? `${name}_asyncify.wasm` : `${name}.wasm`;
  const bytes = await fetchBytes(new URL(file, options.base ?? import.meta.url));
  const {instance} = await WebAssembly.instantiate(bytes, imports);
  suspension.attach(instance.exports);
  instance.exports._initialize();
  return new Module(instance.exports, suspension, wasi, webgpu, kind);
}

async function fetchBytes(url) {
  if (url.protocol === 'file:') {  // Node.js does not fetch these
    return (await import('node:fs/promises')).readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

/** A loaded module: its functions, and ways to move data in and out of its memory. */
class Module {
  constructor(exports, suspension, wasi, webgpu, suspensionKind) {
    this.exports = exports;
    this.suspension = suspension;
    this.wasi = wasi;
    this.webgpu = webgpu;
    this.suspensionKind = suspensionKind;
  }

  /** Calls an export that may wait. */
  call(name, ...args) {
    return this.suspension.call(name, ...args);
  }

  get view() {
    return new DataView(this.exports.memory.buffer);
  }

  bytes(at, count) {
    return new Uint8Array(this.exports.memory.buffer, at, count);
  }

  /** Memory of the module; 0 if there is none left. The caller frees it. */
  allocate(count) {
    return this.exports.malloc(Math.max(count, 1)) >>> 0;
  }

  free(at) {
    this.exports.free(at);
  }

  /** A copy of the text that ends in 0, or 0 for null. The caller frees it. */
  allocateText(text) {
    if (text === null || text === undefined) return 0;
    const encoded = new TextEncoder().encode(`${text}\0`);
    const at = this.allocate(encoded.length);
    if (at !== 0) this.bytes(at, encoded.length).set(encoded);
    return at;
  }

  /** The text at an address, up to its 0. */
  text(at) {
    if (at === 0) return '';
    const all = new Uint8Array(this.exports.memory.buffer, at);
    return new TextDecoder().decode(all.slice(0, all.indexOf(0)));
  }
}
