// SPDX-License-Identifier: MIT
// Gradients, parameters and optimisers of web/tessera.js in Node.js, on the CPU as WebAssembly.
import assert from 'node:assert/strict';
import {before, test} from 'node:test';
import {pathToFileURL} from 'node:url';

const page = pathToFileURL(`${process.env.TSR_TEST_BUILD_DIR ?? 'build/wasm'}/web/`);
const {load, Params, Optimiser} = await import(new URL('tessera.js', page));

let tessera, device;
before(async () => {
  tessera = await load();
  device = await tessera.open();
});

const values = async tensor => Array.from(await tensor.read());
const rejects = (promise, status, text) =>
  assert.rejects(promise, error => error.status === status && error.message.includes(text));

test('gradients by several tensors, with and without a cotangent', async () => {
  const a = device.tensor([1, 2, 3]), b = device.tensor([4, 5, 6]);
  const {value, gradients: [da, db]} = tessera.grad(() => a.mul(a).mul(b).sum(), [a, b]);
  assert.equal(await value.item(), 4 + 20 + 54);
  assert.deepEqual(await values(da), [8, 20, 36]);
  assert.deepEqual(await values(db), [1, 4, 9]);
  const cotangent = device.tensor([1, 0, 10]);
  const {gradients: [weighted]} = tessera.grad(() => a.mul(b), [a], {cotangent});
  assert.deepEqual(await values(weighted), [4, 0, 60]);
});

test('what the function returns stays, what else it makes is released', async () => {
  const a = device.tensor([1, 2]);
  let inside;
  const {value: [total, squares]} = tessera.grad(() => {
    inside = a.add(1);
    const squares = inside.mul(inside);
    return [squares.sum(), squares];
  }, [a]);
  assert.equal(await total.item(), 13);
  assert.deepEqual(await values(squares), [4, 9]);
  await rejects(inside.read(), 'ERR_RELEASED', 'released');
});

test('wrong uses of gradients are errors, and leave no range open', async () => {
  const a = device.tensor([1, 2]), other = device.tensor([1]), whole = device.tensor(Int32Array.of(1, 2));
  await rejects(tessera.grad(() => a.sum(), [a, other]).gradients[1].read(), 'ERR_INVALID_ARGUMENT', 'was not computed from tensor 1');
  await rejects(tessera.grad(() => a.sum(), [whole]).gradients[0].read(), 'ERR_DTYPE', 'only floats have gradients');
  await rejects(tessera.grad(() => a.mul(2), [a]).gradients[0].read(), 'ERR_SHAPE', 'give a cotangent');
  assert.throws(() => tessera.grad(() => { throw new Error('mine'); }, [a]), /mine/);
  assert.throws(() => tessera.grad(() => 3, [a]), TypeError);
  assert.deepEqual(await values(tessera.grad(() => a.sum(), [a, other], {zerosIfUnused: true}).gradients[1]), [0]);
});

test('parameters have names, initialisers and dtypes; sets are cloned, cast and copied', async () => {
  const params = await device.params({
    w: {shape: [3, 2], init: 'constant', value: 0.5}, b: {shape: [3], init: 'he_normal'}, n: {shape: [4], init: 'ones'},
  }, {seed: 7});
  assert.ok(params instanceof Params);
  assert.deepEqual(params.names, ['w', 'b', 'n']);
  assert.deepEqual(await values(params.tensor('w')), Array(6).fill(0.5));
  assert.deepEqual((await params.tensor('b').describe()).shape, [3]);
  const clone = await params.clone(), narrow = await params.cast('bf16');
  await params.tensor('w').write([1, 2, 3, 4, 5, 6]);
  assert.deepEqual(await values(clone.tensor('w')), Array(6).fill(0.5));
  assert.deepEqual(await values(narrow.tensor('w').cast('f32')), Array(6).fill(0.5));
  await clone.copy(params);
  assert.deepEqual(await values(clone.tensor('w')), [1, 2, 3, 4, 5, 6]);
  await rejects(params.tensor('v').read(), 'ERR_NOT_FOUND', 'v');
  await rejects(device.params({w: {shape: [2], init: 'best'}}), 'ERR_INVALID_ARGUMENT', 'init');
  assert.throws(() => device.params({w: {}}), TypeError);
});

test('every optimiser learns, with its options, and a captured step goes on counting', async () => {
  const points = Float32Array.from({length: 128}, (unused, i) => Math.sin(i * 1.7));
  const x = device.tensor(points, [64, 2]), y = x.matmul(device.tensor([[2], [-3]])).add(0.5);
  for (const options of [{rate: 0.3}, {kind: 'sgd', rate: 0.1, momentum: 0.9, nesterov: true}, {kind: 'adam', rate: 0.1},
    {kind: 'adamw', rate: 0.1, weightDecay: -1, schedule: {kind: 'cosine', warmup: 5, period: 150}, clipNorm: 10},
    {kind: 'rmsprop', rate: 0.05}, {kind: 'lion', rate: 0.1, schedule: {kind: 'linear', period: 140},
      groups: [{pattern: 'b', rateFactor: 1}]}]) {
    const params = await device.params({w: {shape: [1, 2], init: 'xavier_normal'}, b: {shape: [1]}});
    const optimiser = await params.optimiser(options);
    assert.ok(optimiser instanceof Optimiser);
    let loss;
    const step = await device.capture(() => {
      loss = params.grad(() => x.linear(params.tensor('w'), params.tensor('b')).mse_loss(y));
      optimiser.step();
      return loss;
    });
    for (let i = 0; i < 149; i++) await step.run();
    assert.equal(await optimiser.getStep(), 150);
    const found = await loss.item();
    assert.ok(found < 0.02, `${JSON.stringify(options)} ends at ${found}`);
  }
});

test('one step of sgd is its formula, and gradients add up', async () => {
  const params = await device.params({w: {shape: [2], init: 'ones'}});
  const optimiser = await params.optimiser({rate: 0.5});
  const half = () => params.grad(() => params.tensor('w').mul(device.tensor([1, 3])).sum(), {add: true});
  half(), half();
  assert.deepEqual(await values(params.gradient('w')), [2, 6]);
  await optimiser.step();
  assert.deepEqual(await values(params.tensor('w')), [0, -2]);
  await optimiser.setRate(0);
  await optimiser.step();
  assert.deepEqual(await values(params.tensor('w')), [0, -2]);
});

test('the state of an optimiser is read and restored', async () => {
  const params = await device.params({w: {shape: [2], init: 'ones'}});
  const optimiser = await params.optimiser({kind: 'adam'});
  params.grad(() => params.tensor('w').square().sum());
  await optimiser.step();
  const m = await optimiser.state('m');
  assert.ok((await values(m.tensor('w'))).every(item => Math.abs(item - 0.2) < 1e-6));
  assert.equal(await optimiser.state('master'), null);
  await optimiser.setStep(41);
  assert.equal(await optimiser.getStep(), 41);
});

test('mixed precision: products are narrow, and a loss scale grows and backs off', async () => {
  const params = await device.params({w: {shape: [1, 4], init: 'ones'}});
  const optimiser = await params.optimiser({rate: 0.01, lossScale: {first: 2 ** 20, interval: 2}});
  const x = device.tensor(Float32Array.of(1, 2, 3, 4), [1, 4]);
  let wide;
  const learn = () => {
    params.grad(() => tessera.autocast('f16', () => {
      wide = x.linear(params.tensor('w'), null);
      return [wide.mse_loss(device.zeros('f32', [1, 1])), wide];
    }), {optimiser});
    return optimiser.step();
  };
  await learn();
  assert.equal(wide.dtype, 'f16');
  assert.equal(await optimiser.scale().item(), 2 ** 19);  // gradients of f16 were infinite
  assert.deepEqual(await values(params.tensor('w')), [1, 1, 1, 1]);
  await optimiser.setScale(4);
  await learn(), await learn();
  assert.equal(await optimiser.scale().item(), 8);
  assert.ok((await values(params.tensor('w')))[0] < 1);
  assert.equal((await x.matmul(x.transpose(0, 1)).describe()).dtype, 'f32');  // the range has ended
});

test('a step without gradients that could be computed rejects, also in a capture; wrong options are TypeErrors', async () => {
  const params = await device.params({w: {shape: [2], init: 'ones'}}), optimiser = await params.optimiser();
  params.grad(() => device.tensor([1, 2]).sum());
  await rejects(optimiser.step(), 'ERR_INVALID_ARGUMENT', 'was not computed from watched tensors');
  await rejects(device.capture(() => {
    const loss = params.grad(() => device.tensor([1, 2]).sum());
    optimiser.step();
    return loss;
  }), 'ERR_INVALID_ARGUMENT', 'was not computed from watched tensors');
  await assert.rejects(params.optimiser({speed: 3}), /there is no option speed/);
  await assert.rejects(params.optimiser({rate: '3'}), /rate must be a number/);
  await rejects(params.optimiser({kind: 'best'}), 'ERR_INVALID_ARGUMENT', 'kind');
  assert.throws(() => tessera.autocast('i32', () => null), TypeError);
  params.grad(() => params.tensor('w').sum());
  await optimiser.step();  // works again
  assert.deepEqual(await values(params.tensor('w')), [0.99, 0.99].map(Math.fround));
});
