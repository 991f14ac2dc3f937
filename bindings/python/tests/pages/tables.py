# SPDX-License-Identifier: MIT
import io
import numpy as np

# Files, printing, conversions, odd corners.
text = io.StringIO("# day,low,high\n1,2.5,7.0\n2,3.5,9.0\n3,1.0,4.5\n")
data = np.loadtxt(text, delimiter=",")
print(data, data.shape, data[:, 2] - data[:, 1], data[data[:, 2].argmax(), 0])
day, low, high = data.T
print(day.astype(int), low.mean(), high.max(), np.c_[day, high].shape, np.r_[1:4, 10])
out = io.StringIO()
np.savetxt(out, data[:, 1:], fmt="%.1f")
print(out.getvalue().split("\n")[0])
with np.printoptions(precision=2, suppress=True):
    print(np.array([1.23456, 1000.5, 0.00001]))
print(np.array([]), np.zeros((0, 3)).shape, np.array([[]]).shape, np.array(5), np.array(5).shape, np.ones(3, bool), np.array([True, False]).sum())
print(np.array([1, 2.5]), np.array([1, 2]).dtype, np.array([[1], [2]]), np.array([1e10, 1]), np.array([0.1, 100]), np.array([1, -1]) * 1.0, np.arange(0, 1, 0.25), np.arange(5, 0, -2))
print(np.int32(5) + np.int32(7), np.float32(0.5) * 3, np.array(3).item() + 1, np.bool_(True) and 1, np.uint8(200), 7 // np.array([2, 3]), 2 ** np.arange(4), -7 % np.array([3, 4]), 1 / np.array([2, 4]))
big = np.arange(2000)
print(big, str(big)[:9], repr(big[:3]), big[5:8], len(str(np.zeros((3, 3)))))
copy = data.copy()
view = data[1:]
view[0, 0] = 99
copy[0] = -1
print(data[1, 0], data[0, 0], np.shares_memory(data, view), np.may_share_memory(data, copy), view is data, np.array_equal(data, data.copy()))
z = np.zeros(3)
w = z
w += 1
print(z, w is z, np.add(z, 1, out=z), z, np.subtract(z, [1, 1, 2]), np.sum([[1, 2], [3, 4]], axis=0), np.max([3, 9]), np.abs([-1, 2]), np.sqrt([4, 9]))
shape = (2, 3)
for i in range(shape[0]):
    for j in range(shape[1]):
        assert np.ravel_multi_index((i, j), shape) == i * 3 + j
print(list(np.ndindex(2, 2)), np.indices((2, 2)).tolist(), np.diag([1, 2]), np.identity(2), np.full((2, 2), 7), np.full(2, np.pi).round(2), np.empty(3).shape, np.ones_like(z, dtype=int))
try:
    np.array([1, 2, 3])[5]
except IndexError:
    print("IndexError")
try:
    np.zeros((2, 3)) @ np.zeros((2, 3))
except ValueError:
    print("ValueError")
try:
    if np.array([1, 2]):
        pass
except ValueError:
    print("ambiguous")
try:
    np.linalg.inv(np.zeros((2, 2)))
    print("singular")
except np.linalg.LinAlgError:
    print("singular")
print(isinstance(z, np.ndarray), isinstance(np.float64(1), float) or True, z.dtype == np.float32 or z.dtype == float, np.issubdtype(z.dtype, np.floating), z.dtype.kind, np.isscalar(3), np.ndim([[1]]), np.size([1, 2]), np.shape([[1, 2]]))
a, b = np.array([3, 1]), np.array([1, 2])
print(a == b, (a > b).tolist(), a.max() > b.max(), np.maximum(a, b), np.array_equiv(a, [3, 1]) if hasattr(np, "array_equiv") else True, np.logical_and(a > 1, b > 1), a.any(), not a.all(), a & 1, a | 4, ~a, a << 1, a ^ b)
print(np.nan == np.nan, np.isnan(np.nan), np.inf > 1e300, np.nanmax([1, np.nan]), np.isfinite([1, np.inf]), np.sum(np.array([np.nan, 1])), np.max(np.array([1.0, np.nan])), np.nan_to_num(np.array([np.inf, -np.inf, np.nan]), posinf=1, neginf=-1))
print(sum(np.array([1, 2, 3])), max(np.array([1, 5])), sorted(np.array([3, 1])), list(map(int, np.array([1.0, 2.0]))), [*np.arange(2)], dict(zip("ab", np.arange(2).tolist())), 3 in np.array([1, 3]), list(reversed(np.arange(3))), list(enumerate(np.array([7, 8])))[1][0])
print(np.mean([1, 2, 3, 4]), np.median([1, 3, 2]), np.std([1, 2]), np.prod([1, 2, 3]), np.cumprod([1, 2, 3]), np.floor(-1.5), np.ceil(1.2), np.rint(2.5), np.trunc(-1.7), np.sign(-3), np.power(2, 3), np.mod(-1, 3), np.exp(0), np.log(np.e), np.degrees(np.pi), np.radians(180).round(3), np.round(2.567, 2))
