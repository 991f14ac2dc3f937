// SPDX-License-Identifier: MIT
// Calls into a WebAssembly module that may have to wait for the page: the module is suspended while a promise is
// pending, and continues when it settles.
//
//   jspi      the engine does it (WebAssembly.Suspending and WebAssembly.promising)
//   asyncify  the module does it itself: it was built again with code that saves and restores its stack
//   none      nothing can be put aside; enough for the CPU
//
// One call at a time: the next one starts when the one before is done.

/** Which way this engine has. `wanted`: one of them by name. */
export function chooseSuspension(wanted) {
  const has_jspi = typeof WebAssembly.Suspending === 'function' && typeof WebAssembly.promising === 'function';
  if (wanted === 'jspi' && !has_jspi) throw new Error('this engine has no JSPI (WebAssembly.Suspending)');
  return wanted ?? (has_jspi ? 'jspi' : globalThis.navigator?.gpu ? 'asyncify' : 'none');
}

/** `wrapImport` is for functions that may return a promise, `call` for exports that may reach one. */
export function makeSuspension(kind) {
  return new {jspi: Jspi, asyncify: Asyncify, none: NoSuspension}[kind]();
}

class Jspi {
  attach(exports) {
    this.exports = exports;
    this.promising = new Map();
  }

  wrapImport(imported) {
    return new WebAssembly.Suspending(imported);
  }

  async call(name, ...args) {
    if (!this.promising.has(name)) this.promising.set(name, WebAssembly.promising(this.exports[name]));
    return this.promising.get(name)(...args);
  }
}

class NoSuspension {
  attach(exports) {
    this.exports = exports;
  }

  wrapImport(imported) {
    return (...args) => {
      const result = imported(...args);
      if (result instanceof Promise) throw new Error('this module was loaded without a way to wait');
      return result;
    };
  }

  async call(name, ...args) {
    return this.exports[name](...args);
  }
}

class Asyncify {
  static UNWINDING = 1;
  static STACK_BYTES = 1 << 20;

  // The saved stack lies in the module's memory, behind its two bounds.
  attach(exports) {
    this.exports = exports;
    this.saved = exports.malloc(8 + Asyncify.STACK_BYTES);
    this.outcome = null;
  }

  resetStack() {
    const bounds = new DataView(this.exports.memory.buffer);
    bounds.setUint32(this.saved, this.saved + 8, true);
    bounds.setUint32(this.saved + 4, this.saved + 8 + Asyncify.STACK_BYTES, true);
  }

  wrapImport(imported) {
    return (...args) => {
      if (this.outcome) {  // the stack was restored up to this call: here is its result
        const {value, error} = this.outcome;
        this.outcome = null;
        this.exports.asyncify_stop_rewind();
        if (error) throw error;
        return value;
      }
      const result = imported(...args);
      if (!(result instanceof Promise)) return result;
      this.pending = result;
      this.resetStack();
      this.exports.asyncify_start_unwind(this.saved);
      return 0;
    };
  }

  async call(name, ...args) {
    let result = this.exports[name](...args);
    while (this.exports.asyncify_get_state() === Asyncify.UNWINDING) {
      this.exports.asyncify_stop_unwind();
      this.outcome = await this.pending.then(value => ({value}), error => ({error}));
      this.exports.asyncify_start_rewind(this.saved);
      result = this.exports[name](...args);
    }
    return result;
  }
}
