// SPDX-License-Identifier: MIT
// The example page: chooses a device, and shows a matrix product, a softmax and a kernel on it. What it shows is computed in a
// worker (page_worker.js), so that the page never stands still.

const MANDELBROT = `// How many rounds of z = z^2 + c stay within the circle of radius 2.
u32 escape(f32 cx, f32 cy, u32 limit) {
    f32 x = 0, y = 0;
    for (u32 round = 0; round < limit; round++) {
        f32 xx = x * x, yy = y * y;
        if (xx + yy > 4) return round;
        y = 2 * x * y + cy;
        x = xx - yy + cx;
    }
    return limit;
}

kernel draw<WG = 16, WG_Y = 16>(out u32 pixels[], u32 width, u32 height,
                                f32 left, f32 top, f32 step) {
    u32 px = global.x, py = global.y;
    if (px < width && py < height) {
        u32 limit = 200;
        u32 rounds = escape(left + f32(px) * step, top + f32(py) * step, limit);
        f32 t = f32(rounds) / f32(limit);
        u32 r = u32(255 * min(1.0f, 3 * t)), g = u32(255 * sqrt(t)), b = u32(90 + 160 * t);
        u32 colour = r | (g << 8) | (b << 16);
        pixels[py * width + px] = rounds == limit ? 0xff000000 : 0xff000000 | colour;
    }
}
`;
const WHOLE = {left: -2.3, top: -1.2, step: 2.4 / 360};

const element = id => document.getElementById(id);
let worker, chosen = null, view = {...WHOLE};

// --- The worker ------------------------------------------------------------------------------------------------------

// The worker gives kernels up by itself after some seconds. One that does not answer for longer than this is ended.
const PATIENCE_MS = 30000;

class Work {
  #worker = new Worker(new URL('page_worker.js', import.meta.url), {type: 'module'});
  #waiting = new Map();
  #lastId = 0;

  constructor() {
    this.#worker.onmessage = ({data: {id, value, error}}) => {
      const call = this.#waiting.get(id);
      this.#waiting.delete(id);
      clearTimeout(call.timer);
      if (error) call.reject(Object.assign(new Error(error.message), {status: error.status}));
      else call.resolve(value);
    };
    this.#worker.onerror = event => this.end(`The worker failed: ${event.message}`);
  }

  call(name, ...args) {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      const timer = setTimeout(() => this.end(`No answer for ${PATIENCE_MS / 1000} seconds.`), PATIENCE_MS);
      this.#waiting.set(id, {resolve, reject, timer});
      this.#worker.postMessage({id, name, args});
    });
  }

  /** Ends the worker with all that waits for it; the page starts another when a device is chosen. */
  end(reason) {
    this.#worker.terminate();
    for (const {reject, timer} of this.#waiting.values()) {
      clearTimeout(timer);
      reject(new Error(reason));
    }
    this.#waiting.clear();
    this.hasEnded = true;
  }
}

// The worker; a new one if the last was ended, with the device that was chosen.
async function working() {
  if (worker && !worker.hasEnded) return worker;
  worker = new Work();
  await worker.call('start');
  if (chosen) await worker.call('use', chosen);
  return worker;
}

// --- The device ------------------------------------------------------------------------------------------------------

function deviceChoice(entry, isFirst) {
  const label = document.createElement('label'), input = document.createElement('input');
  Object.assign(input, {type: 'radio', name: 'device', checked: isFirst});
  input.addEventListener('change', () => use(entry));
  label.append(input, ` ${entry.backend}: ${entry.name}${entry.isSoftware ? ' (emulated on the CPU)' : ''}`);
  return label;
}

function reasons(absent) {
  const details = document.createElement('details'), summary = document.createElement('summary');
  summary.textContent = 'Backends without a device here';
  details.append(summary);
  for (const {backend, reason} of absent) {
    const line = document.createElement('div');
    line.textContent = `${backend}: ${reason}`;
    details.append(line);
  }
  return details;
}

async function use(entry) {
  delete document.body.dataset.ready;
  try {
    chosen = null;
    await (await working()).call('use', entry);
    chosen = {backend: entry.backend, index: entry.index};
    element('trouble').hidden = true;
    element('trouble').textContent = '';
  } catch (error) {
    element('trouble').textContent = `${error.status ?? 'Error'}: ${error.message}`;
    element('trouble').hidden = false;
    return;
  }
  await multiply();
  await showSoftmax();
  await draw();
  document.body.dataset.ready = entry.backend;
}

// What went wrong, and what a person can do about it where that is not in the message. Only a CPU's work can be ended.
function explain(error) {
  if (error.status !== 'ERR_TIMEOUT' || chosen.backend === 'cpu') return error.message;
  return `${error.message}\nIs there a loop that does not end? A page cannot end what runs on a GPU: choose the CPU, or close the page.`;
}

// Shows the result of `work`, or what went wrong, below a form.
async function show(id, work) {
  const out = element(id);
  out.classList.remove('bad');
  if (!chosen) return;
  try {
    out.textContent = await work(await working());
  } catch (error) {
    out.classList.add('bad');
    out.textContent = explain(error);
  }
}

// --- Matrix product --------------------------------------------------------------------------------------------------

function multiply() {
  return show('matmul-result', async work => {
    const n = Number(element('matmul').elements.size.value);
    const {ms, first} = await work.call('multiply', n);
    return `${n} × ${n}: ${ms.toFixed(1)} ms with reading it back, ${(2 * n ** 3 / ms / 1e6).toFixed(2)} GFLOP/s; ` +
      `the first element is ${first.toFixed(4)}`;
  });
}

// --- Softmax ---------------------------------------------------------------------------------------------------------

function showSoftmax() {
  return show('softmax-result', async work => {
    const temperature = Number(element('softmax').elements.temperature.value);
    const shares = await work.call('softmax', temperature);
    const canvas = element('bars'), pen = canvas.getContext('2d'), width = canvas.width / shares.length;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = getComputedStyle(canvas).getPropertyValue('color');
    shares.forEach((share, i) => {
      const height = share * canvas.height;
      pen.fillRect(i * width + 3, canvas.height - height, width - 6, height);
    });
    return `at temperature ${temperature}: the largest is ${Math.max(...shares).toFixed(3)}, ` +
      `the sum ${shares.reduce((sum, share) => sum + share, 0).toFixed(6)}`;
  });
}

// --- A kernel --------------------------------------------------------------------------------------------------------

function draw() {
  return show('kernel-result', async work => {
    const canvas = element('image'), {width, height} = canvas;
    element('kernel-result').textContent = 'Drawing…';
    const {words, ms} = await work.call('draw', {source: element('kernel').elements.source.value, width, height, view});
    const image = new ImageData(new Uint8ClampedArray(words.buffer), width, height);
    canvas.getContext('2d').putImageData(image, 0, 0);
    return `${width} × ${height} pixels in ${ms.toFixed(1)} ms`;
  });
}

function zoom({offsetX, offsetY}) {
  const canvas = element('image'), scale = canvas.width / canvas.clientWidth, step = view.step / 3;
  view = {
    left: view.left + offsetX * scale * view.step - canvas.width / 2 * step,
    top: view.top + offsetY * scale * view.step - canvas.height / 2 * step,
    step,
  };
  draw();
}

// --- Start -----------------------------------------------------------------------------------------------------------

async function start() {
  element('kernel').elements.source.value = MANDELBROT;
  worker = new Work();
  const {version, found} = await worker.call('start');
  element('version').textContent = version;
  const usable = found.filter(entry => entry.name);
  // The GPU first, an emulated one last, as tessera.open() would choose.
  usable.sort((a, b) => a.isSoftware - b.isSoftware);
  element('devices').replaceChildren(
    ...usable.map((entry, i) => deviceChoice(entry, i === 0)), reasons(found.filter(entry => !entry.name)));
  element('matmul').addEventListener('submit', event => (event.preventDefault(), multiply()));
  element('softmax').addEventListener('input', showSoftmax);
  element('kernel').addEventListener('submit', event => (event.preventDefault(), draw()));
  element('image').addEventListener('click', zoom);
  element('back').addEventListener('click', () => {
    view = {...WHOLE};
    draw();
  });
  await use(usable[0]);
}

start().catch(error => {
  element('trouble').textContent = String(error);
  element('trouble').hidden = false;
});
