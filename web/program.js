// SPDX-License-Identifier: MIT
// The program `tessera` in a page or in Node.js: its commands, such as `check`, on the devices that are there.
import {loadModule} from './module.js';
import {Exit} from './wasi.js';

/** Runs `tessera` with these arguments and gives its exit code. options: as for loadModule. */
export async function runProgram(args, options = {}) {
  const module = await loadModule('tessera_program', options);
  const texts = ['tessera', ...args].map(text => module.allocateText(text));
  const argv = module.allocate(4 * (texts.length + 1));
  texts.forEach((at, i) => module.view.setUint32(argv + 4 * i, at, true));
  module.view.setUint32(argv + 4 * texts.length, 0, true);
  try {
    return await module.call('__main_argc_argv', texts.length, argv);
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  } finally {
    module.wasi.flush();
  }
}
