# What everyday code does with small matrices: in place, by masks and by lists of indices.
import numpy as np

m = np.zeros((3, 4), dtype=int)
m[[0, 2], [1, 3]] = [7, 8]
m[1] = range(4)
m[:, 0] = -1
m[np.ix_([0, 2], [0, 2])] = 9
print(m)
m[[0, 1]] = m[[1, 0]]
m[m == 9] -= 4
print(m, m[1:, [0, -1]], m[[True, False, True]], m.take([0, 5]))

x = np.ones((2, 3))
x += 1
x *= [1, 2, 3]
x[0] -= 1
x[:, 1] /= 2
row = x[1]
row[:] = 0
print(x, x.strides[0] > x.strides[1], x.T.flags.f_contiguous)

data = np.array([[1, 5, 2], [8, 3, 4]], dtype=float)
print((data.min(), data.max()), [r.sum() for r in data], dict(mean=data.mean()))
print("mean %.2f" % data.mean(), f"{data.sum():>8.2f}|{data[0, 0]!r}", data / data.sum(axis=1, keepdims=True))
print(np.percentile(data, 50, axis=0), np.average(data, axis=1, weights=[1, 2, 3]), np.polyadd([1], [1, 2]))

counts = np.array([0, 0, 0])
np.add.at(counts, [0, 0, 1], 5)
values, times = np.unique([3, 1, 2, 3, 1], return_counts=True)
print(counts, dict(zip(values.tolist(), times.tolist())), values[times.argmax()])

heat = np.zeros((6, 6))
heat[0] = 100
for _ in range(20):
    heat[1:-1, 1:-1] = 0.25 * (heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:])
print(heat.round(2))
for wrong in (lambda: np.zeros(3)[5], lambda: np.zeros(3)["a"], lambda: int(np.zeros(2)), lambda: np.zeros(2) + np.zeros(3)):
    try:
        wrong()
    except Exception as error:
        print(type(error).__name__)
