# SPDX-License-Identifier: MIT
"""An image of bytes: greys, borders of every kind, windows, gradients, equalised histograms, masks."""
import numpy as np
h, w = (24, 32)
yy, xx = np.mgrid[0:h, 0:w]
img = (127 + 100 * np.sin(xx / 5.0) * np.cos(yy / 4.0)).astype(np.uint8)
print(img.dtype, img.shape, img.min(), img.max(), img.nbytes, img.itemsize, img.strides)
rgb = np.dstack((img, np.roll(img, 3, axis=1), 255 - img))
print(rgb.shape, rgb.dtype)
grey = np.dot(rgb[..., :3], [0.299, 0.587, 0.114])
print(grey.shape, grey.round(2)[0, :4])
grey8 = np.clip(np.rint(grey), 0, 255).astype('uint8')
print(grey8[:2, :6])
padded = np.pad(img, ((1, 1), (2, 2)), mode='edge')
print(padded.shape, padded[0, :5])
for mode in ('reflect', 'symmetric', 'wrap', 'constant', 'linear_ramp', 'mean', 'maximum', 'minimum', 'median'):
    print(mode, np.pad(img[:3, :3], 2, mode=mode).tolist())
kernel = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
p = np.pad(img.astype(float), 1, mode='reflect')
out = np.zeros_like(img, dtype=float)
for dy in range(3):
    for dx in range(3):
        out += kernel[dy, dx] * p[dy:dy + h, dx:dx + w]
print(out[5, 5:10].round(3))
windows = np.lib.stride_tricks.sliding_window_view(p, (3, 3))
print(windows.shape, np.allclose(np.einsum('ijkl,kl->ij', windows, kernel), out))
print(np.allclose((windows * kernel).sum(axis=(-2, -1)), out))
med = np.median(windows.reshape(h, w, 9), axis=-1)
print(med[:2, :4])
from numpy.lib.stride_tricks import sliding_window_view
print(sliding_window_view(img, (4, 4))[::8, ::8].max(axis=(2, 3)))
gx = np.zeros((h, w))
gx[:, 1:-1] = (img[:, 2:].astype(np.int16) - img[:, :-2]) / 2
gy, gx2 = np.gradient(img.astype(np.float32))
mag = np.hypot(gx, gy)
ang = np.degrees(np.arctan2(gy, gx)) % 180
print(mag.max().round(2), ang[3, 3].round(2), np.allclose(gx[:, 1:-1], gx2[:, 1:-1]))
hist, edges = np.histogram(ang, bins=9, range=(0, 180), weights=mag)
print(hist.round(1), edges)
cdf = np.bincount(img.ravel(), minlength=256).cumsum()
lut = np.floor(255 * (cdf - cdf[cdf > 0].min()) / (img.size - cdf[cdf > 0].min())).clip(0, 255).astype(np.uint8)
eq = lut[img]
print(eq.mean().round(3), eq[0, :5])
small = img.reshape(h // 4, 4, w // 4, 4).mean(axis=(1, 3)).round().astype(np.uint8)
print(small)
big = small.repeat(2, axis=0).repeat(2, axis=1)
print(big.shape, big[:2, :4])
print(np.kron(small[:2, :2], np.ones((2, 2), dtype=np.uint8)))
print(np.rot90(small[:2, :3]), np.flipud(small)[0, :3], np.fliplr(small)[0, :3], small[::-1, ::-1][0, :3])
thr = img > img.mean()
print(thr.sum(), np.packbits(thr, axis=None)[:6], np.unpackbits(np.packbits(thr[0]))[:5])
ys, xs = np.nonzero(thr)
print((ys.min(), ys.max(), xs.min(), xs.max()), ys.mean().round(2))
ys, xs = np.where(img == img.max())
print(list(zip(ys, xs))[:3])
crop = img[ys.min():ys.max() + 1, max(xs.min() - 2, 0):xs.min() + 3]
print(crop.shape)
img2 = img.copy()
img2[thr] = 0
img2[~thr] += 10
print(img2.sum(), img2.dtype)
img2[5:10, 5:10] = 255
img2[::2] //= 2
print(img2[4:7, 4:8])
rgb[..., 0] = rgb[..., 2]
print((rgb[..., 0] == rgb[..., 2]).all())
rgba = np.concatenate([rgb, np.full((h, w, 1), 255, np.uint8)], axis=-1)
print(rgba.shape, rgba[0, 0])
print(np.transpose(rgb, (2, 0, 1)).shape, np.moveaxis(rgb, -1, 0).shape, rgb.swapaxes(0, 1).shape)
mask = (xx - 16) ** 2 + (yy - 12) ** 2 <= 8 ** 2
print(mask.sum(), np.where(mask[..., None], rgb, 0).sum())
alpha = 0.3
blend = (alpha * rgb + (1 - alpha) * rgb[::-1]).astype(np.uint8)
print(blend[0, 0])
ii = img.cumsum(0).cumsum(1)
print(ii[-1, -1], ii.dtype.kind)
psnr = 10 * np.log10(255.0 ** 2 / np.mean((img.astype(float) - eq) ** 2))
print(f'{psnr:.2f} dB')
print(img.astype(np.int32)[0, :3] - 200, img[0, :3] - np.uint8(200), img[0, :3] + img[0, :3])
print(np.abs(img.astype(int) - 128).max(), np.invert(img)[0, :3], img[0, :3] >> 1, img[0, :3] & 15, img[0, :4] ^ 255)
