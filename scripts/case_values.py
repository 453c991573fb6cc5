"""Values of the cases that scripts make for formats of TensorFlow."""
import numpy as np

F, I, L, B, D = np.float32, np.int32, np.int64, np.bool_, np.float64


def rng():
    return np.random.default_rng(7)


def values_of(spec, random):
    shape, dtype, *range_ = spec
    shape = [2 if size is None else size for size in shape]
    if dtype == B:
        return random.integers(0, 2, shape).astype(B)
    if range_:
        low, high = range_
        return np.asarray(random.integers(low, high, shape) if np.issubdtype(dtype, np.integer) else random.uniform(low, high, shape)).astype(dtype)
    return random.normal(0, 1, shape).astype(dtype)
