"""Programs with operators of torchvision and transformers, with other names of operators, and with settings around a part of them.

    add_to(case, refused)     calls case("library_NAME", function, *inputs, dynamic=None) for each
"""
import torch
import torchvision

from torch_inputs import real, whole

aten = torch.ops.aten


@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped_mm(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """What the library of this name registers: rows of each group times its matrix."""
    begins = [0, *offs.tolist()]
    result = input.new_zeros(input.shape[0], weight.shape[2])
    for i, (begin, end) in enumerate(zip(begins, begins[1:])):
        result[begin:end] = input[begin:end] @ weight[i]
    return result


@grouped_mm.register_fake
def _(input, weight, offs):
    return input.new_empty(input.shape[0], weight.shape[2])


def experts(one):
    rows, matrices, ends = real(7, 4), real(3, 4, 8), torch.tensor([2, 2, 6], dtype=torch.int32)
    full = torch.tensor([2, 2, 7], dtype=torch.int32)
    one("grouped_mm", lambda x, w, ends: aten._grouped_mm.default(x, w, ends), rows, matrices, full, dynamic={0: {0: "rows"}})
    one("grouped_mm_batches", lambda x, w: aten._grouped_mm.default(x, w), real(3, 2, 4), matrices)
    one("grouped_mm_of_transformers", torch.ops.transformers.grouped_mm_fallback, rows, matrices, ends, dynamic={0: {0: "rows"}})


def boxes(count, size):
    """Corners left, top, right, bottom, which overlap a lot."""
    corner = torch.rand(count, 2) * size / 2
    return torch.cat([corner, corner + 1 + torch.rand(count, 2) * size / 2], 1)


def regions(one):
    images, placed = real(2, 3, 8, 8), torch.cat([torch.tensor([[0.0], [1], [1]]), boxes(3, 8)], 1)
    one("nms", lambda b, s: torchvision.ops.nms(b, s, 0.4), boxes(9, 10), torch.rand(9), dynamic={0: {0: "boxes"}, 1: {0: "boxes"}})
    one("roi_align", lambda x, r: (torchvision.ops.roi_align(x, r, 3, 1.0, 2, True), torchvision.ops.roi_align(x, r, (2, 4), 0.5), torchvision.ops.roi_align(x, r, 2, 1.5, 0)),
        images, placed)
    one("roi_pool", lambda x, r: torchvision.ops.roi_pool(x, r, (2, 3), 0.5), images, placed * torch.tensor([1.0, 2, 2, 2, 2]))
    one("deform_conv2d", lambda x, o, w, m: (torchvision.ops.deform_conv2d(x, o, w, padding=1), torchvision.ops.deform_conv2d(x, o, w, w[:, 0, 0, 0], padding=1, mask=m)),
        real(1, 2, 5, 5), real(1, 36, 5, 5), real(4, 2, 3, 3), torch.rand(1, 18, 5, 5))
    one("deform_conv2d_groups", lambda x, o, w: torchvision.ops.deform_conv2d(x, o, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
        real(1, 4, 7, 6), real(1, 18, 4, 6), real(2, 2, 3, 3))


def names(one):
    x, y, i, part = real(2, 3), real(2, 3), whole(2, 3, low=1), torch.rand(2, 3)
    one("names_unary", lambda x, p: [getattr(torch, name)(p) for name in ("absolute", "negative", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "fix")]
        + [torch.arccosh(p + 1)] + [getattr(torch.special, name)(x) for name in ("erf", "erfc", "expit", "exp2", "expm1", "round")] + [torch.special.log1p(p)], x, part)
    one("names_compared", lambda x, y: [getattr(torch, name)(x, other) for name in ("greater", "greater_equal", "less", "less_equal", "not_equal") for other in (y, 0.5)], x, y)
    one("names_binary", lambda x, y, i: (torch.arctan2(x, y), torch.true_divide(i, 2), torch.remainder(7, i), 5 & i, 5 | i, 5 ^ i, torch.special.xlogy(x, 2.0), torch.special.xlogy(2.0, i)),
        x, y, i)
    one("names_scalar_tensor", lambda i: (aten.bitwise_and.Scalar_Tensor(5, i), aten.bitwise_or.Scalar_Tensor(5, i), aten.bitwise_xor.Scalar_Tensor(5, i),
                                          aten.true_divide.Scalar(i, 2)), i)
    one("names_joined", lambda x, y: (torch.concat([x, y]), torch.concatenate([x, y], 1), torch.row_stack([x, y])), x, y)
    one("names_bounded", lambda x, y: (torch.clip(x, 0, 0.5), torch.clip(x, y), x.clone().clip_(max=0.25), x.clone().arctan_(), x.clone().negative_()), x, y)
    one("names_in_place", lambda x, i: (x.clone().floor_divide_(i), x.clone().pow_(i), x.double().float_power_(i), x.clone().pow_(2), x.double().float_power_(2),
                                        x.clone().floor_divide_(0.5)), x, i)
    one("transposed_in_place", lambda x: (x + 1).transpose_(0, 1) * 2, x)
    one("names_reduced", lambda x: (torch.special.softmax(x, 1), torch.special.log_softmax(x, 1), torch.special.logsumexp(x, 1), aten._is_all_true.default(x > 0), aten._is_any_true.default(x > 0)), x)


def cells(one):
    kinds = torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell, lambda *sizes, **more: torch.nn.RNNCell(*sizes, nonlinearity="relu", **more)
    layers = [kind(3, 4, bias=has_bias) for kind in kinds for has_bias in (True, False)]
    one("recurrent_cells", lambda x: [cell(x) for cell in layers], real(2, 3), dynamic={0: {0: "batch"}})


def pieces(one):
    x = real(4, 5)
    one("outer_types", lambda x, i: (torch.outer(i, x[0]), torch.outer(x[0], x[1].double()), aten.addr.default(x[:4, :4], i, i)), real(4, 4), whole(4))
    one("eye_open", lambda x: (x @ torch.eye(x.shape[1]), torch.eye(x.shape[0], 3)), x, dynamic={0: {0: "rows", 1: "columns"}})
    one("triangle_indices", lambda x: (torch.tril_indices(3, 4, dtype=torch.int32), torch.triu_indices(4, 5, 1, dtype=torch.int32), x[tuple(torch.tril_indices(4, 5, -1))], torch.tril_indices(2, 2, -3)), x)
    one("narrow_back", lambda x: (x.narrow(1, -2, 2), x.narrow(0, torch.tensor(1), 2), x.narrow(1, torch.tensor(-2), 2)), x)
    one("masked_fill_truth", lambda x: ((x > 0).masked_fill(x[0] > 0.5, True), (x > 0).masked_fill(x > 0.5, False), (x > 0).masked_fill_(x < 1, 2)), x)
    one("where_places", lambda x: torch.where(x > 0), x)


def settings(one):
    def without_gradients(x):
        y = x * 2
        with torch.no_grad():
            y.add_(1)
            z = y.relu()
        return z + x, y

    def without_autocast(x):
        with torch.autocast("cpu", enabled=False):
            y = x @ x.t()
        return y.softmax(1)

    one("no_grad", without_gradients, real(3, 4))
    one("autocast_off", without_autocast, real(3, 4))
    one("number_input", lambda x, factor, name: x * factor if name == "times" else x, real(3), 2, "times")


def add_to(case, refused):
    def one(name, *rest, **named):
        case(f"library_{name}", *rest, **named)
    for family in (experts, regions, names, cells, pieces, settings):
        family(one)

    def with_autocast(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.t()
    refused["autocast_on"] = (with_autocast, (real(3, 4),), None)
    refused["grouped_columns"] = (lambda x, w, ends: aten._grouped_mm.default(x, w, ends), (real(2, 8), real(8, 4), torch.tensor([4, 8], dtype=torch.int32)), None)
