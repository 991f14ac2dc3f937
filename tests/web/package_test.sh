#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The built folder is a package: npm packs and installs it, Node.js imports it by its name, TypeScript finds its types.
set -euo pipefail
skip() {
  echo "SKIPPED web.package: $1"
  exit 77
}
command -v node >/dev/null || skip "needs Node.js (Debian: nodejs)"
command -v npm >/dev/null || skip "needs npm (Debian: npm)"
command -v tsc >/dev/null || skip "needs TypeScript (Debian: node-typescript)"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export npm_config_cache=$folder/cache npm_config_offline=true npm_config_fund=false npm_config_audit=false
export npm_config_update_notifier=false

# The version is the library's.
for part in MAJOR MINOR PATCH; do
  sed -n "s/^#define TSR_VERSION_$part  *\([0-9]*\).*/\1/p" "$TSR_TEST_SOURCE_DIR/include/tessera/version.h"
done | paste -sd. >wanted
packed=$(npm pack --silent "$TSR_TEST_BUILD_DIR/web")
[ "$packed" = "tessera-$(cat wanted).tgz" ] || { echo "npm packed $packed, the library is version $(cat wanted)"; exit 1; }

# Every file that the package needs is in it: it works outside the tree.
echo '{"name": "outside", "private": true, "type": "module"}' >package.json
npm install --silent "./$packed"
cat >use.mjs <<'END'
import {load} from 'tessera';
import {runProgram} from 'tessera/program';
const device = await (await load()).open();
const sums = await device.tensor([[1, 2], [3, 4]]).sum(1).read();
if (String(sums) !== '3,7') throw new Error(`sums are ${sums}`);
if (await runProgram(['version']) !== 0) throw new Error('the program failed');
END
node use.mjs

cat >right.mts <<'END'
import {load, Tensor, TesseraError} from 'tessera';
const tessera = await load({log: 'warn'});
const device = await tessera.open({backend: 'cpu', timeoutMs: 1000});
const x: Tensor = device.tensor([[1, 2], [3, 4]], undefined, 'f64');
const y = x.matmul(x).add(1).sum(0, true).layer_norm(null, null);
const {values, indices} = y.topk(1);
const [left] = x.split([1, 1]);
const joined: Tensor = tessera.ops.concat([values, indices, left.pad([0, 0], [0, 0], 9)], 0);
const step = await device.capture(() => [y, joined]);
await x.write(Float64Array.of(1, 2, 3, 4));
await step.run();
const sizes: number[] | undefined = y.shape;
for (const entry of await tessera.devices()) console.log(entry.name ?? entry.status, sizes);
const params = await device.params({w: {shape: [2, 2], init: 'he_normal'}}, {dtype: 'f64', seed: 3});
const optimiser = await params.optimiser({kind: 'adamw', rate: 0.1, schedule: {kind: 'cosine', period: 9}});
const loss: Tensor = params.grad(() => tessera.autocast('bf16', () => x.matmul(params.tensor('w')).sum()), {optimiser});
await optimiser.step();
const times = await tessera.profile(() => y.read());
console.log(times.value.length, times.kernels[0]?.ms, times.untimed);
const {value, gradients: [dx]} = tessera.grad(() => x.square().sum(), [x]);
console.log(await loss.item(), await value.item(), dx.shape, await optimiser.state('m'));
try {
  await y.read();
} catch (error) {
  if (error instanceof TesseraError && error.status === 'ERR_SHAPE') console.log(error.message);
}
END
cat >wrong.mts <<'END'
import {load} from 'tessera';
const device = await (await load()).open();
device.tensor('12');
device.zeros('f33', [2]);
device.ones('f32', [2]).sum('rows');
device.ones('f32', [2]).nosuch();
device.params({w: {shape: [2], init: 'best'}});
(await device.params({})).optimiser({kind: 'best'});
END
options=(--noEmit --strict --target es2022 --module node16 --moduleResolution node16 --lib es2022,dom)
tsc "${options[@]}" right.mts
mistakes=$(tsc "${options[@]}" wrong.mts | grep -c '^wrong.mts' || true)
[ "$mistakes" = 6 ] || { echo "TypeScript found $mistakes of 6 mistakes"; exit 1; }
echo "packed, installed, imported, types checked"
