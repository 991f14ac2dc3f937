# SPDX-License-Identifier: MIT
import numpy as np

# Image filters and arrays of bytes.
height, width = 24, 32
yy, xx = np.mgrid[0:height, 0:width]
image = ((np.sin(xx / 4.0) + np.cos(yy / 3.0) + 2) * 60).astype(np.uint8)
print(image.shape, image.dtype, image.min(), image.max(), image.mean().round(1))
gray = image.astype(np.float32) / 255
padded = np.pad(gray, 1, mode="edge")
blur = sum(padded[i:i + height, j:j + width] for i in range(3) for j in range(3)) / 9
print(blur.shape, blur[0, :3].round(3), np.abs(blur - gray).max().round(3))
kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=np.float32)
gx, gy = np.zeros_like(gray), np.zeros_like(gray)
for i in range(3):
    for j in range(3):
        gx += kx[i, j] * padded[i:i + height, j:j + width]
        gy += kx.T[i, j] * padded[i:i + height, j:j + width]
edges = np.hypot(gx, gy)
print(edges.max().round(2), (edges > edges.mean()).sum() > 100, np.unravel_index(edges.argmax(), edges.shape)[0] >= 0)
inverted = 255 - image
print(inverted.dtype, inverted[0, 0] + 0, (image.astype(int) + inverted).max(), np.clip(image.astype(int) + 100, 0, 255).astype(np.uint8).max())
small = gray.reshape(height // 2, 2, width // 2, 2).mean(axis=(1, 3))
large = np.repeat(np.repeat(small, 2, axis=0), 2, axis=1)
print(small.shape, large.shape, np.abs(large - gray).mean().round(3), np.kron(small[:2, :2], np.ones((2, 2))).shape)
counts, edges_of = np.histogram(image, bins=8, range=(0, 256))
cdf = counts.cumsum() / counts.sum()
print(counts.sum(), cdf[-1], edges_of[:3], np.interp([64, 128], edges_of[:-1], cdf).round(2))
mask = np.zeros((height, width), dtype=bool)
mask[(yy - 12) ** 2 + (xx - 16) ** 2 < 36] = True
rgb = np.stack([gray, gray ** 2, np.zeros_like(gray)], axis=-1)
rgb[mask] = [1.0, 0.0, 0.0]
rgb[..., 2][~mask] = 0.5
print(mask.sum(), rgb.shape, rgb[12, 16], rgb[0, 0].round(2), rgb.reshape(-1, 3).mean(axis=0).round(2))
weights = np.array([0.299, 0.587, 0.114])
luma = rgb @ weights
print(luma.shape, luma[12, 16].round(3), np.dot(rgb[0, 0], weights).round(3), luma[::-1].shape, np.fliplr(luma)[0, 0] == luma[0, -1], luma.T.shape)
rows = np.flatnonzero(mask.any(axis=1))
top, bottom = rows[0], rows[-1]
crop = image[top:bottom + 1, 10:22].copy()
crop[:] = 0
print(top, bottom, crop.sum(), image[top, 10] != 0, image[top:bottom, 10:22].size)
shifted = np.roll(image, (2, -3), axis=(0, 1))
print(np.array_equal(np.roll(shifted, (-2, 3), axis=(0, 1)), image), (shifted == image).mean().round(2))
bits = np.unpackbits(image[:1, :2]) if hasattr(np, "unpackbits") and np.__name__ == "numpy" else None
labels = np.zeros((height, width), int)
labels[gray > np.median(gray)] = 1
print(np.bincount(labels.ravel()).sum(), labels[:, :4].sum(axis=0).shape, np.where(labels, 255, 0).astype(np.uint8).dtype)
median = np.median(np.stack([padded[i:i + height, j:j + width] for i in range(3) for j in range(3)]), axis=0)
print(median.shape, np.abs(median - gray).max() < 0.2, f"{median[5, 5]:.3f}")
