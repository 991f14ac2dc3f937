// SPDX-License-Identifier: MIT
// The example page: chooses a device, and shows a matrix product, a softmax and a kernel on it.
import {load} from './tessera.js';

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
let tessera, device, view = {...WHOLE}, logits;

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
  try {
    device?.release();
    device = await tessera.open({backend: entry.backend, index: entry.index});
    logits = device.randn('f32', [10], 7);
    element('trouble').hidden = true;
  } catch (error) {
    device = null;
    element('trouble').textContent = `${error.status ?? 'Error'}: ${error.message}`;
    element('trouble').hidden = false;
    return;
  }
  await multiply();
  await showSoftmax();
  await draw();
  document.body.dataset.ready = entry.backend;
}

// Shows the result of `work`, or what went wrong, below a form.
async function show(id, work) {
  const out = element(id);
  out.classList.remove('bad');
  if (!device) return;
  try {
    out.textContent = await work();
  } catch (error) {
    out.classList.add('bad');
    out.textContent = error.message;
  }
}

// --- Matrix product --------------------------------------------------------------------------------------------------

function multiply() {
  return show('matmul-result', async () => {
    const n = Number(element('matmul').elements.size.value);
    const a = device.randn('f32', [n, n], 1), b = device.randn('f32', [n, n], 2);
    await a.matmul(b).read();  // builds the kernels
    const start = performance.now();
    const product = await a.matmul(b).read();
    const ms = performance.now() - start;
    return `${n} × ${n}: ${ms.toFixed(1)} ms with reading it back, ${(2 * n ** 3 / ms / 1e6).toFixed(2)} GFLOP/s; ` +
      `the first element is ${product[0].toFixed(4)}`;
  });
}

// --- Softmax ---------------------------------------------------------------------------------------------------------

function showSoftmax() {
  return show('softmax-result', async () => {
    const temperature = Number(element('softmax').elements.temperature.value);
    const shares = await logits.div(temperature).softmax().read();
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
  return show('kernel-result', async () => {
    const canvas = element('image'), {width, height} = canvas;
    const kernel = await tessera.kernel(element('kernel').elements.source.value);
    const pixels = device.zeros('u32', [height, width]);
    await pixels.read();
    const start = performance.now();
    await kernel.launch([width, height], pixels, width, height, view.left, view.top, view.step);
    const words = await pixels.read();
    const ms = performance.now() - start;
    const image = new ImageData(new Uint8ClampedArray(words.buffer), width, height);
    canvas.getContext('2d').putImageData(image, 0, 0);
    kernel.release();
    pixels.release();
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
  tessera = await load();
  element('version').textContent = tessera.version;
  const found = await tessera.devices();
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
