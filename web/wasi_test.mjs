// SPDX-License-Identifier: MIT
// web/wasi.js with a memory of its own in place of a module's.
import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Exit, makeWasi} from './wasi.js';

function make(options = {}) {
  const memory = new WebAssembly.Memory({initial: 1});
  const out = [], err = [];
  const wasi = makeWasi(() => memory, {stdout: line => out.push(line), stderr: line => err.push(line), ...options});
  const calls = wasi.imports.wasi_snapshot_preview1;
  return {memory, out, err, flush: wasi.flush, calls, view: new DataView(memory.buffer)};
}

// Writes `text` to `fd` in one piece.
function write({memory, view, calls}, fd, text) {
  const bytes = new TextEncoder().encode(text);
  new Uint8Array(memory.buffer, 1000).set(bytes);
  view.setUint32(0, 1000, true);
  view.setUint32(4, bytes.length, true);
  return calls.fd_write(fd, 0, 1, 8);
}

test('text comes out line by line, the last one when it is flushed', () => {
  const host = make();
  write(host, 1, 'one\ntw');
  write(host, 2, 'wrong\n');
  assert.deepEqual([host.out, host.err], [['one'], ['wrong']]);
  write(host, 1, 'o\nthree');
  host.flush();
  assert.deepEqual(host.out, ['one', 'two', 'three']);
  assert.equal(host.view.getUint32(8, true), 7);
});

test('only standard output and error can be written', () => {
  assert.equal(write(make(), 3, 'x'), 8);
});

test('variables are handed over as texts', () => {
  const {calls, view, memory} = make({env: {TESSERA_LOG: 'info'}});
  assert.equal(calls.environ_sizes_get(0, 4), 0);
  assert.deepEqual([view.getUint32(0, true), view.getUint32(4, true)], [1, 17]);
  calls.environ_get(100, 200);
  assert.equal(view.getUint32(100, true), 200);
  assert.equal(new TextDecoder().decode(new Uint8Array(memory.buffer, 200, 17)), 'TESSERA_LOG=info\0');
});

test('there are no files', () => {
  const {calls} = make();
  assert.equal(calls.fd_prestat_get(3, 0), 8);
  assert.equal(calls.path_open(3, 0, 0, 0, 0, 0n, 0n, 0, 0), 44);
  assert.equal(calls.sock_accept(3, 0, 0), 52);
});

test('the clock goes on and exit is an exception with the status', () => {
  const {calls, view} = make();
  assert.equal(calls.clock_time_get(1, 0n, 0), 0);
  const first = view.getBigUint64(0, true);
  calls.clock_time_get(1, 0n, 0);
  assert.ok(view.getBigUint64(0, true) >= first && first > 0n);
  assert.throws(() => calls.proc_exit(3), error => error instanceof Exit && error.code === 3);
});
