"""Programs over complex numbers, Fourier transforms and windows, for torch_cases.py.

    add_to(case, refused)     calls case(NAME, function, *inputs) for each; refused is a dictionary of those that have no counterpart
"""
import torch

from torch_inputs import real

aten = torch.ops.aten
pairs = torch.view_as_real


class Spectral(torch.nn.Module):
    """The layer of Fourier neural operators: complex weights, and writes into a complex tensor."""

    def __init__(self):
        super().__init__()
        self.low = torch.nn.Parameter(torch.rand(2, 3, 3, 2, dtype=torch.cfloat))
        self.high = torch.nn.Parameter(torch.rand(2, 3, 3, 2, dtype=torch.cfloat))

    def forward(self, x):
        spectrum = torch.fft.rfft2(x)
        kept = torch.zeros(x.shape[0], 3, x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
        kept[:, :, :3, :2] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :2], self.low)
        kept[:, :, -3:, :2] = torch.einsum("bixy, ioxy -> boxy", spectrum[:, :, -3:, :2], self.high)
        return torch.fft.irfft2(kept, s=(x.size(-2), x.size(-1)))


class Written(torch.nn.Module):
    """Writes into real numbers that are parts of complex ones, and into complex ones."""

    def forward(self, x):
        a, b, c = (torch.complex(x, x * k) for k in (2.0, 3.0, 4.0))
        torch.view_as_real(a)[0, :, 1] = 7
        a[1, 0] = 1j
        numbers = torch.stack([x, x * 2], -1)
        torch.view_as_complex(numbers)[:, 1] *= 2
        c[0] = b[1]
        c[1, 1:] = x[0, 1:]
        x = x.clone()
        x[0] = c[0]
        part, whole = b.real, torch.view_as_real(b.resolve_conj())
        kept = b.conj().resolve_conj()
        b.mul_(a)
        return pairs(a), pairs(b), numbers, pairs(c), part + 0, whole + 0, pairs(kept), x


def rotated(q, angles):
    numbers = torch.view_as_complex(q.reshape(*q.shape[:-1], -1, 2))
    turns = torch.polar(torch.ones_like(angles), angles)[None, :, None, :]
    return pairs(numbers * turns).flatten(3)


def arithmetic(case):
    def of(function):
        return lambda a, b, c: function(torch.complex(a, b), torch.view_as_complex(c), a)

    x = real(3, 4), real(3, 4), real(3, 4, 2)
    case("complex_sums", of(lambda z, w, a: tuple(map(pairs, (
        z + w, z - w, torch.add(z, w, alpha=3), torch.sub(z, w, alpha=2), z + a, a - z, z + 1, 1 - z, torch.rsub(z, 1, alpha=2), -z,
        aten.add.Scalar(z, 2, 3), aten.sub.Scalar(z, 2, 3))))), *x)
    case("complex_products", of(lambda z, w, a: tuple(map(pairs, (
        z * w, z / w, z * a, a * z, z / a, a / z, z * 2.5, z / 2, aten.mul.Scalar(z, 2), aten.div.Scalar(z, 3), z @ w.T, torch.multiply(z, w), torch.subtract(w, z), torch.true_divide(z, w), torch.divide(w, 2), z.fliplr(), z.flipud(),
        torch.mm(z, w.t()), torch.bmm(z[None], w.T[None]), torch.einsum("ij,kj->ik", z, w), z.conj().resolve_conj() * w)))), *x)
    case("complex_parts", of(lambda z, w, a: (z.abs(), z.angle(), a.angle(), z.real + 0, z.imag + 0, a.real + 0, aten.conj_physical.default(z).imag + 0,
                                             torch.exp(z).real, torch.exp(z).imag, aten._conj.default(w).imag + 0, aten.resolve_neg.default(z).real + 0)), *x)
    case("complex_angle_of_integers", torch.angle, torch.tensor([-2, 0, 3]))
    case("complex_angle_nan", torch.angle, torch.tensor([-2.0, float("nan"), 0.0, 3.0]))
    case("complex_broadcast_parts", lambda a, b: (pairs(torch.complex(a, b)), pairs(torch.polar(a, b))), real(3, 1), real(2, 1, 4))
    case("complex_to", lambda a: (pairs(a.to(torch.complex64) * 2), pairs(torch.complex(a, a).to(torch.complex128)), pairs(
        aten.type_as.default(a, torch.complex(a, a)))), real(3))
    case("complex_of_double", lambda a, b: pairs(torch.complex(a, a) * b), real(3), real(3).double())
    case("complex_filled", lambda a: tuple(map(pairs, (
        torch.zeros(2, 3, dtype=torch.cfloat) + a, torch.full((2, 3), 1.5, dtype=torch.cfloat) + a, torch.zeros_like(torch.complex(a, a)) + a))), real(2, 3))
    case("complex_views", of(lambda z, w, a: tuple(pairs(y) for y in (
        z.view(4, 3), z.reshape(2, 6), z.flatten(), z.unsqueeze(1).expand(3, 2, 4), z.T, z.transpose(0, 1), z.permute(1, 0), z[None].squeeze(0),
        z.unflatten(1, (2, 2)), z.repeat(2, 1), z.movedim(0, 1), z.clone(), z.contiguous(), z.unfold(1, 2, 1)))), *x)
    case("complex_pieces", of(lambda z, w, a: tuple(pairs(y) for y in (
        z[1:], z[:, 2], z[:, [0, 2]], torch.cat([z, w]), torch.stack([z, w], 1), *z.split(2, 1), *z.chunk(2), *z.unbind(), z.roll(1, 0), z.flip(0),
        torch.index_select(z, 1, torch.tensor([3, 0])), z.narrow(1, 1, 2), torch.where(a > 0, z, w)))), *x)
    case("complex_beside_real", of(lambda z, w, a: tuple(pairs(y) for y in (
        torch.cat([z, a]), torch.stack([a, w], 1), torch.where(a > 0, z, a), torch.where(a > 0, a, z), torch.cat([a.int(), z]), z.index_put((a > 0,), a[0, 0]), torch.hstack([z, a]), torch.vstack([a, z])))), *x)
    case("complex_reductions", of(lambda z, w, a: tuple(pairs(y) for y in (z.sum(), z.sum(0), z.mean(), z.mean(1, keepdim=True)))), *x)
    case("complex_scalars", of(lambda z, w, a: tuple(map(pairs, (
        z * 1j, z + 1j, 1j - z, z / (2 - 1j), a * 1j, a + 2j, torch.full((2, 3), 1 + 2j), torch.full_like(z, 2 - 1j), torch.tensor(1 + 2j) * z, torch.tensor(2j) * a,
        z.masked_fill(a > 0, 0), torch.where(a > 0, z, 1.5), torch.where(a > 0, -1j, z), torch.nn.functional.pad(z, (1, 2)))))), *x)
    case("complex_functions", of(lambda z, w, a: tuple(map(pairs, (
        z**2, z**3, z**-1, z**0.5, z**9, z**1, z**0, z.sqrt(), z.log(), z.reciprocal(), z.square(), z.sgn(), (z * (a > 0)).sgn(), z.cumsum(1), z.tril(), z.triu(1),
        torch.nn.functional.linear(z, w), torch.nn.functional.linear(z, w[0]), torch.einsum("ij->j", z), z.gather(1, (a > 0).long()))))), *x)
    case("complex_linear_bias", of(lambda z, w, a: pairs(torch.nn.functional.linear(z, w, w[:, 0]))), *x)
    case("complex_equal", of(lambda z, w, a: (z == w, z != w, z == z.real, (z * 0 + 1j) == 1j, torch.where(a > 0, z, w) != z)), *x)
    case("complex_like", of(lambda z, w, a: tuple(map(pairs, (
        torch.full_like(a, 2, dtype=torch.cfloat), torch.zeros_like(a, dtype=torch.cdouble), torch.ones_like(z), torch.full_like(w, 3.0), z.new_zeros(2), z.new_full((2,), 1 - 1j), z.new_full((2,), 3), +z, z.diagonal(), torch.nn.functional.dropout(z, 0.5, False), torch.eye(3, dtype=torch.cfloat) @ z)))), *x)
    case("complex_to_bool", lambda a: torch.complex(0 * a, a).to(torch.bool), torch.tensor([0.0, 1, -2]))
    case("complex_without_axes", lambda a, b: tuple(map(pairs, (
        torch.complex(a, a) * torch.complex(b, b).sum(), a * torch.complex(b, b).sum(), a.sum() * torch.complex(b, b), a.int() * torch.complex(b, b).sum(), torch.complex(a, a) * b.sum()))),
        real(3), real(2).double())
    case("complex_angle_signs", lambda a, b: (torch.complex(a, b).angle(), torch.atan2(b, a)),
         *torch.meshgrid(*2 * [torch.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf")])], indexing="ij"))
    case("complex_far_quotients", of(lambda z, w, a: (pairs(z / (w * 1e25)) * 1e25, pairs((z * 1e-30) / (w * 1e-30)))), *x)
    case("complex_sizes", lambda a: pairs(torch.complex(a, a).view(a.shape[0], -1, 2) * torch.complex(a, -a).shape[0]), real(4, 6), dynamic={0: {0: "n"}})
    case("complex_writes", Written(), real(2, 3))
    case("complex_rotary", rotated, real(2, 5, 2, 6), real(5, 3))


def transforms(case):
    fft = torch.fft
    x = real(3, 5, 4)
    complex_to_complex = fft.fft, fft.ifft, fft.fft2, fft.ifft2, fft.fftn, fft.ifftn
    of_real = fft.rfft, fft.rfft2, fft.rfftn, fft.ihfft, fft.ihfft2, fft.ihfftn
    to_real = fft.irfft, fft.irfft2, fft.irfftn, fft.hfft, fft.hfft2, fft.hfftn
    for norm in ("forward", "backward", "ortho"):
        case(f"fourier_{norm}", lambda x, n=norm: tuple(pairs(f(torch.complex(x, x.flip(0)), norm=n)) for f in complex_to_complex), x)
        case(f"fourier_of_real_{norm}", lambda x, n=norm: tuple(pairs(f(x, norm=n).resolve_conj()) for f in of_real), x)
        case(f"fourier_to_real_{norm}", lambda x, n=norm: tuple(f(torch.complex(x, x.flip(0)), norm=n) for f in to_real), x)
    case("fourier_lengths", lambda x: tuple(pairs(y.resolve_conj()) for y in (
        fft.fft(x, n=3), fft.ifft(x, n=9, dim=1), fft.rfft(x, n=7, dim=0), fft.fftn(x, s=(2, -1)), fft.rfft2(x, s=(7, 6)), fft.ifft2(x, (2, 3), (0, 1)),
        fft.fft2(x, (6, 2)), fft.ifftn(x, (3, 3), (0, 2)), fft.rfftn(x, (4, 3), (2, 0)), fft.ihfft(x, n=3), fft.fftn(x, dim=(0, 2)), fft.ihfftn(x, dim=(0, 2)))), x)
    case("fourier_lengths_to_real", lambda x: tuple(f(torch.complex(x, -x), *a) for f, *a in (
        (fft.irfft, 9), (fft.irfft, 4, 1), (fft.irfft2, (3, 5)), (fft.irfftn, (4, 4), (0, 1)), (fft.hfft, 6), (fft.hfft2, (3, 4)), (fft.irfft, 1), (fft.hfftn, None, (0, 2)), (fft.hfftn, (3, 4), (0, 1)))), x)
    case("fourier_of_one_axis", lambda x: (fft.fft(x).abs(), fft.irfft(fft.rfft(x)), fft.irfft(fft.rfft(x), n=9)), real(10))
    case("fourier_of_integers", lambda x: pairs(fft.fft(x)), torch.arange(6).reshape(2, 3))
    case("fourier_open", lambda x: (fft.fft(x, norm="forward").abs(), fft.ifft(x, norm="ortho").abs(), fft.fft2(x, norm="ortho").abs()), real(2, 6),
         dynamic={0: {1: "n"}})
    case("fourier_shifts", lambda x: (fft.fftshift(x), fft.ifftshift(x), fft.fftshift(x, (1,)), fft.ifftshift(x, 2), pairs(fft.fftshift(fft.fft(x)))), x)
    case("fourier_shifts_open", lambda x: (fft.fftshift(x), fft.ifftshift(x)), real(2, 5), dynamic={0: {1: "n"}})
    for number in range(3):
        case(f"fourier_primitives_{number}", lambda x, n=number: (
            pairs(aten._fft_r2c.default(x, [0, 2], n, True)), pairs(aten._fft_r2c.default(x, [1], n, False)), pairs(
                aten._fft_c2c.default(torch.complex(x, -x), [1, 2], n, True)), pairs(aten._fft_c2c.default(torch.complex(x, -x), [0], n, False)),
            aten._fft_c2r.default(torch.complex(x, -x), [1, 2], n, 6), aten._fft_c2r.default(torch.complex(x, -x), [2], n, 7)), x)
    case("fourier_layer", Spectral(), real(2, 2, 7, 6))


def windows_along_signals(case):
    for name, parameters in (("hann", ()), ("hamming", (0.6, 0.3)), ("blackman", ()), ("bartlett", ()), ("kaiser", (5.0,))):
        packet = getattr(aten, f"{name}_window")
        forms = [packet.default, packet.periodic]
        forms += [getattr(packet, form) for form in ("periodic_alpha", "periodic_alpha_beta", "beta") if hasattr(packet, form)]
        for form in forms:
            given = {"periodic_alpha": parameters[:1], "periodic_alpha_beta": parameters, "beta": parameters}.get(form._overloadname, ())
            cycles = (True, False) if form is not packet.default else (None,)

            def windows(x, form=form, given=given, cycles=cycles):
                return tuple(x[:length] * form(length, *(() if cycle is None else (cycle,)), *given, **options)
                             for cycle in cycles for length, options in ((8, {}), (1, {}), (7, {"dtype": torch.double})))

            case(f"window_{name}_{form._overloadname}", windows, real(8))
    hann = torch.hann_window
    x = real(2, 40)
    case("stft", lambda x: (pairs(torch.stft(x, 16, 4, window=hann(16), return_complex=True)), torch.stft(x, 16, window=hann(16), return_complex=True).abs()), x)
    case("stft_short_window", lambda x: torch.stft(x, 16, 5, win_length=11, window=hann(11), return_complex=True, normalized=True).abs() ** 2, real(40))
    case("stft_two_sided", lambda x: pairs(torch.stft(x, 16, 4, return_complex=True, onesided=False, center=False, window=torch.ones(16))), x)
    case("stft_without_window", lambda x: pairs(aten.stft.default(x, 16, 4, None, None, False, True, True)), x)
    case("stft_pairs", lambda x: aten.stft.default(x, 16, 4, None, None, False, True, False), x)
    for mode in ("reflect", "constant", "replicate"):
        case(f"stft_center_{mode}", lambda x, m=mode: pairs(aten.stft.center(x, 16, 4, 12, hann(12), True, m, False, True, True)), x)
    case("stft_not_centered", lambda x: pairs(aten.stft.center(x, 16, 4, 12, hann(12), False, "reflect", False, False, True)), x)

    def there_and_back(x):
        window = hann(16)
        spectrum = torch.stft(x, 16, 4, window=window, return_complex=True)
        whole = torch.stft(x, 16, 4, window=window, return_complex=True, onesided=False)
        return (torch.istft(spectrum * 0.5, 16, 4, window=window), torch.istft(spectrum, 16, 4, window=window, length=37),
                torch.istft(spectrum, 16, window=window, length=50), torch.istft(spectrum, 16, 4, window=window, normalized=True),
                torch.istft(whole, 16, 4, window=window, onesided=False), torch.istft(spectrum[0], 16, 4, win_length=12, window=hann(12)))

    case("istft", there_and_back, x)
    case("istft_two_sided", lambda x, y: torch.istft(torch.stft(x, 16, 4, window=hann(16), return_complex=True, onesided=False) * torch.complex(y, y.flip(0)), 16, 4,
                                                     window=hann(16), onesided=False), x, real(16, 11))
    case("stft_window_of_double", lambda x: (torch.stft(x, 16, 4, window=hann(16).double(), return_complex=True).abs(), torch.istft(
        torch.stft(x, 16, 4, window=hann(16), return_complex=True), 16, 4, window=hann(16, dtype=torch.double))), x)
    case("istft_not_centered", lambda x: torch.istft(torch.stft(x, 16, 4, center=False, window=torch.ones(16), return_complex=True), 16, 4,
                                                     window=torch.ones(16), center=False), x)
    case("istft_without_window", lambda x: torch.istft(aten.stft.center(x, 8, 4, None, None, True, "reflect", False, True, True), 8, 4), x)
    case("windows_of_axis", lambda x: (x.unfold(0, 2, 1), x.unfold(1, 3, 2), x.unfold(-1, 4, 3), aten.unfold_copy.default(x, 2, 1, 1), aten.unfold_copy.default(x, 2, 3, 2)),
         real(3, 7, 10))
    case("windows_of_number", lambda x: x.sum().unfold(0, 1, 1), real(3))


def add_to(case, refused):
    arithmetic(case)
    transforms(case)
    windows_along_signals(case)
    refused["complex_output"] = (torch.fft.rfft, (real(3, 4),), None)
    refused["complex_power"] = (lambda x: (torch.fft.rfft(x) ** (1 + 1j)).abs(), (real(3, 4),), None)
    refused["complex_write_into_part"] = (lambda x: torch.complex(x, x).real.mul_(2) + torch.complex(x, x).imag, (real(3, 4),), None)
    refused["complex_stft"] = (lambda x: pairs(torch.stft(torch.complex(x, x), 16, 4, window=torch.hann_window(16), return_complex=True)), (real(2, 40),), None)
