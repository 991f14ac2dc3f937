// SPDX-License-Identifier: MIT
// Gradients, parameters and optimisers, as docs/training.md explains them for C.
//
//   const params = await device.params({w: {shape: [1, 2], init: 'xavier_normal'}, b: {shape: [1]}});
//   const optimiser = await params.optimiser({kind: 'adamw', rate: 0.01});
//   const step = await device.capture(() => {
//     const loss = params.grad(() => x.linear(params.tensor('w'), params.tensor('b')).mse_loss(y));
//     optimiser.step();
//     return loss;
//   });
//   await x.write(next); await step.run();
import {dtypeNumber} from './elements.js';
import {Held, pointerOf} from './held.js';

const FIELD = '\x1f', RECORD = '\x1e';

// Options of an optimiser and of its parts. glue_training.c has the same.
const OPTIONS = {
  kind: 'string', rate: 'number', momentum: 'number', nesterov: 'boolean', beta1: 'number', beta2: 'number', eps: 'number',
  weightDecay: 'number', decaysVectors: 'boolean', clipValue: 'number', clipNorm: 'number',
};
const PARTS = {
  schedule: {kind: 'string', warmup: 'number', period: 'number', gamma: 'number', least: 'number'},
  lossScale: {first: 'number', growth: 'number', backoff: 'number', interval: 'number'},
};

function checkOptions(caller, known, options) {
  for (const [name, value] of Object.entries(options)) {
    if (!(name in known)) throw new TypeError(`${caller}: there is no option ${name}; there are ${Object.keys(known).join(', ')}`);
    if (typeof value !== known[name]) throw new TypeError(`${caller}: ${name} must be a ${known[name]}, not ${value}`);
  }
}

// {rate: 1, schedule: {kind: 'step'}} as ['rate=1', 'schedule.kind=step'].
function listOptions({schedule = {}, lossScale = {}, ...options}) {
  checkOptions('optimiser', {...OPTIONS, groups: '', schedule: '', lossScale: ''}, options);
  const list = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  for (const [part, values] of Object.entries({schedule, lossScale})) {
    checkOptions(`optimiser: ${part}`, PARTS[part], values);
    list.push(...Object.entries(values).map(([name, value]) => `${part}.${name}=${value}`));
  }
  return list;
}

/** A list of records, as glue_training.c reads them. */
const records = list => list.map(fields => fields.map(field => `${field}${FIELD}`).join('') + RECORD).join('');

/** Calls `work` with the addresses of texts, which are freed after it. */
async function withTexts(module, texts, work) {
  const places = texts.map(text => module.allocateText(text));
  try {
    return await work(...places);
  } finally {
    places.forEach(at => module.free(at));
  }
}

/** Makes a set of parameters on a device: {name: {shape, init, value, inputsFirst}}. */
export function makeParams(device, tensors, {dtype = 'f32', seed = 1} = {}) {
  const {tessera} = device, names = Object.keys(tensors);
  const number = dtypeNumber(dtype);
  const list = names.map(name => {
    const {shape, init = 'zeros', value = 0, inputsFirst = false} = tensors[name];
    if (!Array.isArray(shape)) throw new TypeError(`params: ${name} must have a shape, a list of sizes, not ${shape}`);
    return [name, init, value, inputsFirst ? 1 : 0, ...shape];
  });
  return tessera.enqueue(module => withTexts(module, [records(list)], async text => {
    const pointer = await module.call('tsrw_params_create', pointerOf(device), number, text, seed);
    if (pointer === 0) tessera.throwLast(module);
    return tessera.track(new Params(tessera, {pointer, release: 'tsr_params_release'}, names));
  }));
}

/**
 * Calls `record`, which calls operators without waiting and returns a tensor to differentiate, alone or first in a list. `begin` and `end` are put into
 * the line before and after it. Gives what `record` returned, and what `end` gave for the first tensor.
 */
export function differentiate(tessera, record, begin, end) {
  const state = {mistake: null, isOpen: false};
  tessera.enqueue(async module => {
    tessera.throwUnlessOk(module, await module.call('tsr_grad_begin'));
    state.isOpen = true;
    await begin(module);
  }).catch(error => { state.mistake = error; });
  let ended;
  const returned = tessera.recording(record, tensors => {
    if (tensors.length > 0) ended = end(tensors[0], state);
    tessera.enqueue(async module => {
      if (state.isOpen) await module.call('tsr_grad_end');
    }).catch(() => {});
  });
  return {returned, ended};
}

/** A named set of tensors that a network learns. */
export class Params extends Held {
  constructor(tessera, cell, names) {
    super(tessera, cell);
    this.names = names;
  }

  /** The tensor of this name, a view of the set's memory. */
  tensor(name) {
    return this.tessera.result(module =>
      withTexts(module, [name], text => module.call('tsr_params_find', pointerOf(this), text)));
  }

  /** Its gradient, as the last grad() has left it. */
  gradient(name) {
    return this.tessera.result(module => module.call('tsr_params_gradient', pointerOf(this), this.names.indexOf(name)));
  }

  /**
   * Computes the gradients of the tensor that `record` returns, by all parameters, and keeps them for an optimiser. `record` calls operators without
   * waiting; it may return more tensors behind the first. All other tensors that it makes are released. options: `optimiser`, whose loss scale is
   * used; `add`, to add to the gradients that are there. Returns what `record` returned.
   */
  grad(record, {optimiser = null, add = false} = {}) {
    const {tessera, cell} = this;
    const watch = async module => tessera.throwUnlessOk(module, await module.call('tsr_params_watch', pointerOf(this)));
    const end = (loss, state) => tessera.enqueue(async module => {
      if (state.mistake) throw state.mistake;
      const scaled = optimiser ? pointerOf(optimiser) : 0;
      tessera.throwUnlessOk(module, await module.call('tsrw_params_grad', pointerOf(this), pointerOf(loss), scaled, add ? 1 : 0));
      cell.mistake = null;
    }).catch(error => { cell.mistake = error; });  // the optimiser's step rejects with it
    return differentiate(tessera, record, watch, end).returned;
  }

  /** An optimiser of this set: {kind: 'adamw', rate, …}. */
  async optimiser({groups = [], ...options} = {}) {
    const {tessera} = this, list = listOptions(options);
    const patterns = groups.map(({pattern, weightDecay = 0, rateFactor = 1}) => [pattern, weightDecay, rateFactor]);
    return tessera.enqueue(module => withTexts(module, [list.map(option => option + FIELD).join(''), records(patterns)], async (text, grouped) => {
      const pointer = await module.call('tsrw_optim_create', pointerOf(this), text, grouped);
      if (pointer === 0) tessera.throwLast(module);
      return tessera.track(new Optimiser(tessera, {pointer, release: 'tsr_optim_release'}, this));
    }));
  }

  clone() {
    return this.#copy('tsr_params_clone');
  }

  to(device) {
    return this.#copy('tsr_params_to', () => pointerOf(device));
  }

  cast(dtype) {
    return this.#copy('tsr_params_cast', () => dtypeNumber(dtype));
  }

  // A function that gives a set through its last parameter.
  #copy(name, argument = null) {
    const {tessera, names} = this;
    return tessera.enqueue(async module => {
      const out = tessera.scratch;
      const args = argument ? [argument()] : [];
      tessera.throwUnlessOk(module, await module.call(name, pointerOf(this), ...args, out));
      const pointer = module.view.getUint32(out, true);
      return tessera.track(new Params(tessera, {pointer, release: 'tsr_params_release'}, names));
    });
  }

  /** Gives every tensor the elements of the one of the same name in another set. */
  copy(source) {
    return this.tessera.enqueue(async module =>
      this.tessera.throwUnlessOk(module, await module.call('tsr_params_copy', pointerOf(this), pointerOf(source))));
  }
}

/** Changes the tensors of a set by their gradients, in place. */
export class Optimiser extends Held {
  constructor(tessera, cell, params) {
    super(tessera, cell);
    this.params = params;
  }

  #call(name, ...args) {
    const {tessera} = this;
    return tessera.enqueue(async module => tessera.throwUnlessOk(module, await module.call(name, pointerOf(this), ...args)));
  }

  /** One update of all tensors. Rejects if the gradients could not be computed. */
  step() {
    const {tessera, params} = this;
    const done = tessera.enqueue(async module => {
      if (params.cell.mistake) throw params.cell.mistake;
      tessera.throwUnlessOk(module, await module.call('tsr_optim_step', pointerOf(this)));
    });
    tessera.noteMistake(done);
    return done;
  }

  setRate(rate) {
    return this.#call('tsr_optim_set_rate', rate);
  }

  setStep(step) {
    return this.#call('tsr_optim_set_step', BigInt(step));
  }

  setScale(scale) {
    return this.#call('tsr_optim_set_scale', scale);
  }

  /** Steps done. */
  getStep() {
    const {tessera} = this;
    return tessera.enqueue(async module => {
      tessera.throwUnlessOk(module, await module.call('tsr_optim_get_step', pointerOf(this), tessera.scratch));
      return Number(module.view.getBigInt64(tessera.scratch, true));
    });
  }

  /** The loss scale, a tensor of one element. */
  scale() {
    return this.tessera.result(module => module.call('tsr_optim_scale', pointerOf(this)));
  }

  /** What it keeps for each parameter, 'm', 'v' or 'master', as a set of its own; null if it keeps no such thing. */
  state(name) {
    const {tessera, params} = this;
    return tessera.enqueue(module => withTexts(module, [name], async text => {
      const pointer = await module.call('tsr_params_retain', await module.call('tsr_optim_state', pointerOf(this), text));
      return pointer === 0 ? null : tessera.track(new Params(tessera, {pointer, release: 'tsr_params_release'}, params.names));
    }));
  }
}
