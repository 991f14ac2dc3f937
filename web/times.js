// SPDX-License-Identifier: MIT
// How long kernels take by the GPU's own clock. While a profile is on, each dispatch is a pass of its own between two time stamps.

const MOST_PAIRS = 2048;  // in one submission: a set of queries has 4096 at most

/** Times of all devices of a module, by the names of kernels. */
export class Profile {
  constructor() {
    this.kernels = new Map();
    this.untimed = 0;   // dispatches without time stamps
    this.reading = [];  // promises of the times of what was submitted
  }

  add(name, ms) {
    const row = this.kernels.get(name) ?? {name, count: 0, ms: 0, longestMs: 0};
    this.kernels.set(name, {name, count: row.count + 1, ms: row.ms + ms, longestMs: Math.max(row.longestMs, ms)});
  }

  /** Waits for all times, and gives the kernels, the one that took the longest time first. */
  async finish() {
    await Promise.all(this.reading);
    return {kernels: [...this.kernels.values()].sort((a, b) => b.ms - a.ms), untimed: this.untimed};
  }
}

/** The time stamps of one device. */
export class Stamps {
  constructor(gpu, profile) {
    this.gpu = gpu;
    this.profile = profile;
    this.names = [];  // of the dispatches that were recorded since the last submission
    this.isThere = gpu.features.has('timestamp-query');
    this.set = this.isThere ? gpu.createQuerySet({type: 'timestamp', count: 2 * MOST_PAIRS}) : null;
  }

  /** The description of a pass with one dispatch. */
  passOf(name) {
    if (!this.isThere || this.names.length === MOST_PAIRS) {
      this.profile.untimed++;
      return {};
    }
    const first = 2 * this.names.length;
    this.names.push(name);
    return {timestampWrites: {querySet: this.set, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1}};
  }

  /** Ends the commands of a submission with a copy of its time stamps. Gives what reads them once it is submitted. */
  copyOut(encoder) {
    if (this.names.length === 0) return () => {};
    const {QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ} = GPUBufferUsage, names = this.names, size = 16 * names.length;
    const written = this.gpu.createBuffer({size, usage: QUERY_RESOLVE | COPY_SRC});
    const readable = this.gpu.createBuffer({size, usage: COPY_DST | MAP_READ});
    encoder.resolveQuerySet(this.set, 0, 2 * names.length, written, 0);
    encoder.copyBufferToBuffer(written, 0, readable, 0, size);
    this.names = [];
    return () => this.profile.reading.push(this.#read(names, written, readable));
  }

  async #read(names, written, readable) {
    try {
      await readable.mapAsync(GPUMapMode.READ);
      const ns = new BigUint64Array(readable.getMappedRange());
      names.forEach((name, i) => this.profile.add(name, Math.max(0, Number(ns[2 * i + 1] - ns[2 * i])) / 1e6));
    } catch {  // the device is lost, as other calls say
      this.profile.untimed += names.length;
    }
    written.destroy();
    readable.destroy();
  }
}
