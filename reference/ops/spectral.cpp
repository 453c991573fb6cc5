// DFT, STFT, the windows Hann, Hamming and Blackman, MelWeightMatrix.
// DFT's axis is an attribute in version 17 (1 by default), an input from 20 on (-2 by default). Complex numbers are pairs in the last axis.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/kernels/axes.h"
#include "reference/noise/noise.h"
#include "reference/numerics/arithmetic.h"

namespace onnxkit::reference {
namespace {

/// Discrete Fourier transforms of one length, by mixed radix: a length is split by its smallest prime factor. float64 models get long double.
template <class Real>
class Fourier {
 public:
  using Number = std::complex<Real>;

  Fourier(std::int64_t length, bool inverse) : length_(length), inverse_(inverse) {
    for (std::int64_t k = 0; k < length; ++k) roots_.push_back(root(inverse ? k : -k));
  }

  std::vector<Number> operator()(Pace& pace, const std::vector<Number>& x) const {
    std::vector<Number> y(x.size());
    transform(pace, x.data(), 1, y.data(), length_);
    if (inverse_) {
      for (Number& value : y) value /= static_cast<Real>(length_);
    }
    return y;
  }

 private:
  /// exp(2 pi j k / length), exact at quarters of a turn.
  Number root(std::int64_t k) const {
    const auto quarter = static_cast<std::int64_t>(std::llround(4 * static_cast<Real>(k) / static_cast<Real>(length_)));
    const auto rest = static_cast<Real>(4 * k - quarter * length_);  // in units of a quarter, times the length
    const Real angle = rest / static_cast<Real>(length_) * (std::numbers::pi_v<Real> / 2);
    const Number near(std::cos(angle), std::sin(angle));
    switch ((quarter % 4 + 4) % 4) {
      case 0:
        return near;
      case 1:
        return {-near.imag(), near.real()};
      case 2:
        return -near;
      default:
        return {near.imag(), -near.real()};
    }
  }

  static std::int64_t smallest_factor(std::int64_t n) {
    for (std::int64_t p = 2; p <= n / p; ++p) {
      if (n % p == 0) return p;
    }
    return n;
  }

  /// y[k] = sum over i of x[i * step] * root(i * k), for n points that lie `step` apart in a signal of the whole length.
  void transform(Pace& pace, const Number* x, std::int64_t step, Number* y, std::int64_t n) const {
    if (n == 1) {
      *y = *x;
      return;
    }
    const std::int64_t p = smallest_factor(n), m = n / p;
    std::vector<Number> parts(static_cast<std::size_t>(n));
    for (std::int64_t r = 0; r < p; ++r) transform(pace, x + r * step, step * p, parts.data() + r * m, m);
    for (std::int64_t k = 0; k < n; ++k) {
      pace.advance(p);
      Number sum = 0;
      for (std::int64_t r = 0; r < p; ++r)
        sum += parts[static_cast<std::size_t>(r * m + k % m)] * roots_[static_cast<std::size_t>(r * k % n * step)];
      y[k] = sum;
    }
  }

  const std::int64_t length_;
  const bool inverse_;
  std::vector<Number> roots_;
};

/// The transform of one line: `in` and `out` give its parts, real and imaginary, by position.
struct Transform {
  std::int64_t length;
  bool inverse = false;
  bool onesided = false;
};

/// A longer transform than this is not what a model means, and its tables would not fit.
constexpr std::int64_t longest_spectral = std::int64_t{1} << 28;

std::int64_t length_of(const Tensor& tensor) {
  const std::int64_t length = tensor.integer();
  require(0 < length && length <= longest_spectral, "the length of the transform is out of range");
  return length;
}

std::int64_t bins_of(const Transform& what) {
  return what.onesided && !what.inverse ? what.length / 2 + 1 : what.length;
}

/// What lies beyond the end is zero; a one-sided spectrum is completed by symmetry.
template <class Real>
std::vector<std::complex<Real>> read_line(const double* x, const AxisView& view, std::int64_t line, std::int64_t parts,
                                          const Transform& what) {
  std::vector<std::complex<Real>> signal(static_cast<std::size_t>(what.length));
  const bool half = what.onesided && what.inverse;
  const std::int64_t given = std::min(view.length, half ? what.length / 2 + 1 : what.length);
  const std::int64_t inner = view.inner / parts, outer = line / inner;
  for (std::int64_t i = 0; i < given; ++i) {
    const double* const at = x + ((outer * view.length + i) * inner + line % inner) * parts;
    const std::complex<Real> value(at[0], parts == 2 ? at[1] : 0);
    signal[static_cast<std::size_t>(i)] = value;
    if (!half || i == 0) continue;
    if (2 * i == what.length)
      signal[static_cast<std::size_t>(i)] = value.real();
    else
      signal[static_cast<std::size_t>(what.length - i)] = std::conj(value);
  }
  if (half) signal[0] = signal[0].real();
  return signal;
}

/// In a noisy run the error of a part of a result, as of a sum of products with the roots.
class SpectrumError {
 public:
  template <class Real>
  SpectrumError(const Noise* noise, const std::vector<std::complex<Real>>& signal, const Transform& what)
      : noise_(noise), terms_(what.length) {
    if (!noise) return;
    for (const std::complex<Real>& value : signal) squares_ += static_cast<double>(std::norm(value)) / 2;
    if (what.inverse) squares_ /= static_cast<double>(what.length) * static_cast<double>(what.length);
  }

  double of(double part, std::uint64_t key) const {
    return noise_ ? noise_->error_of_sum(key, part, squares_, terms_) : 0;
  }

 private:
  const Noise* noise_;
  std::int64_t terms_;
  double squares_ = 0;  ///< of the products that make a part
};

template <class Real>
void transform_lines(const KernelContext& context, const Tensor& x, Tensor& y, std::int64_t axis,
                     const Transform& what) {
  const Tensor room = context.make(ElementType::complex128, {4 * what.length});  // counts what the tables below take
  const Fourier<Real> fourier(what.length, what.inverse);
  const AxisView from = view_axis(x.dims(), axis), to = view_axis(y.dims(), axis);
  const std::int64_t in_parts = x.dims().back(), out_parts = y.dims().back();
  const std::int64_t inner = to.inner / out_parts;
  const double* const in = x.as<double>().data();
  double* const out = y.write<double>().data();
  context.for_range(to.outer * inner, 1 + (1 << 12) / what.length, [&](std::int64_t first, std::int64_t last) {
    Pace pace(context);
    for (std::int64_t line = first; line < last; ++line) {
      const auto signal = read_line<Real>(in, from, line, in_parts, what);
      const auto result = fourier(pace, signal);
      const SpectrumError error(context.noise(), signal, what);
      for (std::int64_t i = 0; i < to.length; ++i) {
        double* const at = out + ((line / inner * to.length + i) * inner + line % inner) * out_parts;
        at[0] = static_cast<double>(result[static_cast<std::size_t>(i)].real());
        if (out_parts == 2) at[1] = static_cast<double>(result[static_cast<std::size_t>(i)].imag());
        for (std::int64_t part = 0; part < out_parts; ++part)
          at[part] += error.of(at[part], static_cast<std::uint64_t>(at + part - out));
      }
    }
  });
}

/// `x` has its complex parts in the last axis; `axis` is another one.
Tensor transformed(const KernelContext& context, const Tensor& x, std::int64_t axis, const Transform& what) {
  const bool to_real = what.onesided && what.inverse;
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = bins_of(what);
  dims.back() = to_real ? 1 : 2;
  Tensor y = context.make(x.type(), std::move(dims));
  if (y.size() == 0) return y;
  if (x.type() == ElementType::float64)
    transform_lines<long double>(context, x, y, axis, what);
  else
    transform_lines<double>(context, x, y, axis, what);
  return y;
}

void require_parts(const Tensor& x) {
  require(x.rank() >= 2 && (x.dims().back() == 1 || x.dims().back() == 2),
          "the last axis must hold the real part, or the real and the imaginary part");
}

void dft(KernelContext& context) {
  const Tensor& x = context.input(0);
  require_parts(x);
  std::int64_t stated = -2;
  if (context.since() < 20)
    stated = context.integer("axis", 1);
  else if (const Tensor* given = context.find_input(2))
    stated = given->integer();
  const std::int64_t axis = normalize_axis(stated, x.rank());
  require(axis != x.rank() - 1, "the last axis must hold the parts of complex numbers");
  Transform what{.length = 0, .inverse = context.integer("inverse") != 0, .onesided = context.integer("onesided") != 0};
  const bool to_real = what.onesided && what.inverse;
  require(!what.onesided || (x.dims().back() == 2) == what.inverse,
          "a one-sided transform goes from real to complex numbers, its inverse back");
  if (const Tensor* length = context.find_input(1)) {
    what.length = length_of(*length);
  } else {
    what.length = to_real ? 2 * (x.dim(axis) - 1) : x.dim(axis);
    require(0 < what.length && what.length <= longest_spectral, "the length of the transform is out of range");
  }
  context.set_output(0, transformed(context, x, axis, what));
}

/// The frames of the signal, each times the window, as [batch, frames, length, parts].
Tensor frames_of(const KernelContext& context, const Tensor& signal, std::int64_t step, std::int64_t length,
                 const Tensor* window) {
  const std::int64_t parts = signal.dims().back(), count = (signal.dim(1) - length) / step + 1;
  Tensor frames = context.make(signal.type(), {signal.dim(0), count, length, parts});
  const std::span<const double> from = signal.as<double>();
  const std::span<double> to = frames.write<double>();
  std::size_t at = 0;
  Pace pace(context);
  for (std::int64_t batch = 0; batch < signal.dim(0); ++batch) {
    for (std::int64_t frame = 0; frame < count; ++frame) {
      pace.advance(length * parts);
      const std::int64_t first = (batch * signal.dim(1) + frame * step) * parts;
      for (std::int64_t i = 0; i < length * parts; ++i) {
        const double weight = window ? window->as<double>()[static_cast<std::size_t>(i / parts)] : 1;
        to[at++] = from[static_cast<std::size_t>(first + i)] * weight;
      }
    }
  }
  return frames;
}

void stft(KernelContext& context) {
  const Tensor& given = context.input(0);
  // A real signal may lack the axis of parts (docs/semantics.md).
  const Tensor signal = given.rank() == 2 ? given.reshaped({given.dim(0), given.dim(1), 1}) : given;
  require(signal.rank() == 3, "the signal must have the axes batch, length and parts");
  require_parts(signal);
  const Tensor* window = context.find_input(2);
  const Tensor* stated = context.find_input(3);
  require(!window || window->rank() == 1, "the window must have one axis");
  const std::int64_t length = stated ? length_of(*stated) : window ? window->size() : signal.dim(1);
  require(!window || window->size() == length, "window and frame have different lengths");
  require(0 < length && length <= signal.dim(1) && length <= longest_spectral, "a frame is longer than the signal");
  const std::int64_t step = context.input(1).integer();
  require(step > 0, "the frame step must be positive");
  const bool onesided = context.integer("onesided", 1) != 0;
  require(!onesided || signal.dims().back() == 1, "the spectrum of complex numbers is not symmetric");
  const Tensor frames = frames_of(context, signal, step, length, window);
  context.set_output(0, transformed(context, frames, 2, {.length = length, .inverse = false, .onesided = onesided}));
}

ElementType stated_type(const KernelContext& context) {
  return static_cast<ElementType>(context.integer("output_datatype", 1));
}

/// The numbers, truncated where the type is an integer type.
Tensor as_type(const KernelContext& context, ElementType type, const Tensor& values) {
  Tensor y = context.make(type, values.dims());
  const std::span<const double> from = values.as<double>();
  dispatch_numbers(y.domain(), [&]<class T>(std::type_identity<T>) {
    std::transform(from.begin(), from.end(), y.write<T>().begin(), [](double x) { return from_real<T>(x); });
  });
  return y;
}

/// a0 - a1 cos(t) + a2 cos(2 t), t going round once; periodic windows leave out the last point.
void window(KernelContext& context, double a0, double a1, double a2) {
  const std::int64_t size = context.input(0).integer();
  require(size >= 0, "the size is negative");
  const std::int64_t steps = context.integer("periodic", 1) != 0 ? size : size - 1;
  Tensor held = context.make(ElementType::float64, {size});
  const std::span<double> values = held.write<double>();
  context.for_range(size, 1 << 12, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(steps);
      values[static_cast<std::size_t>(i)] = a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn);
    }
  });
  context.set_output(0, as_type(context, stated_type(context), held));
}

void hann(KernelContext& context) { window(context, 0.5, 0.5, 0); }
void hamming(KernelContext& context) { window(context, 25.0 / 46, 21.0 / 46, 0); }
void blackman(KernelContext& context) { window(context, 0.42, 0.5, 0.08); }

double mel_of(double hertz) { return 2595 / std::numbers::ln10 * std::log1p(hertz / 700); }
double hertz_of(double mel) { return 700 * std::expm1(mel / 2595 * std::numbers::ln10); }

/// Triangles between bins that are evenly spaced in mel. The spacing divides by the number of edges, as the official cases do.
void mel_weight_matrix(KernelContext& context) {
  const std::int64_t bands = context.input(0).integer(), length = context.input(1).integer();
  const std::int64_t rate = context.input(2).integer();
  const double low = mel_of(context.input(3).real()), high = mel_of(context.input(4).real());
  require(bands >= 0 && length >= 0 && bands <= longest_spectral && length <= longest_spectral && rate > 0,
          "a count or the sample rate is out of range");
  const std::int64_t bins = length / 2 + 1;
  Tensor held = context.make(ElementType::float64, {bins, bands});
  const std::span<double> weights = held.write<double>();
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double mel = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz_of(mel) / static_cast<double>(rate));
    require(0 <= bin && bin < static_cast<double>(i > bands ? bins + 1 : bins), "an edge is outside the spectrum");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  Pace pace(context);
  for (std::int64_t band = 0; band < bands; ++band) {
    pace.advance(edges[static_cast<std::size_t>(band) + 2] - edges[static_cast<std::size_t>(band)] + 8);
    const auto at = static_cast<std::size_t>(band);
    const std::int64_t lower = edges[at], center = edges[at + 1], upper = edges[at + 2];
    for (std::int64_t bin = lower; bin < upper || bin == center; ++bin) {
      const bool rises = bin < center;
      const double weight = bin == center ? 1
                            : rises       ? static_cast<double>(bin - lower) / static_cast<double>(center - lower)
                                          : static_cast<double>(upper - bin) / static_cast<double>(upper - center);
      weights[static_cast<std::size_t>(bin * bands + band)] = weight;
    }
  }
  context.set_output(0, as_type(context, stated_type(context), held));
}

}  // namespace

void register_spectral(KernelRegistry& registry) {
  registry.add("DFT", all_versions(), dft, {.noise = noise::ordinary});
  registry.add("STFT", all_versions(), stft, {.noise = noise::ordinary});
  registry.add("HannWindow", all_versions(), hann, {.noise = noise::ordinary});
  registry.add("HammingWindow", all_versions(), hamming, {.noise = noise::ordinary});
  registry.add("BlackmanWindow", all_versions(), blackman, {.noise = noise::ordinary});
  registry.add("MelWeightMatrix", all_versions(), mel_weight_matrix, {.noise = noise::ordinary});
}

}  // namespace onnxkit::reference
