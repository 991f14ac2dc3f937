# SPDX-License-Identifier: MIT
"""An image filter: blur, edges, threshold, histogram equalisation, thumbnails."""
import numpy as np

h, w = 48, 64
yy, xx = np.mgrid[0:h, 0:w]
image = np.zeros((h, w, 3), dtype=np.uint8)
image[..., 0] = (xx * 4) % 256
image[..., 1] = (yy * 5) % 256
image[10:20, 10:40] = [255, 128, 0]
disc = (xx - 45) ** 2 + (yy - 30) ** 2 < 100
image[disc] = (0, 0, 255)

grey = image @ np.array([0.299, 0.587, 0.114])
print(grey.shape, round(float(grey.mean()), 2), image.dtype)


def convolve(a, kernel):
    ky, kx = kernel.shape
    padded = np.pad(a, ((ky // 2, ky // 2), (kx // 2, kx // 2)), mode="edge")
    out = np.zeros_like(a)
    for i in range(ky):
        for j in range(kx):
            out += kernel[i, j] * padded[i:i + a.shape[0], j:j + a.shape[1]]
    return out


g = np.exp(-np.linspace(-2, 2, 5) ** 2 / 2)
gauss = np.outer(g, g)
gauss /= gauss.sum()
smooth = convolve(grey, gauss)
sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=float)
gx, gy = convolve(smooth, sobel), convolve(smooth, sobel.T)
edges = np.hypot(gx, gy)
print("edges", (edges > 200).sum(), edges.max().round(1))
angle = np.rad2deg(np.arctan2(gy, gx))
print(angle.min().round(1), angle.max().round(1))

hist, _ = np.histogram(grey, bins=256, range=(0, 256))
cdf = hist.cumsum()
cdf = (cdf - cdf[cdf > 0].min()) / (cdf[-1] - cdf[cdf > 0].min())
equal = np.clip(cdf[grey.astype(np.uint8)] * 255, 0, 255).astype(np.uint8)
print(equal.shape, equal.dtype, int(equal.min()), int(equal.max()))
small = grey[:h - h % 4, :w - w % 4].reshape(h // 4, 4, w // 4, 4).mean(axis=(1, 3))
print(small.shape, small[0, :3].round(2))
flipped = image[:, ::-1]
rotated = np.rot90(image)
print(flipped.shape, rotated.shape, rotated[0, 0], np.array_equal(np.rot90(rotated, 3), image))
negative = 255 - image
print(negative.dtype, negative[0, 0], (image // 2 + 10)[0, 5])
rows, cols = np.nonzero(disc)
print("box", rows.min(), rows.max(), cols.min(), cols.max(), "centre", rows.mean().round(2), cols.mean().round(2))
gradient = np.gradient(smooth, axis=1)
print(gradient.shape, np.abs(gradient).max().round(2))
