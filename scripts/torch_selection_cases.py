"""Programs that select, order and count elements, run along an axis, or write to places that tensors give.

    add_to(case)     calls case("selection_OPERATOR", function, *inputs, dynamic=None) for each
"""
import torch
import torchvision  # its operators

from torch_inputs import real, whole

aten = torch.ops.aten
NAN, INF = float("nan"), float("inf")


def some_nan():
    """With NaN in some rows, in all places of one, and with infinities."""
    x = torch.randn(4, 5)
    x[1, 2] = x[1, 3] = NAN
    x[2] = NAN
    x[3, 1], x[3, 4] = INF, -INF
    return x


def repeats(one):
    x, n = real(2, 3), torch.tensor([2, 0, 3])
    one("repeat", lambda x, i: (x.repeat_interleave(2), x.repeat_interleave(3, dim=-1), i.repeat_interleave(2, 0), i[0, 0].repeat_interleave(3)), x, whole(2, 3))
    one("repeat_by", lambda x, n, one, y: (x.repeat_interleave(n, 1), x.repeat_interleave(one, 0), y.repeat_interleave(n), x.repeat_interleave(n, -1, output_size=5)),
        x, n, torch.tensor([2]), real(3))
    one("repeat_places", lambda n: (torch.repeat_interleave(n), torch.repeat_interleave(n, output_size=5)), n)
    one("repeat_open", lambda x: x.repeat_interleave(2, 0), real(3, 2), dynamic={0: {0: "rows"}})


def runs(one):
    x = some_nan()
    one("cumprod", lambda x, i, h: (x.cumprod(1), x.cumprod(-2), i.cumprod(0), i.int().cumprod(1, dtype=torch.float64), (i > 0).cumprod(0), h.cumprod(0), x[0, 0].cumprod(0), x[:0].cumprod(0)),
        real(3, 4), whole(3, 4), real(4).double())
    one("cummax", lambda x, i: (*x.cummax(1), *x.cummax(-2), *i.cummax(0), *i.to(torch.uint8).cummax(1), *x[0, 0].cummax(0)), x, whole(3, 4))
    one("cummin", lambda x, i: (*x.cummin(1), *x.double().cummin(-2), *i.cummin(0), *i.to(torch.int8).cummin(-1), *(i > 0).cummin(1)), x, whole(3, 4))
    one("logcumsumexp", lambda x: (x.logcumsumexp(1), x.double().logcumsumexp(-2), x[0, 0].logcumsumexp(0)), x)


def places(one):
    x, i = real(3, 4), torch.tensor([[0, 2], [3, 1], [1, 1]])
    one("take_along", lambda x, i, flat: (x.take_along_dim(i, 1), x.take_along_dim(flat), x.take_along_dim(i[:1, :1] * 0, -2), x.take_along_dim(i[:1], dim=1)), x, i, whole(5, low=0, high=12))
    one("take", lambda x, i, y: (x.take(i), y.take(i * 0), x.take(i[0, 0]), x.take(i - 12), x[0].gather(0, i[0, 1]), x.gather(1, i[:0])), x, i, real())
    one("put", lambda x, i, v: (x.put(i, v), x.put(i, v, accumulate=False), x.reshape(2, 6).put(i - 12, v)), x, torch.tensor([[0, 9], [3, 11]]), real(2, 2))
    one("put_accumulate", lambda x, i, v: x.put(i, v, accumulate=True), whole(3, 4), i, whole(3, 2))
    one("masked_scatter", lambda x, m, v, row: (x.masked_scatter(m, v), x.masked_scatter(row, v), x[0].masked_scatter(m, v), x[0, 0].masked_scatter(m[0, 0], v)),
        x, x > 0, real(3, 5), torch.tensor([True, False, True, True]))
    one("of_number", lambda x, i: (x.index_select(0, i), x.gather(0, i[0]), x.index_fill(0, i, 2.5), x.index_add(0, i, x * 3), x.index_copy(0, i, x + 1), x.argmax(0),
                                   x.argmin(-1, keepdim=True), x.max(0).indices, x.scatter(0, i[0], 7.0)), real(), torch.tensor([0]))
    one("masked_index", lambda x, m, i: (aten._unsafe_masked_index(x, m, [None, i], 1.5), aten._unsafe_masked_index(x, m, [i, i], -1)),
        x, torch.tensor([True, False, True]), torch.tensor([1, 9, -1]))
    one("masked_index_put", lambda x, m, i, v: aten._unsafe_masked_index_put_accumulate(x, m, [i], v), x, torch.tensor([[True], [False], [True]]), torch.tensor([2, 7, 2]), real(3, 4))


def scatters(one):
    x, i, v = real(3, 4), torch.tensor([[0, 0, 1], [1, 3, 3], [3, 3, 3]]), real(3, 3)
    for how in ("sum", "prod", "mean", "amax", "amin"):
        one(f"scatter_{how}", lambda x, i, v, n, m, h=how: (x.scatter_reduce(1, i, v, h), x.scatter_reduce(-1, i, v, h, include_self=False),
                                                            n.scatter_reduce(1, i, m, h), n.int().scatter_reduce(1, i, m.int(), h, include_self=False)),
            x, i, v, whole(3, 4), whole(3, 3))
    rows = torch.tensor([2, 0, 2])
    for how in ("prod", "mean", "amax", "amin"):
        one(f"index_{how}", lambda x, i, v, n, m, h=how: (x.index_reduce(1, i, v, h), x.index_reduce(-1, i, v, h, include_self=False), n.index_reduce(1, i, m, h, include_self=False)),
            x, rows, v, whole(3, 4), whole(3, 3))
    one("diagonal_scatter", lambda x, v, w: (x.diagonal_scatter(v), x.diagonal_scatter(w, 1, -1, 0), x.diagonal_scatter(w, -1, 1, 2)), real(3, 3, 4), real(4, 3), real(3, 2))
    one("as_strided_scatter", lambda x, v: (torch.as_strided_scatter(x, v, (2, 2), (5, 1), 1), torch.as_strided_scatter(x, v[0], (2,), (3,))), x, real(2, 2))


def orders(one):
    x, i = some_nan(), whole(3, 5)
    for name in ("median", "nanmedian"):
        f = getattr(torch, name)
        one(name, lambda x, i, y, f=f: (f(x), f(x, 1).values, *f(x[:2], 1), *f(y, -2, keepdim=True), f(i), f(i.int(), 1).values, *f(y[0, 0], 0), f(y[:, :4])), x, i, real(4, 5).double())
    one("kthvalue", lambda x, i, y: (x.kthvalue(2).values, *y.kthvalue(3, 0, keepdim=True), *y.kthvalue(5), *x[:2].kthvalue(4), i.kthvalue(1).values, *y[0, 0].kthvalue(1)), x, i, real(4, 5))
    one("mode", lambda x, i: (*x.mode(), *i.mode(), *i.int().mode(0, keepdim=True), *x[0, 0].mode()), real(2, 3), whole(4, 6, low=0, high=3))
    one("msort", lambda x, i: (x.msort(), i.msort(), i[0].to(torch.uint8).msort()), x, i)
    q = torch.tensor([0.0, 0.3, 1.0])
    for way in ("linear", "lower", "higher", "nearest", "midpoint"):
        one(f"quantile_{way}", lambda x, y, q, w=way: (x.quantile(q, 1, interpolation=w), y.quantile(0.4, 0, True, interpolation=w), x.nanquantile(q, 1, True, interpolation=w),
                                                       x[:2].nanquantile(0.7, interpolation=w)), x, real(4, 5).double(), q)
    one("quantile_axes", lambda x, q: (x.nanquantile(q), x.nanquantile(0.3, 1), x.nanquantile(0.3, 0, True, interpolation="lower"), x[:2, :2].quantile(0.25), x.quantile(1.0)), x, q)
    one("quantile_all", lambda x, q: (x.quantile(q), x.quantile(q, keepdim=True), x.quantile(q[1]), x.nanquantile(q[1], -1), x[0, 0].quantile(0.5, 0, keepdim=True)), real(4, 5), q)


def counts(one):
    x, i = real(3, 4), whole(3, 4, low=0, high=5)
    one("isin", lambda i, j: (torch.isin(i, j), torch.isin(i, j, invert=True), torch.isin(i.double(), j, assume_unique=True), torch.isin(i, 3), torch.isin(3, j), torch.isin(i, 2.5), torch.isin(i, j[:0], invert=True)),
        i, whole(2, 3, low=0, high=5))
    one("isin_not", lambda i: (torch.isin(i, 3, invert=True), torch.isin(3, i, invert=True)), i)
    one("searchsorted_number", lambda s, o: (torch.searchsorted(s, 2, sorter=o), torch.searchsorted(s, 2.0, sorter=o, right=True)), torch.tensor([3.0, 1.0, 2.0]), torch.tensor([1, 2, 0]))
    s = torch.tensor([-1.0, 0.0, 0.5, 0.5, 7.0])
    y = torch.tensor([[0.5, -2.0, NAN], [0.1, INF, -1.0]])
    one("bucketize", lambda y, s: (torch.bucketize(y, s), torch.bucketize(y, s, right=True, out_int32=True), torch.bucketize(0.5, s), torch.bucketize(y[0, 0], s)), y, s)
    rows, order = torch.tensor([[1, 3, 5, 7], [2, 4, 4, 9]]), torch.tensor([[3, 1, 0, 2], [0, 2, 3, 1]])
    one("searchsorted", lambda y, s, r, o: (torch.searchsorted(s, y), torch.searchsorted(s, y, right=True), torch.searchsorted(r, r - 1, side="right"), torch.searchsorted(r, r + 1, out_int32=True),
                                            torch.searchsorted(r.gather(1, o), r, sorter=o.argsort(1)), torch.searchsorted(r[0], 4, side="left")), y, s, rows, order)
    one("one_hot", lambda i: (torch.nn.functional.one_hot(i, 7), torch.nn.functional.one_hot(i[0, 0], 5), aten.one_hot(i[:0], 3)), i)
    one("bincount", lambda i, v, d: (i.bincount(), i.bincount(minlength=9), i.bincount(v), i.bincount(d, 3), i.bincount(i)), i.flatten(), real(12), real(12).double())
    one("histc", lambda x: (x.histc(5), x.histc(4, -1, 1), x.double().histc(3, 0.5, 2), x.histc(4, 2, 2)), x)


def uniques(one):
    i = torch.tensor([[1, 1, 3], [1, 1, 3], [0, 2, 2]])
    one("unique", lambda i, x: (*i.unique(return_inverse=True, return_counts=True), x.unique(), (x > 0).unique(), *aten._unique(i, True, True)), i, torch.tensor([0.5, -1.0, 0.5]))
    one("unique_dim", lambda i: (*i.unique(return_inverse=True, return_counts=True, dim=0), i.unique(dim=-1)), i)
    one("unique_consecutive", lambda i: (*i.unique_consecutive(return_inverse=True, return_counts=True), *i.unique_consecutive(return_inverse=True, return_counts=True, dim=0), i.unique_consecutive(dim=-1)), i)
    one("nonzero", lambda x: (torch.nonzero_static(x, size=4), torch.nonzero_static(x, size=9, fill_value=7), torch.nonzero_static(x[0, 1], size=2)), torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0]]))
    one("nonzero_by_axis", lambda x: x.nonzero(as_tuple=True), torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0]]))


def differences(one):
    y, x = real(3, 4), torch.tensor([0.0, 0.5, 2.0, 3.0])
    one("trapezoid", lambda y, x, i: (torch.trapezoid(y, x), torch.trapezoid(y), torch.trapezoid(y, dx=0.5, dim=0), torch.trapz(y, y * 2, dim=-2), torch.trapz(y, dx=2), torch.trapezoid(i, i)),
        y, x, whole(3, 4))
    one("cumulative_trapezoid", lambda y, x: (torch.cumulative_trapezoid(y, x), torch.cumulative_trapezoid(y), torch.cumulative_trapezoid(y, dx=0.5, dim=0)), y, x)
    one("gradient", lambda y, x: (*torch.gradient(y), *torch.gradient(y, spacing=2.0), *torch.gradient(y, dim=1, edge_order=2), *torch.gradient(y, spacing=0.5, dim=-1),
                                  *torch.gradient(y, spacing=[2.0, 0.5]), *torch.gradient(y, spacing=(x,), dim=1), *torch.gradient(y, spacing=(x,), dim=1, edge_order=2),
                                  *torch.gradient(y, spacing=(x[:3], x)), *torch.gradient(y, spacing=[3.0], dim=[0])), y, x)
    one("gradient_axes", lambda y, x: (*aten.gradient.array(y, dim=[1, 0]), *aten.gradient.scalararray(y, spacing=0.5, dim=[-1]),
                                       *aten.gradient.tensorarray(y, spacing=[x[:3], x], dim=[0, 1])), y, x)
    one("gradient_edges", lambda y, x: (*aten.gradient.array(y, dim=[1], edge_order=2), *aten.gradient.scalararray(y, spacing=0.5, dim=[-1], edge_order=2),
                                        *aten.gradient.scalarrayarray(y, spacing=[0.5], dim=[0], edge_order=2), *torch.gradient(y, spacing=[0.5], dim=1, edge_order=2),
                                        *torch.gradient(y, spacing=[1.0, 2.0], edge_order=2), *aten.gradient.tensorarray(y, spacing=[x], dim=[1], edge_order=2)), y, x)
    one("trapezoid_axes", lambda y, x: (torch.trapezoid(y, x, dim=0), torch.trapz(y, dx=2, dim=0), torch.cumulative_trapezoid(y, x, dim=0), torch.trapezoid(y, y * y, dim=0)), y, x[1:])
    a, b = torch.tensor([1.0, NAN, NAN, 2.0]), torch.tensor([NAN, 1.0, NAN, 3.0])
    one("fmax", lambda a, b, i: (a.fmax(b), a.fmin(b), i.fmax(b[0]), i.fmin(i[0]), a.double().fmax(b), (i > 0).fmax(i < 2), (i > 0).fmin(i)), a, b, whole(4))
    one("sums_of_numbers", lambda x, i: (x.nansum(), i.nansum(1), x.nanmean(1), x.argmax(keepdim=True), x.aminmax(dim=1, keepdim=True).max, i.count_nonzero(0)), some_nan(), whole(3, 4))


def boxes(one):
    corners = torch.rand(6, 2) * 5
    places = torch.cat([corners, corners + 1 + torch.rand(6, 2) * 5], 1)
    vision = torch.ops.torchvision
    one("nms", lambda boxes, scores: vision.nms(boxes, scores, 0.3), places, torch.tensor([0.9, 0.1, 0.8, 0.3, 0.7, 0.6]))
    rois = torch.cat([torch.tensor([[0.0], [1], [1], [0], [0], [1]]), places], 1)
    one("roi_align", lambda x, rois: (vision.roi_align(x, rois, 0.5, 2, 3, -1, False), vision.roi_align(x, rois, 1.0, 3, 2, 2, True)), real(2, 3, 8, 9), rois)


def add_to(case):
    def one(name, *rest, **named):
        case(f"selection_{name}", *rest, **named)
    for family in (repeats, runs, places, scatters, orders, counts, uniques, differences, boxes):
        family(one)
