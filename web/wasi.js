// SPDX-License-Identifier: MIT
// What wasi-libc asks of its host, as far as a web page can answer: text out, clocks, random bytes, arguments and
// variables. There are no files: opening one fails as on a disk that does not have it.

const module_name = 'wasi_snapshot_preview1';

// WASI's error numbers.
const SUCCESS = 0, BADF = 8, INVAL = 28, NOENT = 44, NOSYS = 52;

/** Thrown by proc_exit; `code` is the exit status. */
export class Exit extends Error {
  constructor(code) {
    super(`the program ended with status ${code}`);
    this.code = code;
  }
}

// Text that arrives in pieces, handed on line by line.
class LineSink {
  constructor(write) {
    this.write = write;
    this.decoder = new TextDecoder();
    this.pending = '';
  }

  take(bytes) {
    const lines = (this.pending + this.decoder.decode(bytes, {stream: true})).split('\n');
    this.pending = lines.pop();
    for (const line of lines) this.write(line);
  }

  flush() {
    if (this.pending !== '') this.write(this.pending);
    this.pending = '';
  }
}

/**
 * The import object's part for one module. `memory()` gives its current memory, which moves when it grows.
 *
 * options: `args` and `env` (texts), `stdout` and `stderr` (called with each line).
 */
export function makeWasi(memory, options = {}) {
  const texts = {
    args: (options.args ?? []).map(encodeZ),
    environ: Object.entries(options.env ?? {}).map(([name, value]) => encodeZ(`${name}=${value}`)),
  };
  const sinks = {
    1: new LineSink(options.stdout ?? (line => console.log(line))),
    2: new LineSink(options.stderr ?? (line => console.warn(line))),
  };
  const view = () => new DataView(memory().buffer);

  const sizes = list => (outCount, outBytes) => {
    view().setUint32(outCount, list.length, true);
    view().setUint32(outBytes, list.reduce((sum, text) => sum + text.length, 0), true);
    return SUCCESS;
  };
  const copy = list => (pointers, bytes) => {
    for (const text of list) {
      view().setUint32(pointers, bytes, true);
      new Uint8Array(memory().buffer, bytes, text.length).set(text);
      pointers += 4;
      bytes += text.length;
    }
    return SUCCESS;
  };

  const imports = {
    args_sizes_get: sizes(texts.args),
    args_get: copy(texts.args),
    environ_sizes_get: sizes(texts.environ),
    environ_get: copy(texts.environ),

    clock_res_get(id, out) {
      view().setBigUint64(out, 1000n, true);
      return SUCCESS;
    },
    clock_time_get(id, precision, out) {
      if (id > 1) return INVAL;
      const ms = id === 0 ? Date.now() : performance.now();
      view().setBigUint64(out, BigInt(Math.round(ms * 1e6)), true);
      return SUCCESS;
    },
    random_get(at, bytes) {
      const most = 65536;  // of one call to getRandomValues
      for (let done = 0; done < bytes; done += most) {
        crypto.getRandomValues(new Uint8Array(memory().buffer, at + done, Math.min(most, bytes - done)));
      }
      return SUCCESS;
    },

    fd_write(fd, vectors, count, outBytes) {
      if (!sinks[fd]) return BADF;
      let total = 0;
      for (let i = 0; i < count; i++) {
        const at = view().getUint32(vectors + 8 * i, true), bytes = view().getUint32(vectors + 8 * i + 4, true);
        sinks[fd].take(new Uint8Array(memory().buffer, at, bytes).slice());
        total += bytes;
      }
      view().setUint32(outBytes, total, true);
      return SUCCESS;
    },
    fd_read(fd, vectors, count, outBytes) {
      if (fd !== 0) return BADF;
      view().setUint32(outBytes, 0, true);  // standard input is empty
      return SUCCESS;
    },
    fd_fdstat_get(fd, out) {
      if (fd > 2) return BADF;
      new Uint8Array(memory().buffer, out, 24).fill(0);
      return SUCCESS;
    },
    proc_exit(code) {
      throw new Exit(code);
    },
  };
  // Files, folders and sockets: none is there to be found or closed.
  const absent = {fd_prestat_get: BADF, fd_prestat_dir_name: BADF, path_open: NOENT, path_filestat_get: NOENT};
  const any = new Proxy(imports, {
    get: (own, name) => own[name] ?? (() => absent[name] ?? (name.startsWith('fd_') ? BADF : NOSYS)),
  });
  return {
    imports: {[module_name]: any},
    flush: () => Object.values(sinks).forEach(sink => sink.flush()),
  };
}

function encodeZ(text) {
  return new TextEncoder().encode(`${text}\0`);
}
