// SPDX-License-Identifier: MIT
// web/tessera.js in Node.js, on the CPU as WebAssembly. The built page is in $TSR_TEST_BUILD_DIR/web.
import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

const page = pathToFileURL(`${process.env.TSR_TEST_BUILD_DIR ?? 'build/wasm'}/web/`);
const {load, Tensor} = await import(new URL('tessera.js', page));
const {operators} = await import(new URL('lists.js', page));
const {loadModule} = await import(new URL('module.js', page));

let tessera, device;
before(async () => {
  tessera = await load();
  device = await tessera.open();
});

const values = async tensor => Array.from(await tensor.read());
const rejects = (promise, status, text) =>
  assert.rejects(promise, error => error.status === status && error.message.includes(text));

test('the only device here is the CPU, and other backends say why they are not there', async () => {
  const found = await tessera.devices();
  assert.deepEqual(found.filter(entry => entry.name).map(entry => entry.backend), ['cpu']);
  assert.match(found.find(entry => entry.backend === 'vulkan').reason, /WebAssembly cannot open/);
  assert.match(found.find(entry => entry.backend === 'webgpu').reason, /./);
  assert.match(device.name, /SIMD/);
});

test('typed arrays become tensors and come back', async () => {
  for (const data of [Float32Array.of(1.5, -2), Float64Array.of(1e300), Int32Array.of(-7, 7), Uint8Array.of(0, 255),
    BigInt64Array.of(-(2n ** 62n)), Int16Array.of(-300), Uint32Array.of(4e9)]) {
    assert.deepEqual(await device.tensor(data).read(), data);
  }
  assert.deepEqual(await values(device.tensor([1, 2, 3])), [1, 2, 3]);
  assert.deepEqual(await device.tensor([1, 0], [2], 'bool').describe(), {shape: [2], dtype: 'bool'});
});

test('i4 and u4 are packed two to a byte, and cast', async () => {
  const bytes = Uint8Array.of(0x21, 0x03, 0xff, 0x07);  // rows of three: 1 2 3 and -1 -1 7
  const packed = device.tensor(bytes, [2, 3], 'i4');
  assert.deepEqual(await packed.read(), bytes);
  assert.deepEqual(await packed.describe(), {shape: [2, 3], dtype: 'i4'});
  assert.deepEqual(await values(packed.cast('i32')), [1, 2, 3, -1, -1, 7]);
  assert.deepEqual(await device.tensor([[1, 2, 3], [-1, -1, 7]], undefined, 'i4').read(), bytes);
  assert.deepEqual(await device.tensor([1.9, 300, -5]).cast('u4').read(), Uint8Array.of(0xf1, 0));
  assert.deepEqual((await device.tensor(Uint8Array.of(1, 2), undefined, 'u4').describe()).shape, [4]);
  await packed.write(Uint8Array.of(0x11, 1, 0x22, 2));
  assert.deepEqual(await values(packed.cast('i32')), [1, 1, 1, 2, 2, 2]);
  await rejects(packed.add(packed).read(), 'ERR_DTYPE', 'cast');
});

test('a tensor keeps the elements it was made of', async () => {
  const data = Float32Array.of(1, 2);
  const tensor = device.tensor(data);
  data[0] = 9;
  assert.deepEqual(await values(tensor), [1, 2]);
});

test('operators are methods, and take a number for their second tensor', async () => {
  const a = device.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  assert.deepEqual(await values(a.matmul(a)), [7, 10, 15, 22]);
  assert.deepEqual(await values(a.add(a).mul(10)), [20, 40, 60, 80]);
  assert.deepEqual(await values(a.sum()), [10]);
  assert.deepEqual(await values(a.sum(0)), [4, 6]);
  assert.deepEqual((await a.sum([1], true).describe()).shape, [2, 1]);
  assert.deepEqual(await values(a.pad([1, 0], [0, 0], 9)), [9, 9, 1, 2, 3, 4]);
  assert.deepEqual(await values(a.slice(0, 1)), [3, 4]);
  assert.deepEqual(await values(tessera.ops.concat([a, a.neg()], 1)), [1, 2, -1, -2, 3, 4, -3, -4]);
  assert.deepEqual(await values(device.full('i32', [2], 3)), [3, 3]);
  assert.equal(await device.arange('i32', 0, 3, 1).format(), '[0 1 2]\ni32 [3] on cpu\n');
});

test('formats of quantised weights are given by their names', async () => {
  const x = device.tensor(Float32Array.from({length: 32}, (_, i) => i - 8));
  const blocks = x.quantize('q8_0');
  assert.deepEqual(await blocks.describe(), {shape: [34], dtype: 'u8'});
  assert.ok((await values(blocks.dequantize('q8_0', 'f32'))).every((value, i) => Math.abs(value - (i - 8)) < 0.1));
  const product = await values(x.matmul_quantized(blocks.reshape([1, 34]), 'q8_0'));
  assert.ok(Math.abs(product[0] - 4528) < 20);
  assert.throws(() => x.quantize('q9'), /format must be one of q8_0, q4_0, q4_k, q6_k, not q9/);
});

test('options of operators are an object, checked where it is given', async () => {
  const x = device.tensor([[1, 2], [3, 7]]), target = device.tensor([[1, 0], [0, 3]]);
  assert.deepEqual(await values(x.mse_loss(target)), [7.25]);
  assert.deepEqual(await values(x.l1_loss(target, {reduction: 'sum', weight: device.tensor([1, 10])})), [63]);
  assert.deepEqual(await values(x.huber_loss(target, {reduction: 'none', delta: 2})), [0, 2, 4, 6]);
  const labels = device.tensor(Int32Array.of(1, -100));
  assert.deepEqual(await values(x.nll_loss(labels, 1, {ignores: true, ignored: -100})), [-2]);
  const image = device.tensor([[[[1, 2, 3], [4, 5, 6]]]]), kernel = device.tensor([[[[1, 1]]]]);
  assert.deepEqual(await values(image.conv(kernel, null, {stride: [1, 2]})), [3, 9]);
  assert.deepEqual(await values(image.conv(kernel, device.tensor([10]), {padding: 'same'})), [13, 15, 13, 19, 21, 16]);
  assert.deepEqual(await values(image.max_pool({size: 2, stride: 1})), [5, 6]);
  assert.throws(() => image.max_pool({size: [1, 1, 1, 1]}), /size must be a whole number, or a list of up to 3/);
  assert.throws(() => x.mse_loss(target, {reduce: 'sum'}), /no option reduce; there are reduction, /);
  assert.throws(() => x.mse_loss(target, {reduction: 'most'}), /reduction must be one of mean, sum/);
  assert.throws(() => x.mse_loss(target, {weight: 3}), /weight must be a tensor/);
  assert.throws(() => x.mse_loss(target, 3), /desc must be an object/);
});

test('item() reads one number, of any dtype', async () => {
  assert.equal(await device.tensor([[1, 2], [3, 4]]).sum().item(), 10);
  assert.equal(await device.tensor([2.5], [1], 'f16').item(), 2.5);
  assert.equal(await device.tensor([7n]).item(), 7);
  await rejects(device.tensor([1, 2]).item(), 'ERR_SHAPE', 'one element, not [2]');
});

test('lists may be long', async () => {
  const ones = Array.from({length: 1500}, () => device.ones('f32', [1]));
  assert.deepEqual(await values(tessera.ops.concat(ones, 0).sum()), [1500]);
});

test('each operator of the list takes as many parameters in WebAssembly as it does here', async () => {
  const module = await loadModule('tessera');
  for (const [name, text] of Object.entries(operators)) {
    const kinds = text.split(', ').map(words => words.split(' ')[0]);
    const counts = kinds.filter((kind, i) => ['axes', 'sizes', 'tensors'].includes(kind) && kinds[i + 1] !== kind);
    assert.equal(module.exports[`tsr_${name}`]?.length, kinds.length + counts.length, name);
  }
});

test('an argument of the wrong kind is refused where it is given', () => {
  const a = device.ones('f32', [2]);
  assert.throws(() => a.sum('rows'), /sum: axes must be a list of whole numbers, not rows/);
  assert.throws(() => a.add(), /add: b must be a tensor, not undefined/);
  assert.throws(() => device.zeros('f33', [2]), /zeros: dtype must be the name of a dtype, not f33/);
});

test('a wrong call gives a failed tensor, and the others go on', async () => {
  const a = device.ones('f32', [4, 3]), b = device.ones('f32', [5, 2]);
  const failed = a.matmul(b);
  await rejects(failed.add(1).relu().read(), 'ERR_SHAPE', 'inner sizes differ, a is 4x3, b is 5x2');
  await rejects(failed.describe(), 'ERR_SHAPE', 'inner sizes differ');
  assert.deepEqual(await values(a.sum()), [12]);
});

test('a released tensor says so', async () => {
  const a = device.ones('f32', [2]);
  a.release();
  await rejects(a.read(), 'ERR_RELEASED', 'released');
  await rejects(a.add(a).read(), 'ERR_RELEASED', 'released');
});

test('more memory than there is gives a status, and the library goes on', async () => {
  await assert.rejects(device.zeros('f32', [2 ** 31]).read(), /more bytes than memory can address/);
  const small = await tessera.open({memoryLimit: 1 << 20});
  await rejects(small.zeros('f32', [1 << 20]).read(), 'ERR_OUT_OF_MEMORY', 'limit');
  assert.deepEqual(await values(small.ones('f32', [2])), [1, 1]);
});

test('a kernel of the page runs, and its mistakes are listed', async () => {
  const kernel = await tessera.kernel(
    `kernel scale<T, WG = 64>(in T x[], out T y[], u32 n, f32 c) {
       u32 i = global.x;
       if (i < n) y[i] = T(f32(x[i]) * c);
     }`, {defines: {T: 'f32'}});
  const x = device.arange('f32', 0, 100, 1), y = device.zeros('f32', [100]);
  await kernel.launch([100], x, y, 100, 0.5);
  assert.deepEqual((await values(y)).slice(0, 4), [0, 0.5, 1, 1.5]);
  await rejects(kernel.launch([100], x, y, 100), 'ERR_INVALID_ARGUMENT', 'argument');
  await rejects(tessera.kernel('kernel x( {'), 'ERR_BUILD', 'kernel:1:11');
});

test('an unknown backend is an error that lists what there is', async () => {
  await rejects(tessera.open({backend: 'abacus'}), 'ERR_UNAVAILABLE', 'cpu');
  await rejects(tessera.open({backend: 'vulkan'}), 'ERR_UNAVAILABLE', 'WebAssembly cannot open');
});

test('calls that are made without waiting are done in their order', async () => {
  let x = device.zeros('f32', [1]);
  for (let i = 0; i < 2000; i++) x = x.mul(0.5).add(1);  // longer than any chain that is left unrun
  assert.ok(x instanceof Tensor);
  assert.deepEqual(await values(x), [2]);
});

test('nested lists become tensors of their shape, and what is no number is refused', async () => {
  const square = device.tensor([[1, 2], [3, 4]]);
  assert.deepEqual([square.shape, square.dtype], [[2, 2], 'f32']);
  assert.deepEqual(await values(square.matmul(square)), [7, 10, 15, 22]);
  assert.deepEqual(await values(device.tensor([[1, 2], [3, 4]], [4], 'i32')), [1, 2, 3, 4]);
  assert.deepEqual(device.tensor([[[true], [false]]]).shape, [1, 2, 1]);
  assert.deepEqual(await device.tensor([2n ** 60n]).read(), BigInt64Array.of(2n ** 60n));
  assert.deepEqual(await values(device.tensor(2.5)), [2.5]);
  assert.deepEqual(device.tensor([]).shape, [0]);
  assert.deepEqual(await values(device.tensor([Float32Array.of(1, 2), Float32Array.of(3, 4)]).sum(0)), [4, 6]);
  assert.throws(() => device.tensor([[1, 2], [3]]), /\[0\] has the shape \[2\], \[1\] \[1\]/);
  assert.throws(() => device.tensor([1, 'two']), /the text 'two' at \[1\] is no number/);
  assert.throws(() => device.tensor('12'), TypeError);
  assert.throws(() => device.tensor([undefined]), TypeError);
  assert.throws(() => device.tensor([1], [1], 'f33'), /there is no dtype 'f33'/);
});

test('numbers become halves by rounding, bits by being halves already', async () => {
  assert.deepEqual(await values(device.tensor([1.5, -2], [2], 'f16').cast('f32')), [1.5, -2]);
  assert.deepEqual(await values(device.tensor(Uint16Array.of(0x3f80), [1], 'bf16').cast('f32')), [1]);
  assert.deepEqual(await values(device.tensor([1.5, -3, 500], [3], 'f8_e4m3').cast('f32')), [1.5, -3, NaN]);
  assert.deepEqual(await values(device.tensor(Uint8Array.of(0x3c), [1], 'f8_e5m2').cast('f32')), [1]);
  assert.deepEqual(await values(device.tensor([2n ** 64n - 1n], [1], 'u64').add(2)), [1n]);
  assert.deepEqual(await values(device.tensor([65535, 7], [2], 'u16').add(1)), [0, 8]);
});

test('shape and dtype are there without waiting once they are known', async () => {
  const x = device.ones('f32', [2, 3]), sum = x.sum(1), failed = x.matmul(x);
  assert.equal(sum.shape, undefined);
  await sum.read();
  assert.deepEqual([x.shape, sum.shape, sum.dtype, failed.shape], [[2, 3], [2], 'f32', undefined]);
});

test('elements are overwritten, also through a view, as they are when write is called', async () => {
  const x = device.zeros('i32', [2, 2]), data = [7, 8];
  const before = x.add(1);
  const written = x.slice(0, 1).write(data);
  data[0] = 99;
  await written;
  assert.deepEqual(await values(x), [0, 0, 7, 8]);
  assert.deepEqual(await values(before), [1, 1, 1, 1]);
  await x.write([[1, 2], [3, 4]]);
  assert.deepEqual(await values(x), [1, 2, 3, 4]);
  await rejects(x.write([1]), 'ERR_SHAPE', 'bytes');
});

test('topk and split give several tensors', async () => {
  const x = device.tensor([[3, 1, 2], [4, 6, 5]]);
  const {values: largest, indices} = x.topk(2);
  assert.deepEqual([await values(largest), await values(indices)], [[3, 2, 6, 5], [0, 2, 1, 2]]);
  assert.deepEqual(await values(x.topk(1, 0, false).values), [3, 1, 2]);
  const [left, right] = x.split([1, 2], 1);
  assert.deepEqual([await values(left), await values(right)], [[3, 4], [1, 2, 6, 5]]);
  await rejects(x.topk(4).values.read(), 'ERR_SHAPE', '');
  await rejects(x.split([1, 1], 1)[1].read(), 'ERR_SHAPE', '');
});

test('running extremes, unstack and meshgrid give several tensors', async () => {
  const x = device.tensor([[3, 1, 4], [1, 5, 9]]);
  const {values: largest, indices} = x.cummax(1);
  assert.deepEqual([await values(largest), await values(indices)], [[3, 3, 4, 1, 5, 9], [0, 0, 2, 0, 1, 2]]);
  assert.deepEqual(await values(x.cummin(0).values), [3, 1, 4, 1, 1, 4]);
  const [first, second] = x.unstack(2);
  assert.deepEqual([await values(first), await values(second)], [[3, 1, 4], [1, 5, 9]]);
  const [down, across] = tessera.meshgrid([device.tensor([1, 2]), device.tensor([5, 6, 7])]);
  assert.deepEqual([await values(down), await values(across)], [[1, 1, 1, 2, 2, 2], [5, 6, 7, 5, 6, 7]]);
  await rejects(x.unstack(3)[0].read(), 'ERR_SHAPE', 'unstack: 3 parts, axis 0 has 2 elements');
});

test('an operator with several results gives an object, one that writes a tensor a promise', async () => {
  const x = device.tensor([[3, 4]]), {sum, normed} = x.add_rms_norm(device.tensor([[0, 0]]), null, 0);
  assert.deepEqual(await values(sum), [3, 4]);
  assert.deepEqual((await values(normed)).map(value => value.toFixed(4)), ['0.8485', '1.1314']);
  await rejects(x.add_rms_norm(device.tensor([1]), null).sum.read(), 'ERR_SHAPE', 'the residual is');
  const cache = device.zeros('f32', [2, 2]);
  await cache.slice(0, 1, 2).matmul_into(x, device.tensor([[1, 0], [0, 2]]));
  assert.deepEqual(await values(cache), [0, 0, 3, 8]);
  await rejects(cache.matmul_into(x, x), 'ERR_SHAPE', 'matmul_into');
});

test('operators that find elements wait for how many there are', async () => {
  const x = device.tensor([[3, 0, 3], [0, 1, 0]]);
  assert.deepEqual(await values(x.nonzero()), [0, 0, 0, 2, 1, 1]);
  assert.deepEqual(await values(x.masked_select(x.gt(1))), [3, 3]);
  const {values: found, inverse, counts} = x.unique();
  assert.deepEqual([await values(found), await values(inverse), await values(counts)], [[0, 1, 3], [2, 0, 2, 0, 1, 0], [3, 1, 2]]);
});

test('an equation is a text', async () => {
  const a = device.tensor([[1, 2], [3, 4]]), b = device.tensor([5, 6]);
  assert.deepEqual(await values(tessera.ops.einsum('ij,j->i', [a, b])), [17, 39]);
  assert.throws(() => tessera.ops.einsum(1, [a]), /einsum: equation must be a text, not 1/);
});

test('factors and determinants come as several tensors', async () => {
  const x = device.tensor([[0, 2], [4, 1]]), {factors, rows} = x.lu(), {sign, log} = x.slogdet();
  assert.deepEqual([await values(factors), await values(rows), await values(sign)], [[4, 1, 0, 2], [1, 0], [-1]]);
  assert.ok(Math.abs((await values(log))[0] - Math.log(8)) < 1e-6);
});

test('a capture runs again on what its inputs hold then', async () => {
  const x = device.tensor([1, 2, 3]);
  let y;
  const step = await device.capture(() => y = x.mul(2).add(1));
  assert.deepEqual(await values(y), [3, 5, 7]);
  await x.write([10, 20, 30]);
  await step.run();
  assert.deepEqual(await values(y), [21, 41, 61]);
  assert.equal(await step.stepCount(), 1);
});

test('a capture whose function fails is given up, and the next one works', async () => {
  const x = device.tensor([1]);
  await assert.rejects(device.capture(() => { throw new Error('changed my mind'); }), /changed my mind/);
  await assert.rejects(device.capture(async () => x), /without waiting/);
  await rejects(device.capture(() => x.matmul(device.ones('f32', [2, 2]))), 'ERR_SHAPE', '');
  const step = await device.capture(() => x.neg());
  step.release();
  await rejects(step.run(), 'ERR_RELEASED', 'released');
});

test('devices and errors name statuses alike', async () => {
  const found = await tessera.devices();
  assert.equal(found.find(entry => entry.backend === 'vulkan').status, 'ERR_UNAVAILABLE');
});

test('a kernel that never ends is a time-out', async () => {
  const hurried = await tessera.open({timeoutMs: 200});
  const kernel = await tessera.kernel('kernel k(inout f32 y[]) { while (y[0] == 0.0) { y[1] += 1.0; } }');
  const y = hurried.zeros('f32', [2]);
  await rejects(kernel.launch([1], y).then(() => y.read()), 'ERR_TIMEOUT', '');
});
