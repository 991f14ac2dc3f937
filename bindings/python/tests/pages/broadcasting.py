# SPDX-License-Identifier: MIT
import numpy as np

# Broadcasting, einsum and shapes.
x = np.arange(4)
y = np.arange(3)
table = x[:, np.newaxis] * 10 + y[None, :]
print(table, table.shape, (x[:, None] == y).astype(int))
points = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
difference = points[:, None, :] - points[None, :, :]
distance = np.sqrt((difference ** 2).sum(axis=-1))
print(distance, distance[np.triu_indices(3, k=1)], np.unravel_index(distance.argmax(), distance.shape))
print(np.linalg.norm(points[:, None] - points, axis=2).round(1))
a = np.arange(6.0).reshape(2, 3)
b = np.arange(12.0).reshape(3, 4)
print(np.einsum("ij,jk->ik", a, b), np.einsum("ij->j", a), np.einsum("ij,ij->i", a, a), np.einsum("ii", np.eye(3)), np.einsum("i,j->ij", a[0], a[1]))
batch = np.arange(24).reshape(2, 3, 4)
print(np.einsum("bij,bkj->bik", batch, batch).shape, np.matmul(batch, batch.transpose(0, 2, 1))[1, 0], np.tensordot(batch, np.ones((3, 4)), axes=([1, 2], [0, 1])))
print(batch.sum((0, 2)), batch.max(axis=(1, 2)), batch.mean(axis=0, keepdims=True).shape, batch.swapaxes(0, 2).shape, np.moveaxis(batch, 0, -1).shape)
normed = (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-8)
print(normed.round(3), a / a.sum(axis=1, keepdims=True))
e = np.exp(a - a.max(axis=1, keepdims=True))
softmax = e / e.sum(axis=1, keepdims=True)
print(softmax.round(4), softmax.sum(1))
gx, gy = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 3))
radius = np.hypot(gx, gy)
print(radius.shape, radius.round(2)[0], (radius <= 1).sum(), np.mgrid[0:2, 0:3].shape, np.ogrid[0:3, 0:2][0].shape)
print(np.outer(x, y), np.kron([1, 2], [1, 1]), np.add.outer(x, y)[2], np.multiply.reduce(x[1:]), np.add.accumulate(x))
print(np.broadcast_to(y, (2, 3)), np.atleast_2d(y).shape, np.expand_dims(y, (0, 2)).shape, np.squeeze(np.zeros((1, 3, 1))).shape, y.reshape(-1, 1).shape)
stacked = np.stack([x, x ** 2, x ** 3], axis=1)
print(stacked, np.concatenate([stacked, stacked], axis=0).shape, np.hstack((x, y)), np.vstack((x, x[::-1])), np.dstack((x, x)).shape)
first, *rest = np.split(np.arange(9), 3)
print(first, rest, np.array_split(np.arange(7), 3), np.tile([1, 2], (2, 2)), np.repeat([1, 2, 3], [1, 0, 2]), np.roll(x, 1), np.rot90(a))
moving = np.lib.stride_tricks.sliding_window_view(np.arange(6), 3).mean(axis=1)
print(moving, np.apply_along_axis(lambda row: row.max() - row.min(), 1, a), np.vectorize(lambda v: v * 2)(x))
print(a.T.ravel(), a.flatten(order="F"), a.T.shape, a.size, a.ndim, a.nbytes // a.itemsize, a.dtype.kind)
try:
    np.ones(3) + np.ones(4)
except ValueError as error:
    print("ValueError")
