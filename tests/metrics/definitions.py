"""The definitions of onnxkit/metrics.h and of Scatter in onnxkit/diff.h, as directly as numpy can say them; in long double."""
import collections
import math

import ml_dtypes
import numpy as np

Scaled = collections.namedtuple("Scaled", "value scale")

WIDE = np.longdouble


def wide(array):
    """Exact for every type: long double has 64 bits of mantissa."""
    array = np.asarray(array).ravel()
    return array.astype(WIDE) if array.dtype.kind in "iufb" else array.astype(np.float64).astype(WIDE)


def is_float(dtype):
    return dtype.kind == "f" or "float" in dtype.name


def mantissa_bits(dtype):
    return ml_dtypes.finfo(dtype).nmant


def coarser(a, b):
    if not is_float(a) or not is_float(b) or (a != b and "e8m0" in a.name + b.name):
        return None
    return min((a, b), key=lambda dtype: (mantissa_bits(dtype), dtype.itemsize))


def positions(values, dtype):
    """Where numbers stand in the list of all numbers of their type; Python integers."""
    if dtype.itemsize <= 2:
        codes = np.arange(2 ** (8 * dtype.itemsize), dtype=np.uint8 if dtype.itemsize == 1 else np.uint16)
        if dtype.itemsize == 1:  # narrower types lie in the low bits
            used = {"float4_e2m1fn": 16, "float6_e2m3fn": 64, "float6_e3m2fn": 64}.get(dtype.name, 256)
            codes = codes[:used]
        numbers = codes.view(dtype).astype(np.float64)
        numbers = np.unique(numbers[~np.isnan(numbers)])
        return np.searchsorted(numbers, values.astype(np.float64)).astype(object)
    kind = np.int32 if dtype.itemsize == 4 else np.int64
    codes = values.view(kind).astype(object)
    least = int(np.iinfo(kind).min)
    return np.array([code if code >= 0 else least - code for code in codes], dtype=object)


def ulps(a, b, finite):
    dtype = coarser(a.dtype, b.dtype)
    if dtype is None or not finite.any():
        return 0.0, 0.0
    distances = np.abs(positions(a.ravel()[finite].astype(dtype), dtype) - positions(b.ravel()[finite].astype(dtype), dtype))
    return float(max(distances)), float(sum(distances) / len(distances))


def worst(x, y, mismatch, equal, limit=10):
    distance = np.where(mismatch, np.inf, np.abs(y - x))
    order = [i for i in np.lexsort((np.arange(x.size), -distance, ~mismatch)) if not equal[i]]
    return [[int(i), float(x[i]), float(y[i])] for i in order[:limit]]


def line(x, y, d):
    """alpha, beta, r2, residual with the size of their terms."""
    if x.size == 0:
        return {"alpha": 1.0, "beta": 0.0, "r2": 1.0, "residual": 0.0}
    around_x, around_d, around_y = x - x.mean(), d - d.mean(), y - y.mean()
    a_same, b_same = (x == x[0]).all(), (y == y[0]).all()
    slope = WIDE(0) if a_same else WIDE(-1) if b_same else (around_x * around_d).sum() / (around_x**2).sum()
    beta = y[0] - x[0] * (1 + slope) if b_same else d.mean() - slope * x.mean()
    residual = WIDE(0) if b_same else np.sqrt(((around_d - slope * around_x)**2).mean())
    r2 = (1.0 if a_same else 0.0) if b_same else 1 - (residual / np.sqrt((around_y**2).mean()))**2
    largest = np.abs(d).max()
    return {"alpha": Scaled(float(1 + slope), 1.0), "beta": Scaled(float(beta), float(np.abs(y).max() + abs(1 + slope) * np.abs(x).max())),
            "r2": Scaled(float(r2), 1.0), "residual": Scaled(float(residual), float(largest))}


def metrics(a, b):
    x, y = wide(a), wide(b)
    finite = np.isfinite(x) & np.isfinite(y)
    nan_mismatch = np.isnan(x) != np.isnan(y)
    inf_mismatch = (np.isinf(x) != np.isinf(y)) | (np.isinf(x) & np.isinf(y) & (x != y))
    equal = (x == y) | (np.isnan(x) & np.isnan(y))
    all_x, all_y = x, y
    x, y = x[finite], y[finite]
    d = y - x
    distance = np.abs(d)
    relative = distance[x != 0] / np.abs(x[x != 0])
    result = {"elements": a.size, "compared": x.size, "equal": int(equal.sum()), "nan_mismatches": int(nan_mismatch.sum()),
              "inf_mismatches": int(inf_mismatch.sum()), "sign_flips": int((((x > 0) & (y < 0)) | ((x < 0) & (y > 0))).sum())}
    some = x.size > 0
    result["max_absolute"] = float(distance.max()) if some else 0.0
    result["mean_absolute"] = float(distance.mean()) if some else 0.0
    result["rmse"] = float(np.sqrt((distance**2).mean())) if some else 0.0
    result["max_relative"] = float(relative.max()) if relative.size else 0.0
    result["mean_relative"] = float(relative.mean()) if relative.size else 0.0
    span = (x.max() - x.min() or np.abs(x).max()) if some else 1
    result["range_relative"] = float(distance.max() / span) if some and distance.max() > 0 else 0.0
    norms = np.sqrt((x**2).sum()), np.sqrt((y**2).sum())
    cosine = (x * y).sum() / norms[0] / norms[1] if all(norms) else WIDE(norms[0] == norms[1])
    result["cosine"] = Scaled(float(cosine), 1.0)
    result["max_ulps"], result["mean_ulps"] = ulps(a, b, finite)
    result.update(line(x, y, d))
    result["worst"] = worst(all_x, all_y, nan_mismatch | inf_mismatch, equal)
    return result


def scatter(a, b):
    x, y = wide(a).astype(np.float64), wide(b).astype(np.float64)
    count = min(x.size, 2000)
    taken = np.array([i * x.size // count for i in range(count)], np.int64)
    taken = taken[np.isfinite(x[taken]) & np.isfinite(y[taken])]
    finite = np.isfinite(x) & np.isfinite(y)
    distance = np.minimum(np.abs(y[finite] - x[finite]), np.finfo(np.float64).max)
    result = {"a": x[taken].tolist(), "b": y[taken].tolist(), "zeros": int((distance == 0).sum()), "lowest_exponent": 0, "histogram": []}
    distance = distance[distance > 0]
    if distance.size == 0:
        return result
    edges = (WIDE(10) ** (np.arange(-4 * 324, 4 * 309 + 1).astype(WIDE) / 4)).astype(np.float64)
    bins = np.searchsorted(edges, distance, side="right") - 1
    lowest = int(bins.min()) // 4 * 4
    result["lowest_exponent"] = lowest // 4 - 324
    result["histogram"] = np.bincount(bins - lowest).tolist()
    return result


def first_best(scores, axis):
    """argmax: numpy, too, ranks NaN highest and takes the first of several."""
    return np.argmax(np.asarray(scores, np.float64), axis=axis)


def top_set(row, count=5):
    order = sorted(range(row.size), key=lambda i: (0 if math.isnan(row[i]) else 1, -row[i] if not math.isnan(row[i]) else 0, i))
    return frozenset(order[:count])


def log_softmax(row):
    shifted = row - row.max()
    return shifted - np.log(np.exp(shifted).sum())


def divergence(x, y):
    """sum p (log p - log q), nothing where p is 0."""
    if all((row >= 0).all() and abs(row.sum() - 1) <= 0.01 for row in (x, y)):
        log_p, log_q = np.log(x / x.sum()), np.log(y / y.sum())
    else:
        log_p, log_q = log_softmax(x), log_softmax(y)
    p = np.exp(log_p)
    return np.where(p > 0, p * (log_p - log_q), 0).sum()


def has_softmax(row):
    return not np.isnan(row).any() and not (row == np.inf).any() and np.isfinite(row).any()


def logits(a, b):
    classes = a.shape[-1]
    x, y = a.reshape(-1, classes).astype(WIDE), b.reshape(-1, classes).astype(WIDE)
    best = list(zip(first_best(x, 1).tolist(), first_best(y, 1).tolist())) if len(x) else []
    share = lambda hits: sum(hits) / len(x) if len(x) else 1.0
    same = [i == j for i, j in best]
    figures = {"argmax agreement": share(same)}
    if classes > 5:
        figures["top-5 agreement"] = share([top_set(p) == top_set(q) for p, q in zip(x, y)])
    found = [divergence(p, q) for p, q in zip(x, y) if has_softmax(p) and has_softmax(q)]
    if found:
        figures["mean KL divergence"] = Divergence(float(np.mean(found)))
        figures["largest KL divergence"] = Divergence(float(max(found)))
    counts = collections.Counter(best)
    confusion = sorted(([i, j, n] for (i, j), n in counts.items()), key=lambda t: (-t[2], t[0], t[1]))
    return {"same": all(same), "figures": figures, "class_iou": [], "confusion": confusion[:1000]}


class Divergence(float):
    """The terms of a divergence are of the size of its square root, and long double holds them to 1e-19."""

    def __sub__(self, other):
        apart = float(self) - other
        return 0.0 if abs(apart) <= 1e-17 else apart


def segmentation(a, b):
    x, y = (v.astype(np.int64) if v.ndim == 3 else first_best(v, 1) if v.size else np.zeros(0, np.int64) for v in (a, b))
    classes = max(int(max(x.max(), y.max())) + 1 if x.size else 0, a.shape[1] if a.ndim == 4 else 0)
    iou = []
    for k in range(classes):
        either = ((x == k) | (y == k)).sum()
        iou.append(float(((x == k) & (y == k)).sum() / either) if either else -1.0)
    occurring = [value for value in iou if value >= 0] or [1.0]
    figures = {"pixel agreement": float((x == y).mean()) if x.size else 1.0, "mean IoU": sum(occurring) / len(occurring),
               "lowest IoU of a class": min(occurring)}
    return {"same": bool((x == y).all()), "figures": figures, "class_iou": iou, "confusion": []}


def tokens(a, b):
    length = a.shape[-1] if a.ndim else 1
    x, y = (v.reshape(-1, length) if a.size else np.zeros((0, 1)) for v in (a, b))
    same = x == y
    figures = {"token agreement": float(same.mean()) if same.size else 1.0,
               "sequence agreement": float(same.all(1).mean()) if same.size else 1.0}
    if not same.all():
        figures["first difference"] = int(np.flatnonzero((~same).any(0))[0])
    return {"same": bool(same.all()), "figures": figures, "class_iou": [], "confusion": []}


def overlap(p, q):
    if np.isnan(p).any() or np.isnan(q).any():
        return 0.0
    (px1, px2), (py1, py2) = sorted((p[0], p[2])), sorted((p[1], p[3]))
    (qx1, qx2), (qy1, qy2) = sorted((q[0], q[2])), sorted((q[1], q[3]))
    if (px1, py1, px2, py2) == (qx1, qy1, qx2, qy2):
        return 1.0
    both = max(0.0, min(px2, qx2) - max(px1, qx1)) * max(0.0, min(py2, qy2) - max(py1, qy1))
    return both / ((px2 - px1) * (py2 - py1) + (qx2 - qx1) * (qy2 - qy1) - both) if both > 0 else 0.0


def matches(a, b, a_scores, least):
    """(index in a, index in b, IoU) within one sample."""
    free, found = set(range(len(b))), []
    order = sorted(range(len(a)), key=(lambda i: -a_scores[i]) if a_scores is not None else (lambda i: 0))
    for i in order:
        best = max(((overlap(a[i], b[j]), -j) for j in free), default=(0.0, 0))
        if best[0] >= least:
            free.remove(-best[1])
            found.append((i, -best[1], best[0]))
    return found


def detections(a, b, a_scores, b_scores):
    samples = math.prod(a.shape[:-2])
    split = lambda v, last: None if v is None else np.asarray(v, np.float64).reshape(samples, -1, *last)
    x, y, s, t = split(a, (4,)), split(b, (4,)), split(a_scores, ()), split(b_scores, ())
    pairs = [(k, *pair) for k in range(samples) for pair in matches(x[k], y[k], None if s is None else s[k], 0.5)]
    closer = sum(len(matches(x[k], y[k], None if s is None else s[k], 0.75)) for k in range(samples))
    most = max(x.shape[0] * x.shape[1], y.shape[0] * y.shape[1])
    share = lambda part: part / most if most else 1.0
    figures = {"matched at IoU 0.5": share(len(pairs)), "matched at IoU 0.75": share(closer)}
    if pairs:
        figures["mean IoU of matches"] = float(np.mean([pair[3] for pair in pairs]))
        if s is not None:
            figures["largest score difference of matches"] = max(abs(float(t[k][j] - s[k][i])) for k, i, j, _ in pairs)
    figures.update({"boxes of a": float(x.shape[0] * x.shape[1]), "boxes of b": float(y.shape[0] * y.shape[1])})
    return {"same": len(pairs) == most, "figures": figures, "class_iou": [], "confusion": []}
