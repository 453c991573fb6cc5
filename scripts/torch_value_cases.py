"""Programs for values of arguments that the reader of .pt2 tells apart and that no program of torch_cases.py and torch_overload_cases.py has.

    add_to(case)     calls case("values_OPERATOR", function, *inputs) for each
"""
import torch

from torch_inputs import positive, real, whole

aten = torch.ops.aten


def convolutions(one):
    for axes, sizes in ((1, (9,)), (2, (7, 8)), (3, (5, 6, 5))):
        x, w, b = real(2, 4, *sizes), real(6, 2, *[2] * axes), real(6)
        conv, turned = getattr(aten, f"conv{axes}d"), getattr(aten, f"conv_transpose{axes}d")
        turned = turned.default if axes == 1 else turned.input
        one(f"conv{axes}d", lambda x, w, b, f=conv.default, n=axes: (f(x, w, None, [1] * n, [0] * n, [2] * n, 2), f(x, w, b, [2] * n, [1] * n, [1] * n, 2)), x, w, b)
        one(f"conv{axes}d_padding", lambda x, w, b, f=conv.padding, n=axes: (
            f(x, w, None, [2] * n, "valid", [1] * n, 2), f(x, w, b, [1] * n, "same", [2] * n, 2)), x, w, b)
        one(f"conv_transpose{axes}d", lambda x, w, b, f=turned, n=axes: (
            f(x, w, None, [2] * n, [1] * n, [1] * n, 2, [1] * n), f(x, w, b, [1] * n, [0] * n, [0] * n, 2, [2] * n)), x, real(4, 3, *[2] * axes), b)
    for is_transposed in (False, True):
        one(f"convolution{'_transposed' if is_transposed else ''}", lambda x, w, b, t=is_transposed: aten.convolution.default(
            x, w, b, [2, 1], [1, 0], [1, 2], t, [0, 0], 2), real(2, 4, 7, 8), real(4, 2, 3, 2), real(4 if not is_transposed else 4))


def pools(one):
    for axes, sizes in ((1, (10,)), (2, (7, 8)), (3, (6, 7, 6))):
        x = real(1, 2, *sizes)
        pool, average = getattr(aten, f"max_pool{axes}d").default, getattr(aten, f"avg_pool{axes}d").default
        one(f"max_pool{axes}d", lambda x, f=pool, n=axes: (f(x, [2] * n, [2] * n, [0] * n, [2] * n), f(x, [3] * n, [2] * n, [1] * n, [1] * n, True)), x)
        one(f"avg_pool{axes}d", lambda x, f=average, n=axes: (f(x, [3] * n, [2] * n, [1] * n, True, False), f(x, [3] * n, [2] * n, [1] * n, True, True)), x)
        if axes > 1:
            both = getattr(aten, f"max_pool{axes}d_with_indices").default
            one(f"max_pool{axes}d_with_indices", lambda x, f=both, n=axes: (
                f(x, [2] * n, [1] * n, [0] * n, [2] * n), f(x, [3] * n, [2] * n, [1] * n, [1] * n, True)), x)


def normalizations(one):
    x, w, b = real(2, 4, 5, 3), real(4), real(4)
    one("native_batch_norm_legit", lambda x: aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0], x)
    one("native_batch_norm_legit_no_training", lambda x, m, v: aten._native_batch_norm_legit_no_training.default(x, None, None, m, v, 0.1, 1e-5)[0],
        x, real(4), positive(4))
    one("instance_norm", lambda x: aten.instance_norm.default(x, None, None, None, None, True, 0.1, 1e-5, False), x)
    one("instance_norm_statistics", lambda x, w, b, m, v: aten.instance_norm.default(x, w, b, m, v, False, 0.1, 1e-5, False), x, w, b, real(4), positive(4))
    one("native_group_norm", lambda x: aten.native_group_norm.default(x, None, None, 2, 4, 15, 2, 1e-5)[0], x)
    one("native_layer_norm", lambda x, w: aten.native_layer_norm.default(x, [3], w, None, 1e-5)[0], x, real(3))
    one("rms_norm", lambda x: aten.rms_norm.default(x, [5, 3]), x * 1e-3)
    one("rms_norm_half", lambda x, w: (aten.rms_norm.default(x, [3], w), aten.rms_norm.default(x * 1000, [3], w, 1e-5)), x.half() * 0.1, real(3).half())
    one("rms_norm_double", lambda x: aten.rms_norm.default(x, [3]), x.double() * 1e-3)
    one("weight_norm", lambda v, g: aten._weight_norm.default(v, g, 1), real(3, 4), real(1, 4))


def resizes(one):
    line, plane, volume = real(1, 2, 6), real(1, 2, 5, 6), real(1, 2, 3, 4, 3)
    one("upsample_linear1d", lambda x: (aten.upsample_linear1d.default(x, [9], False), aten.upsample_linear1d.vec(x, [9], True, None),
                                        aten.upsample_linear1d.vec(x, None, False, [1.5])), line)
    one("upsample_bilinear2d", lambda x: (aten.upsample_bilinear2d.default(x, [7, 9], True), aten.upsample_bilinear2d.vec(x, None, False, [2.0, 1.5])), plane)
    one("upsample_bicubic2d", lambda x: (aten.upsample_bicubic2d.default(x, [7, 9], False), aten.upsample_bicubic2d.vec(x, [7, 9], True, None)), plane)
    one("upsample_trilinear3d", lambda x: (aten.upsample_trilinear3d.default(x, [6, 5, 4], True), aten.upsample_trilinear3d.vec(x, [6, 5, 4], True, None)), volume)
    one("upsample_nearest", lambda x, y: (aten.upsample_nearest1d.vec(x, [9], None), aten.upsample_nearest3d.vec(y, [6, 5, 4], None)), line, volume)
    one("upsample_nearest_exact", lambda x, y: (aten._upsample_nearest_exact1d.vec(x, None, [1.5]), aten._upsample_nearest_exact3d.vec(y, None, [2.0, 1.5, 1.0])),
        line, volume)
    one("upsample_antialiased", lambda x: (aten._upsample_bilinear2d_aa.vec(x, None, False, [0.5, 0.5]), aten._upsample_bicubic2d_aa.vec(x, None, False, [0.5, 0.5])),
        real(1, 2, 8, 10))
    for mode in range(3):
        for padding in range(3):
            one(f"grid_sampler_2d_{mode}_{padding}", lambda x, g, m=mode, p=padding: (
                aten.grid_sampler_2d.default(x, g, m, p, False), aten.grid_sampler_2d.default(x, g, m, p, True)), plane, torch.rand(1, 4, 3, 2) * 3 - 1.5)
    for padding in range(3):
        one(f"grid_sampler_3d_{padding}", lambda x, g, p=padding: (
            aten.grid_sampler_3d.default(x, g, 0, p, False), aten.grid_sampler_3d.default(x, g, 1, p, True)), volume, torch.rand(1, 2, 4, 3, 3) * 3 - 1.5)


def reductions(one):
    x, flags = real(2, 3, 4), torch.rand(2, 3) > 0.5
    one("all_any", lambda b: (aten.all.dim(b, 1, True), aten.any.dim(b, 1, True), aten.all.dims(b, [0], True), aten.any.dims(b, [0], True), aten.all.dims(b),
                              aten.any.dims(b)), flags)
    one("extremes", lambda x: (*aten.max.dim(x, 1, True), *aten.min.dim(x, 1, True), aten.argmax.default(x, 1, True), aten.argmin.default(x, 1, True),
                               *aten.aminmax.default(x, dim=1, keepdim=True)), x)
    one("sums", lambda i: (aten.sum.default(i, dtype=torch.float32), aten.sum.dim_IntList(i, [1], dtype=torch.float32), aten.prod.default(i, dtype=torch.float32),
                           aten.prod.dim_int(i, 1, True, dtype=torch.float32), aten.mean.default(i, dtype=torch.float32), aten.cumsum.default(i, 1, dtype=torch.float32)),
        whole(2, 3, 4))
    gaps = torch.tensor([[1.0, torch.nan, 3.0], [2.0, 5.0, torch.nan]])
    one("nansum", lambda x: (aten.nansum.default(x, [1], True, dtype=torch.float64), aten.nanmean.default(x, [1], True, dtype=torch.float64)), gaps)
    one("norms", lambda x: (aten.linalg_vector_norm.default(x, 2, [1], True, dtype=torch.float64), aten.norm.Scalar(x, 3), aten.norm.ScalarOpt_dim(x, 3, [1], False),
                            aten.norm.ScalarOpt_dim(x, None, [1], True)), x)
    for name in ("std", "var", "std_mean", "var_mean"):
        op = getattr(aten, name)

        def function(x, op=op):
            found = [op.default(x), op.default(x, True), op.default(x, False), op.dim(x, [1], False, True), op.dim(x, [1], True, False),
                     op.correction(x, [1], correction=0, keepdim=True), op.correction(x, [1], correction=2, keepdim=False)]
            return [part for result in found for part in (result if isinstance(result, tuple) else (result,))]
        one(name, function, x)
    one("sort", lambda x: (aten.sort.default(x, 1, False), aten.sort.stable(x, stable=True, dim=1, descending=True), aten.topk.default(x, 2, 1, True)), x)
    one("argsort", lambda x: (aten.argsort.default(x, 1, True), aten.argsort.stable(x, stable=True, dim=1, descending=False)), x)


def elementwise(one):
    x, y, i, j = real(3, 4), real(3, 4), whole(3, 4), whole(3, 4, low=1)
    one("divide", lambda i, j, x: (aten.divide.Scalar_mode(i, 4, rounding_mode="trunc"), aten.divide.Tensor_mode(i, j, rounding_mode="floor"),
                                   aten.divide.Scalar_mode(x, 0.7, rounding_mode="trunc")), i, j, x)
    one("rsub", lambda x, y: (aten.rsub.Scalar(x, 2, 3), aten.rsub.Tensor(x, y, alpha=2)), x, y)
    one("add_products", lambda x, y: (aten.addcmul.default(x, x, y), aten.addcdiv.default(x, x, y * y + 1, value=0.5)), x, y)
    one("clamp_tensor", lambda x, y: (aten.clamp.Tensor(x, y), aten.clamp.Tensor(x, y - 1, y), aten.clamp.Tensor(x, None, y)), x, y)
    one("activations", lambda x: (aten.celu.default(x, 0.5), aten.elu.default(x, 1.5, 0.7, 2.0), aten.leaky_relu.default(x, 0.3), aten.hardshrink.default(x, 0.3),
                                  aten.softshrink.default(x, 0.3), aten.softplus.default(x, 2.0, 1.0)), x * 2)
    one("elu_input_scale", lambda x: aten.elu.default(x, 0.5, 1.0, 2.0), x * 2)
    one("softmax_dtype", lambda x: (aten.log_softmax.int(x, 1, torch.float64), aten._safe_softmax.default(x, 1, torch.float64)), x)
    one("special_logit", lambda x: aten.special_logit.default(x), torch.rand(3, 4))
    one("round_decimals", lambda x: aten.round.decimals(x, decimals=0), x * 5)
    one("losses", lambda x, y: [f.default(x, y, reduction) for f in (aten.l1_loss, aten.mse_loss, aten.soft_margin_loss) for reduction in (0, 2)], x, y.sign())
    one("cross_entropies", lambda x, y: [aten.binary_cross_entropy.default(x, y, None, reduction) for reduction in (0, 2)]
        + [aten.binary_cross_entropy_with_logits.default(x, y)], torch.rand(3, 4), torch.rand(3, 4))
    a, b, c, s = real(2, 3, 4), real(2, 4, 5), real(2, 3, 5), real(3, 5)
    one("products", lambda a, b, c, s: (aten.addbmm.default(s, a, b, beta=0.5, alpha=2), aten.baddbmm.default(c, a, b, beta=0.5, alpha=2)), a, b, c, s)
    one("addr", lambda s, x, y: aten.addr.default(s, x, y, beta=0.5), s, real(3), real(5))


def recurrence(one):
    x, h, inside, outside, b = real(2, 5, 3), real(1, 2, 4), real(12, 3), real(12, 4), real(12)
    more_inside, more_outside = real(16, 3), real(16, 4)
    one("gru", lambda x, h: (*aten.gru.input(x, h, [inside, outside], False, 1, 0.0, False, False, True),
                             *aten.gru.input(x, h, [inside, outside, b, b], True, 1, 0.0, True, False, True)), x, h)
    one("lstm", lambda x, h: aten.lstm.input(x, [h, h], [more_inside, more_outside], False, 1, 0.0, True, False, True), x, h)


def views(one):
    x = real(3, 4)
    one("diff", lambda x, y: (aten.diff.default(x, 1, 0), aten.diff.default(x, 1, 1, y, y), aten.diff.default(x, 2, 1, None, y)), x, real(3, 2))
    one("linalg_diagonal", lambda x: aten.linalg_diagonal.default(x, offset=1, dim1=0, dim2=2), real(3, 2, 4))
    one("slice_scatter", lambda x, y: aten.slice_scatter.default(x, y, 1, 0, 4, 2), x, real(3, 2))
    one("split", lambda x: aten.split.Tensor(x, 2, 1), x)
    one("constant_pad_nd", lambda x: aten.constant_pad_nd.default(x, [1, 2]), x)
    one("unsafe_index_put", lambda x, i, v: aten._unsafe_index_put.default(x, [i], v, True), x, torch.tensor([1, 0, 1]), x)


def creation(one):
    x, real64 = real(2, 3), {"dtype": torch.float64}
    one("new", lambda x: (aten.new_zeros.default(x, [2], **real64), aten.new_ones.default(x, [2], **real64), aten.new_full.default(x, [2], 2, **real64),
                          aten.ones_like.default(x, **real64), aten.full_like.default(x, 2, **real64), aten.empty_like.default(x, **real64) * 0,
                          aten.new_empty.default(x, [2], **real64) * 0), x)
    one("made", lambda x: (x * aten.ones.default([3], **real64), x * aten.full.default([3], 2, **real64), x * aten.arange.default(3, **real64), x * aten.arange.start(1, 4, **real64),
                           x * aten.arange.start_step(0, 6, 2, **real64), x * aten.eye.m(2, 3, **real64), x * aten.linspace.default(0, 1, 3, **real64),
                           x * aten.linspace.default(4, 5, 1), x * aten.scalar_tensor.default(2, **real64), x @ aten.eye.default(3, dtype=torch.float32),
                           x * aten.empty.memory_format([3], **real64) * 0), x)


def add_to(case):
    for family in (convolutions, pools, normalizations, resizes, reductions, elementwise, recurrence, views, creation):
        family(lambda name, function, *inputs: case("values_" + name, function, *inputs))
