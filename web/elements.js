// SPDX-License-Identifier: MIT
// Elements as JavaScript has them (typed arrays, numbers, nested lists) and as the library takes them: one typed array and a shape.
import {dtypes, packed} from './lists.js';

/** The typed array of each dtype; f16, bf16, f8, i4 and u4 are given and read as their bits. */
export const ARRAYS = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
  u32: Uint32Array, f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array, u16: Uint16Array,
  u64: BigUint64Array, f8_e4m3: Uint8Array, f8_e5m2: Uint8Array, i4: Uint8Array, u4: Uint8Array,
};

export const isDtype = name => dtypes.includes(name) || name in packed;

/** The number of a dtype in C, and its name. */
export function dtypeNumber(name) {
  if (!isDtype(name)) throw new TypeError(`there is no dtype '${name}'; there are ${Object.keys(ARRAYS).join(', ')}`);
  return packed[name] ?? dtypes.indexOf(name);
}
export const dtypeName = number => dtypes[number] ?? Object.keys(packed).find(name => packed[name] === number);

/** How many bytes the elements of a tensor have. Rows of packed ones begin at a byte. */
export function bytesOf(dtype, shape) {
  const last = shape.at(-1) ?? 1, rows = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  return dtype in packed ? rows * Math.ceil(last / 2) : rows * last * (ARRAYS[dtype] ?? Uint8Array).BYTES_PER_ELEMENT;
}

const DTYPES_OF_VALUES = {number: 'f32', boolean: 'bool', bigint: 'i64'};

/** Whether JavaScript has no numbers of this dtype, only their bits. */
export const isNarrow = dtype => ['f16', 'bf16', 'f8_e4m3', 'f8_e5m2', 'i4', 'u4'].includes(dtype);

const isTyped = data => ArrayBuffer.isView(data) && !(data instanceof DataView);

/**
 * Reads `data`: a typed array, one number, or lists of numbers nested to any depth. Gives {array, shape, dtype}.
 *
 * `shape` and `dtype` may be left out. The typed array decides the dtype then (Uint16Array holds the bits of f16), numbers
 * are f32, true and false bool, bigints i64; the nesting decides the shape. Anything else is a TypeError.
 */
export function readElements(data, shape, dtype) {
  if (isTyped(data)) {
    const found = dtype ?? dtypeOfTyped(data);
    const count = found in packed ? 2 * data.length : data.length;
    return {array: convert(data, found), shape: shape ?? [count], dtype: found};
  }
  const flat = [];
  const nested = flatten(data, flat, []);
  const found = dtype ?? DTYPES_OF_VALUES[typeof flat[0]] ?? 'f32';
  return {array: convert(flat, found), shape: shape ?? nested, dtype: found};
}

function dtypeOfTyped(data) {
  const found = Object.keys(ARRAYS).find(name => name !== 'bool' && data instanceof ARRAYS[name]);
  if (!found) throw new TypeError(`tensor: a ${data.constructor.name} has no dtype of its own; give one as the third argument`);
  return found;
}

// Appends the values of nested lists to `flat` and gives their shape. `place` says where a mistake is: [1][0].
function flatten(data, flat, place) {
  if (isTyped(data)) data = Array.from(data);
  if (!Array.isArray(data)) {
    if (!(typeof data in DTYPES_OF_VALUES)) throw new TypeError(`tensor: ${describe(data)} at ${where(place)} is no number`);
    flat.push(data);
    return [];
  }
  const shapes = data.map((item, i) => flatten(item, flat, [...place, i]));
  const odd = shapes.findIndex(shape => String(shape) !== String(shapes[0]));
  if (odd > 0) {
    throw new TypeError(`tensor: the lists differ in length: ${where([...place, 0])} has the shape [${shapes[0]}], ` +
      `${where([...place, odd])} [${shapes[odd]}]`);
  }
  return [data.length, ...(shapes[0] ?? [])];
}

const where = place => (place.length === 0 ? 'the top' : place.map(index => `[${index}]`).join(''));
const describe = value => (typeof value === 'string' ? `the text '${value}'` : String(value));

function convert(values, dtype) {
  const Elements = ARRAYS[dtype];
  if (!Elements) throw new TypeError(`there is no dtype '${dtype}'; there are ${Object.keys(ARRAYS).join(', ')}`);
  if (values instanceof Elements) return values;
  if (isNarrow(dtype)) throw new TypeError(`elements of ${dtype} are given as their bits, in a ${Elements.name}`);
  return dtype === 'i64' || dtype === 'u64' ? Elements.from(values, BigInt) : Elements.from(values, Number);
}
