// SPDX-License-Identifier: MIT
// web/program.js in Node.js. The built page is in $TSR_TEST_BUILD_DIR/web.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {pathToFileURL} from 'node:url';

const page = pathToFileURL(`${process.env.TSR_TEST_BUILD_DIR ?? 'build/wasm'}/web/`);
const {runProgram} = await import(new URL('program.js', page));

async function run(...args) {
  const out = [], err = [];
  const code = await runProgram(args, {stdout: line => out.push(line), stderr: line => err.push(line)});
  return {code, out: out.join('\n'), err: err.join('\n')};
}

test('devices are listed', async () => {
  const {code, out} = await run('devices');
  assert.equal(code, 0);
  assert.match(out, /^cpu .*WebAssembly, 1 core, SIMD/m);
});

test('a part of the conformance run passes, and says so as JSON', async () => {
  const {code, out} = await run('check', '--quick', '--backend', 'cpu', '--op', 'relu', '--json');
  const [device] = JSON.parse(out).devices;
  assert.deepEqual([code, device.failed, device.passed > 10], [0, 0, true]);
});

test('wrong arguments give the exit code of a wrong command line, and a sentence', async () => {
  const {code, err} = await run('chekc');
  assert.equal(code, 2);
  assert.match(err, /Did you mean 'check'/);
});

test('each run starts afresh', async () => {
  assert.match((await run('check', '--list', '--json')).out, /"operators"/);
  assert.doesNotMatch((await run('version')).out, /"operators"/);
});
