# SPDX-License-Identifier: MIT
"""Tensors without elements: sizes and strides, with the names of PyTorch's functions. bench/sweep_ops.py describes the layouts of inputs by them.

A run that compares with an earlier run does not load PyTorch, which takes seconds and opens a CUDA context even in a process that measures another interface.
"""
import math


def row_major(shape):
    return tuple(math.prod(shape[i + 1:]) for i in range(len(shape)))


class Layout:
    """A tensor's shape, strides in elements, and dtype by our name. Indices have a `limit`: they are below it."""

    def __init__(self, shape, dtype, strides=None, limit=None):
        self.shape, self.dtype, self.limit = tuple(shape), dtype, limit
        self.strides = row_major(self.shape) if strides is None else tuple(strides)

    def dim(self):
        return len(self.shape)

    def stride(self, axis=None):
        return self.strides if axis is None else self.strides[axis]

    def as_strided(self, shape, strides):
        return Layout(shape, self.dtype, strides, self.limit)

    def permute(self, *axes):
        axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.as_strided([self.shape[i] for i in axes], [self.strides[i] for i in axes])

    def t(self):
        return self.permute(1, 0)

    def squeeze(self):
        return self.permute([i for i, size in enumerate(self.shape) if size != 1])

    def __getitem__(self, ranges):
        """A slice of every axis from its begin to its end, with a step."""
        steps = [each.step or 1 for each in ranges]
        return self.as_strided([-(-size // step) for size, step in zip(self.shape, steps)], [have * step for have, step in zip(self.strides, steps)])

    def is_contiguous(self):
        core = self.squeeze()
        return core.strides == row_major(core.shape)

    def clone(self):
        return Layout(self.shape, self.dtype, None, self.limit)

    def reshape(self, *shape):
        """A view, as all reshapes of the sweep's inputs are: axes of size 1 come and go, and an axis is split into several."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if shape == (-1,):
            shape = (math.prod(self.shape),)
        core, strides = list(zip(self.shape, self.strides)), []
        for size in reversed(shape):
            while core and core[-1][0] == 1:
                core.pop()
            if size == 1:
                strides.append(1)
                continue
            have, step = core.pop()
            if have % size:
                raise ValueError(f"{self.shape} with strides {self.strides} has no view as {shape}")
            strides.append(step)
            core.append((have // size, step * size))
        return self.as_strided(shape, reversed(strides))


class Generator:
    """PyTorch's generator of random numbers, of which only the seed is set."""

    def manual_seed(self, seed):
        return self


def randint(low, high, size, generator=None):
    return Layout(size, "i64", None, high)
