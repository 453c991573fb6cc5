"""Programs of linear algebra, distances, losses by margins, special functions and whole numbers for the reader of .pt2.

    add_to(case, refused)     calls case(name, function, *inputs, dynamic=...) for each; fills refused with programs that have no counterpart
"""
import math

import torch
import torch.nn.functional as F

from torch_inputs import positive, real, whole

aten = torch.ops.aten
infinity = math.inf


def each(functions):
    """One program whose results are those of all functions."""
    return lambda *inputs: tuple(function(*inputs) for function in functions)


def distances(case):
    x, y = real(2, 5, 3), real(4, 3)
    case("cdist", each([lambda x, y, p=p: torch.cdist(x, y, p) for p in (0.0, 1.0, 2.0, 2.5, infinity)]), x, y)
    case("cdist_products", lambda x, y: (torch.cdist(x, y, compute_mode="use_mm_for_euclid_dist"),
                                         torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")), x, y)
    case("cdist_many", lambda x, y: (torch.cdist(x, y), torch.cdist(y, x, compute_mode="donot_use_mm_for_euclid_dist")), real(30, 3), real(4, 3))
    case("cdist_open", lambda x, y: torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"), real(5, 3), real(4, 3), dynamic={0: {0: "n"}})
    case("cdist_double", torch.cdist, x.double(), y.double())
    case("cdist_without_elements", lambda x, y: (torch.cdist(x, y, infinity), torch.cdist(x, y)), real(3, 0), real(2, 0))
    gaps = torch.tensor([[1.0, math.nan, 2.0], [3.0, 4.0, 5.0], [0.0, infinity, -1.0]])
    case("distances_of_gaps", lambda x, y: (torch.cdist(x, y, 0.0), torch.cdist(x, y, 1.0), torch.cdist(x, y, infinity), F.pdist(x, 0.0), F.pdist(x, 3.0), torch.dist(x, y)), gaps, real(2, 3)[:1])
    case("cdist_forward", lambda x, y: (aten._cdist_forward(x, y, 1.0, None), aten._cdist_forward(x, y, 2.0, 0), aten._cdist_forward(x, y, 2.0, 1)), real(5, 3), y)
    case("euclidean_dist", lambda x, y: aten._euclidean_dist(x, y), real(5, 3), y)
    case("pdist", each([lambda x, p=p: F.pdist(x, p) for p in (0.0, 1.0, 2.0, 3.0, infinity)]), real(5, 3))
    case("pdist_forward", lambda x: (aten._pdist_forward(x), aten._pdist_forward(x, 1.0)), real(4, 3))
    case("cosine_similarity_of_numbers", lambda x, y: F.cosine_similarity(x, y, 0), torch.tensor(2.0), torch.tensor(-3.0))
    case("dist", each([lambda x, y, p=p: torch.dist(x, y, p) for p in (0, 1, 2, 3.5, infinity)]), x, real(5, 1))


def norms(case, refused):
    x, matrix = real(2, 3, 4), real(3, 4)
    case("linalg_norm", lambda x, m: (torch.linalg.norm(x), torch.linalg.norm(x, dim=(0, 2)), torch.linalg.norm(m, 1), torch.linalg.norm(m, -1),
                                      torch.linalg.norm(m, infinity), torch.linalg.norm(m, -infinity, keepdim=True), torch.linalg.norm(m, "fro")), x, matrix)
    case("linalg_norm_axes", lambda x, v: (torch.linalg.norm(x, 1, (2, 0)), torch.linalg.norm(x, -infinity, (0, -1), keepdim=True), torch.linalg.norm(x, 3, 1),
                                           torch.linalg.norm(v, 1), torch.linalg.norm(x, dim=1, keepdim=True), torch.linalg.norm(x, keepdim=True),
                                           torch.linalg.norm(x, "fro", (0, 1), keepdim=True)), x, real(5))
    case("linalg_norm_type", lambda x: (torch.linalg.norm(x, dtype=torch.float64), torch.linalg.norm(x, "fro", (0, 1), dtype=torch.float64)), x)
    case("matrix_norm", lambda x: (torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, 1), torch.linalg.matrix_norm(x, -1, (0, 1), keepdim=True),
                                   torch.linalg.matrix_norm(x, infinity, (2, 0)), torch.linalg.matrix_norm(x, -infinity),
                                   torch.linalg.matrix_norm(x, "fro", (2, 0), keepdim=True)), x)
    case("matrix_norm_type", lambda x: (torch.linalg.matrix_norm(x, 1, dtype=torch.float64), torch.linalg.matrix_norm(x, dtype=torch.float64)), x)
    case("norm_type", lambda x: (aten.norm.ScalarOpt_dtype(x, 3, dtype=torch.float64), aten.norm.ScalarOpt_dim_dtype(x, 1, [1], True, dtype=torch.float64),
                                 aten.norm.ScalarOpt_dim_dtype(x, None, [0, -1], False, dtype=torch.float64), aten.norm.ScalarOpt_dtype(x, None, dtype=torch.float64)), x)
    case("frobenius_norm", lambda x: (aten.frobenius_norm.dim(x, [0, 1]), aten.frobenius_norm.dim(x, [-1], True), aten.frobenius_norm.dim(x, [])), x)
    case("renorm", lambda x: (torch.renorm(x, 2, 0, 1.5), torch.renorm(x, 1, -1, 2.0), torch.renorm(x, infinity, 1, 0.7)), x)
    case("renorm_half", lambda x: torch.renorm(x, 2, 0, 1.5), x.half())
    for name, function in (("norm_spectral", lambda x: torch.linalg.norm(x, 2)), ("norm_nuclear", lambda x: torch.linalg.matrix_norm(x, "nuc"))):
        refused[name] = (function, (matrix,), None)


def products(case):
    x, y = real(4, 3, 2), real(4, 3, 2)
    case("cross", lambda x, y: (torch.cross(x, y, dim=1), torch.cross(x, y, dim=-2)), x, y)
    case("cross_found", lambda x, y: aten.cross.default(x, y), x, real(1, 3, 1))
    case("linalg_cross", lambda x, y, i: (torch.linalg.cross(x, y, dim=1), torch.linalg.cross(i, i + 1)), x, real(1, 3, 2), whole(2, 3))
    case("inner", lambda x, y, v, z: (torch.inner(x, y), torch.inner(x, v), torch.inner(v, v), torch.inner(x, z), torch.inner(x, y[0])), real(2, 3, 4),
         real(2, 5, 4), real(4), torch.tensor(2.0))
    case("kron", lambda x, y, v, z: (torch.kron(x, y), torch.kron(v, x), torch.kron(x, z)), real(2, 3), real(4, 2), real(3), torch.tensor(2.0))
    case("kron_types", lambda i, b, x: (torch.kron(b, b), torch.kron(i, x), torch.kron(b, i)), whole(2, 2), real(2, 3) > 0, real(3))
    case("bilinear", lambda x, y, w, b: (F.bilinear(x, y, w, b), F.bilinear(x, y, w), F.bilinear(x[0], y[0], w, b)), real(2, 4), real(2, 3), real(5, 4, 3), real(5))
    case("bilinear_open", F.bilinear, real(2, 3, 4), real(2, 3, 3), real(5, 4, 3), dynamic={0: {0: "n"}, 1: {0: "n"}})
    case("trilinear", lambda x, y, w: aten._trilinear(x, w, y, [1, 3], [0], [1, 2], [2, 3]), real(2, 4), real(2, 3), real(5, 4, 3))
    case("multi_dot", lambda v, a, b, c: (torch.linalg.multi_dot([a, b, c]), torch.linalg.multi_dot([v, a, b]), torch.linalg.multi_dot([a, b, c, v]),
                                          torch.linalg.multi_dot([v, a, b, c, v])), real(3), real(3, 9), real(9, 2), real(2, 3))
    case("chain_matmul", lambda a, b, c: aten.chain_matmul([a, b, c]), real(3, 9), real(9, 2), real(2, 5))
    case("vander", lambda x, i: (torch.linalg.vander(x), torch.linalg.vander(x, N=5), torch.linalg.vander(i), torch.vander(x[0]), torch.vander(i, 2),
                                 torch.vander(x[0], 4, increasing=True)), real(2, 3), whole(4, low=-3, high=4).int())


def equations(case, refused):
    a, b = real(2, 4, 4), real(2, 4, 3)
    case("inverse", lambda a: (torch.linalg.inv(a), torch.inverse(a[0]), *torch.linalg.inv_ex(a)), a)
    case("inverse_pivots", lambda a: torch.linalg.inv(a), torch.tensor([[0.0, 2.0, 1.0], [1.0, 1e-6, 3.0], [4.0, -2.0, 0.5]]))
    case("inverse_one", lambda a: torch.linalg.inv(a), positive(3, 1, 1))
    case("inverse_singular", lambda a: torch.linalg.inv_ex(a)[1], torch.tensor([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]]))
    case("inverse_empty", lambda a: (torch.linalg.inv(a), *torch.linalg.inv_ex(a)), real(2, 0, 0))
    case("inverse_open", lambda a: torch.linalg.inv(a), a, dynamic={0: {0: "n"}})
    case("solve", lambda a, b: (torch.linalg.solve(a, b), torch.linalg.solve(a, b.mT, left=False), torch.linalg.solve(a, b[0, :, 0]),
                                torch.linalg.solve(a, b[:, :, 0]), torch.linalg.solve(a[0], b), torch.linalg.solve(a, b[0])), a, b)
    case("solve_open", lambda a, b: torch.linalg.solve(a, b), a, b, dynamic={0: {0: "n"}, 1: {0: "n", 2: "m"}})
    case("solve_empty", lambda a, b: (torch.linalg.solve(a, b), *torch.linalg.solve_ex(a, b), torch.linalg.solve(a, b.mT, left=False), torch.linalg.solve(a, b[0, :, 0])),
         real(2, 0, 0), real(2, 0, 3))
    case("solve_double", lambda a, b: torch.linalg.solve(a, b), a.double(), b[:, :, 0].double())
    case("solve_ex", lambda a, b: (*torch.linalg.solve_ex(a, b), torch.linalg.solve_ex(a, b.mT, left=False)[0], aten._linalg_solve_ex(a, b)[0],
                                   aten._linalg_solve_ex(a, b.mT, left=False)[0]), a, b)
    case("matrix_power", each([lambda a, n=n: torch.linalg.matrix_power(a, n) for n in (-2, -1, 0, 1, 2, 5)]), real(2, 3, 3))
    case("matrix_power_method", lambda a: (aten.matrix_power(a, 3), aten.matrix_power(a, 0)), real(3, 3))
    refused["inverse_large"] = (lambda a: torch.linalg.inv(a), (real(20, 20),), None)


def pools(case):
    x, v = real(2, 3, 6, 8), real(1, 2, 4, 6, 4)
    case("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), x)
    case("max_unpool2d_size", lambda x: F.max_unpool2d(*F.max_pool2d(x, 3, 2, return_indices=True), 3, 2, output_size=(7, 9)), real(3, 7, 9))
    case("max_unpool2d_open", lambda x, i: aten.max_unpool2d(x, i, [4, x.shape[3] * 2]), real(1, 2, 2, 3), torch.arange(6).reshape(1, 1, 2, 3).repeat(1, 2, 1, 1),
         dynamic={0: {3: "w"}, 1: {3: "w"}})
    case("max_unpool1d", lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), real(2, 3, 8))
    case("max_pool1d_with_indices", lambda x: (*aten.max_pool1d_with_indices(x, [3], [2], [1], [1], True), *aten.max_pool1d_with_indices(x, [2], [2], [0], [2])), real(2, 3, 8))
    case("max_unpool3d", lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2), v)
    case("affine_grid", lambda t: (F.affine_grid(t, [2, 3, 4, 5], align_corners=False), F.affine_grid(t, [2, 3, 4, 1], align_corners=True)), real(2, 2, 3))
    case("affine_grid_volume", lambda t: (F.affine_grid(t, [2, 3, 4, 5, 6], align_corners=False), F.affine_grid(t, [2, 3, 1, 5, 2], align_corners=True)), real(2, 3, 4))


def arrangements(case):
    x = real(3, 4)
    case("rot90", each([lambda x, k=k: torch.rot90(x, k, (0, 2)) for k in (-1, 0, 1, 2, 7)] + [lambda x: torch.rot90(x), lambda x: torch.rot90(x, 1, (-1, 1))]), real(2, 3, 4))
    case("block_diag", lambda x, v, z, i: (torch.block_diag(x, v, z, x), torch.block_diag(i, x), torch.block_diag(v)), x, real(2), torch.tensor(2.0), whole(2, 1))
    case("block_diag_open", lambda x, y: torch.block_diag(x, y, x), x, real(2, 2), dynamic={0: {1: "n"}})
    case("cartesian_prod", lambda x, y, i: (torch.cartesian_prod(x, y, x), torch.cartesian_prod(y), torch.cartesian_prod(i, i)), real(3), real(2), whole(2))
    case("combinations", lambda x: (torch.combinations(x), torch.combinations(x, 3), torch.combinations(x, 1), torch.combinations(x, 3, True),
                                    torch.combinations(x, 5), torch.combinations(x, with_replacement=True)), real(5))
    case("diagflat", lambda x: (torch.diagflat(x), torch.diagflat(x, 1), torch.diagflat(x, -2)), real(2, 2))
    case("chunk_cat", lambda x, y: (torch._chunk_cat([x, y], 0, 2), torch._chunk_cat([x, x], 1, 2)), real(3, 4), real(5, 4))
    case("sum_to_size", lambda x, i: (x.sum_to_size(3, 1), x.sum_to_size(1, 3, 4), x.sum_to_size(2, 3, 4), i.sum_to_size(1)), real(2, 3, 4), whole(3, 2).int())
    case("tensor_split", lambda x: (*torch.tensor_split(x, 3, 1), *torch.tensor_split(x, 2), *torch.tensor_split(x, (1, 3), -1), *torch.tensor_split(x, (3, 2, 9), 1)), real(3, 5))
    case("tensor_split_by_tensor", lambda x: (*torch.tensor_split(x, torch.tensor(2), 1), *torch.tensor_split(x, torch.tensor([1, 3]), 1)), real(3, 5))
    case("split_of_axis", lambda x, v: (*x.hsplit(2), *v.hsplit([1, 3]), *x.vsplit(3), *x.vsplit([1]), *x.dsplit(2), *x.dsplit([1, 3])), real(3, 2, 4), real(5))


def spacings(case):
    case("empty_forms", lambda x: (aten.empty_permuted(x.shape, [1, 0]) * 0 + x, aten.empty_strided(x.shape, [1, 3]) * 0 + x,
                                   aten.empty_strided([2], [1], dtype=torch.float64) * 0 + x[0], aten.new_empty_strided(x, [2], [1], dtype=torch.float64) * 0 + x[0], aten.new_empty_strided(x, x.shape, [1, 3]) * 0 + x,
                                   aten.empty_permuted([2], [0], dtype=torch.float64) * 0 + x[0, 0], torch.ops.prims.scalar_tensor(2.5, dtype=torch.float64, device=torch.device("cpu")) * x), real(3, 2))
    a, b = torch.tensor(1.5), torch.tensor(-4)
    case("linspace_tensors", lambda a, b: (torch.linspace(a, b, 7), torch.linspace(a, 3, 4, dtype=torch.float64), torch.linspace(-1, b, 1), torch.linspace(a, b, 0),
                                           torch.linspace(b, 9, 6, dtype=torch.int32), torch.linspace(-7, 8, 6, dtype=torch.int64),
                                           torch.linspace(a, b, 3, dtype=torch.float64), torch.linspace(2, b, 3, dtype=torch.float64)), a, b)
    case("logspace", lambda a, b: (torch.logspace(-2, 2, 5), torch.logspace(a, b, 4, base=2), torch.logspace(a, 0, 3, dtype=torch.float64), torch.logspace(0, b, 2),
                                   torch.logspace(0, b, 3, base=2, dtype=torch.float64), torch.logspace(a, 2, 3, base=3), torch.logspace(a, b, 3, dtype=torch.float64),
                                   torch.logspace(-1, 2, 4, base=2, dtype=torch.float64)), a, b)


def losses(case):
    a, b, c = real(3, 4), real(3, 4), real(3, 4)
    sides, ones = torch.tensor([1.0, -1.0, 1.0]), torch.tensor([[1.0, -1.0, 1.0, -1.0]])
    for number, reduction in enumerate(("none", "mean", "sum")):
        case(f"triplet_margin_loss_{reduction}", lambda a, b, c, r=reduction: (
            F.triplet_margin_loss(a, b, c, reduction=r), F.triplet_margin_loss(a, b, c, 0.3, 1.0, 1e-3, True, reduction=r)), a, b, c)
        case(f"margin_ranking_loss_{reduction}", lambda x, y, t, r=reduction: (
            F.margin_ranking_loss(x, y, t, reduction=r), F.margin_ranking_loss(x, y, t, 0.5, reduction=r)), real(3), real(3), sides)
        case(f"hinge_embedding_loss_{reduction}", lambda x, t, r=reduction: (
            F.hinge_embedding_loss(x, t, reduction=r), F.hinge_embedding_loss(x, t, 0.2, reduction=r)), a, ones)
        case(f"cosine_embedding_loss_{reduction}", lambda x, y, t, r=reduction: (
            F.cosine_embedding_loss(x, y, t, reduction=r), F.cosine_embedding_loss(x, y, t, 0.1, reduction=r), F.cosine_embedding_loss(x[0], y[0], t[0], reduction=r)),
             a, b, sides)
        case(f"multi_margin_loss_{reduction}", lambda x, t, w, r=reduction: (
            F.multi_margin_loss(x, t, reduction=r), F.multi_margin_loss(x, t, 2, 0.4, w, reduction=r), F.multi_margin_loss(x[0], t[0], reduction=r)),
             a, torch.tensor([2, 0, 3]), positive(4))
        case(f"multilabel_margin_loss_{reduction}", lambda x, t, r=reduction, n=number: (
            F.multilabel_margin_loss(x, t, reduction=r), *aten.multilabel_margin_loss_forward(x[0, 0], t[0, 0] * 0, n), F.multilabel_margin_loss(x[0], t[0], reduction=r), *aten.multilabel_margin_loss_forward(x, t, n)),
             a, torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3]]))
    x, mean, variance, w, b = real(2, 3, 4), real(3), positive(3), positive(3), real(3)
    case("batch_norm_native_forms", lambda x, m, v, w, b: (
        aten._native_batch_norm_legit.default(x, w, b, m, v, False, 0.1, 1e-3)[0], *aten.native_batch_norm(x, w, b, m, v, False, 0.1, 1e-5),
        aten.native_batch_norm(x, None, None, m, v, False, 0.1, 1e-3)[0], aten._native_batch_norm_legit.default(x, None, None, m, v, False, 0.1, 1e-5)[0],
        aten.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-3)[0], *aten._native_batch_norm_legit_functional(x, w, b, m, v, False, 0.1, 1e-3),
        aten._native_batch_norm_legit_functional(x, None, None, m, v, False, 0.1, 1e-3)[0]), x, mean, variance, w, b)


def numbers(case):
    i, j = whole(3, 4, low=-99, high=99), whole(4, low=-3, high=70)
    edges = torch.tensor([0.0, -0.0, infinity, -infinity, math.nan, 1.0, -2.5])
    for name, dtype in (("", torch.int64), ("_int32", torch.int32), ("_int16", torch.int16), ("_int8", torch.int8), ("_uint8", torch.uint8)):
        x, y = (whole(3, 4, low=0, high=200) if dtype == torch.uint8 else i).to(dtype), (whole(4, low=0, high=12) if dtype == torch.uint8 else j).to(dtype)
        case(f"shift{name}", lambda x, y: (torch.bitwise_left_shift(x, y), torch.bitwise_right_shift(x, y), x << 3, x >> 2), x, y)
    case("shift_in_place", lambda x, y: ((x * 1).bitwise_left_shift_(y), (x * 1).gcd_(y), (x * 1).lcm_(y), (x * 1).bitwise_right_shift_(y)), i.int(), torch.tensor([1, 2, 9, 30]))
    case("shift_numbers", lambda x, y: (aten.bitwise_left_shift.Tensor_Scalar(x, 2), aten.bitwise_right_shift.Tensor_Scalar(x, 2),
                                        aten.bitwise_left_shift.Scalar_Tensor(3, y), aten.bitwise_right_shift.Scalar_Tensor(300, y),
                                        aten.__lshift__.Tensor(x, y), aten.__rshift__.Tensor(x, y)), i, j)
    def assigned(x, y, m):
        a, b, c, d, e, f = x + 0, x + 0, x + 0, x + 0, x + 0, m.clone()
        a &= y
        b |= 5
        c ^= y
        d <<= 2
        e >>= y
        f &= x > 0
        f[0] |= True
        return a, b, c, d, e, f

    case("bits_assigned", assigned, i, torch.tensor([3, -1, 9, 30]), i < 20)
    case("bits_python", lambda x, y: (aten.__and__.Scalar(x, 6), aten.__or__.Scalar(x, 6), aten.__xor__.Scalar(x, 6), aten.__xor__.Tensor(x, y)), i, j)
    case("divisors", lambda x, y: (torch.gcd(x, y), torch.lcm(x, y), torch.gcd(x.int(), y)), i, torch.tensor([0, 12, -30, 7]))
    case("gcd_open", torch.gcd, i, i + 12, dynamic={0: {0: "n"}, 1: {0: "n"}})
    case("frexp", lambda x, y: (*torch.frexp(x), *torch.frexp(y), *torch.frexp(y.double())),
         torch.tensor([0.0, -0.0, 1.0, 0.5, 0.49999997, -8.0, 7.9999995, 3e38, 1e-38, 1e-42, math.inf]), real(4) * 100)
    case("ldexp", lambda x, i, y: (torch.ldexp(x, i), torch.ldexp(x, y), torch.ldexp(i, i), torch.ldexp(x.double(), i)), real(4), whole(4), real(4))
    case("ldexp_far", lambda x, i: (torch.ldexp(x, i), torch.ldexp(x.double(), i * 4), torch.ldexp(x, i.float())),
         torch.tensor([1e-40, 1e-38, 1e38, 0.0, 1.5, -3.0, float("inf")]), torch.tensor([149, 200, -250, 290, -140, 127, -400]))
    case("ldexp_in_place", lambda x, i: (x * 1).ldexp_(i), real(4), whole(4))
    case("float_power", lambda x, i: (torch.float_power(x, 2), torch.float_power(x, i), torch.float_power(3, i), torch.float_power(i, 0.5)), positive(4), whole(4, low=0))
    case("signbit", lambda x, i: (torch.signbit(x), torch.signbit(i), torch.signbit(i > 0)), edges, i)
    case("isreal", lambda x, i: (torch.isreal(x), torch.isreal(i)), edges, i)
    small = torch.tensor([0.0, 1e-9, -1.0, 0.5, 3.0, infinity, math.nan])
    case("xlog1py", lambda x, y: (torch.special.xlog1py(x, y), torch.special.xlog1py(x, 2.5), torch.special.xlog1py(2, y)), torch.tensor([0.0, 2.0, 0.0, 1.0, -1.0, 2.0, 0.0]), small)
    case("xlog1py_integers", lambda x, y: torch.special.xlog1py(x, y), whole(4), whole(4, low=0))


def special(case, refused):
    wide = torch.linspace(-12, 12, 49) + 0.01
    edges = torch.tensor([0.0, -0.0, infinity, -infinity, math.nan, 1.0, 2.0, 0.5, -0.5, 7.0, -1.5, 1e-20])
    for name in ("lgamma", "digamma", "i0"):
        case(name, lambda x, y, f=getattr(torch, name): (f(x), f(y)), wide, edges)
    for name in ("i0e", "i1", "i1e", "erfcx", "log_ndtr", "ndtr", "entr"):
        case(name, lambda x, y, f=getattr(torch.special, name): (f(x), f(y)), wide, edges)
    case("erfinv", torch.erfinv, torch.cat([torch.linspace(-1, 1, 41), torch.tensor([0.9999999, -0.99999, 1e-20, 1.5, math.nan])]))
    case("polygamma", each([lambda x, n=n: torch.polygamma(n, x) for n in (0, 1, 2, 3, 6)]), torch.linspace(-5, 12, 41) + 0.01)
    case("special_names", lambda x: (aten.special_gammaln(x), aten.special_digamma(x), torch.special.modified_bessel_i0(x), torch.special.modified_bessel_i1(x), aten.special_psi(x), aten.special_polygamma(0, x), aten.special_polygamma(1, x),
                                     aten.special_i0(x), aten.special_erfinv(x * 0.1)), positive(5) * 4)
    case("special_integers", lambda i: (torch.lgamma(i), torch.i0(i), torch.special.ndtr(i), torch.special.entr(i)), whole(5, low=1))
    case("special_half", lambda x: (torch.lgamma(x), torch.special.i1(x), torch.special.ndtr(x)), positive(5).half() * 4)
    case("ndtr_double", lambda x: (torch.special.ndtr(x), torch.special.entr(x)), real(5).double())
    refused["lgamma_double"] = (lambda x: torch.lgamma(x), (positive(3).double(),), None)
    kinds = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
             "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
             "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")
    for name in kinds:
        function = getattr(torch.special, name)
        case(name, each([lambda x, i, n=n, f=function: f(x, n) for n in (-1, 0, 1, 2, 5, 9)] + [lambda x, i, f=function: f(i, 2)]), torch.linspace(-1.5, 1.5, 13), whole(3))


def add_to(case, refused):
    distances(case)
    norms(case, refused)
    products(case)
    equations(case, refused)
    pools(case)
    arrangements(case)
    spacings(case)
    losses(case)
    numbers(case)
    special(case, refused)
