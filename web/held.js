// SPDX-License-Identifier: MIT
// What all objects of the library's have in common, and the error of its calls.

/** What went wrong: `status` is 'ERR_SHAPE' and so on, as in status.h. */
export class TesseraError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'TesseraError';
    this.status = status;
  }
}

/** An object of the library. It is released by the garbage collector, or at once by release(). */
export class Held {
  constructor(tessera, cell) {
    this.tessera = tessera;
    this.cell = cell;
  }

  release() {
    this.tessera.release(this);
  }
}

/** The address of an object. A tensor that could not even be made passes its error on. */
export function pointerOf(object) {
  if (object.cell.error) throw object.cell.error;
  if (object.cell.pointer === 0) throw new TesseraError('ERR_RELEASED', 'this object was released');
  return object.cell.pointer;
}
