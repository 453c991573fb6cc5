// Fourier transforms of whole signals, and of windows that go along them.
#include <cmath>
#include <limits>

#include "converters/foreign/complex_numbers.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Complex;
using foreign::FourierAxis;
using foreign::FourierScale;
using foreign::Val;

constexpr std::int64_t last_element = std::numeric_limits<std::int64_t>::max();

/// How `norm` scales: by default an inverse is divided by the length.
FourierScale scale_of(Call& call, bool is_inverse) {
  const std::string_view norm = call.text("norm", "backward");
  if (norm == "ortho") return FourierScale::root;
  if (norm != "backward" && norm != "forward") call.refuse("the kind of the norm is not known");
  return (norm == "backward") == is_inverse ? FourierScale::length : FourierScale::one;
}

/// The signal; integers as float32.
Complex signal_of(Call& call) {
  const Complex x = call.complex("self");
  if (x.imaginary || is_floating(call.onnx.elem(x.real))) return x;
  return {call.onnx.cast(x.real, ElementType::float32), {}};
}

/// `n` and `dim` of a transform of one axis, `s` and `dim` of one of several, whose sizes count from the last axis where no axes are given.
std::vector<FourierAxis> axes_of(Call& call, std::size_t rank, std::size_t by_default) {
  if (!call.argument("s") && call.argument("n")) {
    FourierAxis only{call.axis("dim", -1, rank)};
    if (call.has("n")) only.length = call.integer("n", 1);
    return {only};
  }
  const std::vector<std::int64_t> lengths = call.integers("s");
  std::vector<FourierAxis> axes;
  if (call.has("dim")) {
    for (const std::int64_t axis : call.axes("dim", rank)) axes.push_back({axis});
  } else {
    const std::size_t count = call.has("s") ? lengths.size() : by_default;
    if (count > rank) call.refuse("there are more sizes than axes");
    for (std::size_t axis = rank - std::min(count, rank); axis < rank; ++axis)
      axes.push_back({static_cast<std::int64_t>(axis)});
  }
  if (call.has("s") && lengths.size() != axes.size()) call.refuse("a size for each axis is wanted");
  for (std::size_t i = 0; i < std::min(axes.size(), lengths.size()); ++i)
    if (lengths[i] != -1) axes[i].length = lengths[i];
  return axes;
}

/// How many axes a transform takes that is given none.
template <std::size_t axes>
std::size_t axes_by_default(std::size_t rank) {
  return axes == 0 ? rank : axes;
}

template <std::size_t axis_count, bool is_inverse>
void map_transform(Call& call) {
  const Complex x = signal_of(call);
  const std::size_t rank = call.rank(x.real);
  const auto axes = axes_of(call, rank, axes_by_default<axis_count>(rank));
  const FourierScale scale = scale_of(call, is_inverse);
  call.result(fourier(call, x, axes, is_inverse, false, scale));
}

/// The first half of the transform of real numbers; `is_inverse` gives the conjugates, as an inverse transform does.
template <std::size_t axis_count, bool is_inverse>
void map_of_real(Call& call) {
  const Complex x = signal_of(call);
  if (x.imaginary) return call.refuse("half of the transform of complex numbers");
  const std::size_t rank = call.rank(x.real);
  const auto axes = axes_of(call, rank, axes_by_default<axis_count>(rank));
  const FourierScale scale = scale_of(call, is_inverse);
  const Complex half = fourier(call, x, axes, false, true, scale);
  call.result(is_inverse ? conjugate(call.onnx, half) : half);
}

/// The real numbers whose transform has this first half; a forward one goes from the conjugates.
template <std::size_t axis_count, bool is_inverse>
void map_to_real(Call& call) {
  const Complex x = signal_of(call);
  const std::size_t rank = call.rank(x.real);
  const auto axes = axes_of(call, rank, axes_by_default<axis_count>(rank));
  const FourierScale scale = scale_of(call, is_inverse);
  call.result(real_inverse_fourier(call, is_inverse ? x : conjugate(call.onnx, x), axes, scale));
}

/// What decomposed programs have: the scale as a number of PyTorch's.
FourierScale scale_of_number(Call& call) {
  constexpr std::int64_t by_root = 1, by_length = 2;
  const std::int64_t number = call.integer("normalization", 0);
  return number == by_root ? FourierScale::root : number == by_length ? FourierScale::length : FourierScale::one;
}

std::vector<FourierAxis> axes_alone(Call& call, Val x) {
  std::vector<FourierAxis> axes;
  for (const std::int64_t axis : call.axes("dim", call.rank(x))) axes.push_back({axis});
  return axes;
}

void map_complex_to_complex(Call& call) {
  const Complex x = call.complex("self");
  const bool is_forward = call.flag("forward", true);
  call.result(fourier(call, x, axes_alone(call, x.real), !is_forward, false, scale_of_number(call)));
}

void map_real_to_complex(Call& call) {
  const Complex x = call.complex("self");
  const bool is_onesided = call.flag("onesided", true);
  call.result(fourier(call, x, axes_alone(call, x.real), false, is_onesided, scale_of_number(call)));
}

void map_complex_to_real(Call& call) {
  const Complex x = call.complex("self");
  std::vector<FourierAxis> axes = axes_alone(call, x.real);
  if (!axes.empty()) axes.back().length = call.integer("last_dim_size", 1);
  call.result(real_inverse_fourier(call, x, axes, scale_of_number(call)));
}

/// Both halves of axes change places, so that the first element goes to the middle, or back.
template <bool is_inverse>
void map_shift(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  for (const std::int64_t axis : call.axes("dim", call.rank(x))) {
    const auto size = onnx.size(x, static_cast<std::size_t>(axis));
    const std::int64_t more = is_inverse ? 0 : 1;
    const Val half =
        size ? onnx.integers({(*size + more) / 2})
             : onnx.emit("Div", {onnx.emit("Add", {onnx.size_of(x, axis), onnx.integers({more})}), onnx.integers({2})});
    const Val axes = onnx.integers({axis});
    x = onnx.emit("Concat",
                  {onnx.emit("Slice", {x, half, onnx.integers({last_element}), axes}),
                   onnx.emit("Slice", {x, onnx.integers({0}), half, axes})},
                  {{"axis", axis}});
  }
  call.result(x);
}

// ---- windows along a signal

/// The window of a short-time transform as long as the transform: with zeros around a shorter one.
Val window_of(Call& call, std::int64_t length, ElementType type) {
  auto& onnx = call.onnx;
  const std::int64_t own = call.integer("win_length", length);
  if (own < 1 || own > length) {
    call.refuse("the window is longer than the transform");
    return onnx.reals(type, {0}, {});
  }
  Val window = call.has("window") ? onnx.cast(call.tensor("window"), type)
                                  : onnx.emit("Expand", {onnx.scalar(type, 1), onnx.integers({own})});
  const std::int64_t before = (length - own) / 2;
  if (own < length) window = onnx.emit("Pad", {window, onnx.integers({before, length - own - before})});
  return window;
}

struct ShortTime {
  std::int64_t length = 1, hop = 1;
  Val window;
  ElementType type = ElementType::undefined;  ///< of the signal and the window
};

ShortTime short_time_of(Call& call, ElementType type) {
  if (call.has("window")) type = promoted(type, call.onnx.elem(call.tensor("window")));
  ShortTime given;
  given.type = type;
  given.length = call.integer("n_fft", 1);
  constexpr std::int64_t longest = std::int64_t{1} << 24;
  if (given.length < 1 || given.length > longest) call.refuse("the length of the transform is out of range");
  given.hop = call.integer("hop_length", given.length / 4);
  if (given.hop < 1) call.refuse("the windows do not go on");
  if (!call.refused()) given.window = window_of(call, given.length, type);
  return given;
}

Val root_of(foreign::OnnxBuilder& onnx, ElementType type, std::int64_t length) {
  return onnx.scalar(type, std::sqrt(static_cast<double>(length)));
}

/// Frequencies by windows. The signal has been padded before, unless the form is the one that pads itself.
void map_short_time(Call& call) {
  auto& onnx = call.onnx;
  const Complex given = call.complex("self");
  if (given.imaginary) return call.refuse("windows along complex signals");
  Val x = given.real;
  const std::size_t rank = call.rank(x);
  const ShortTime windows = short_time_of(call, onnx.elem(x));
  if (call.refused()) return;
  x = onnx.cast(x, windows.type);
  if (call.flag("align_to_window", false)) return call.refuse("frames that begin where their window does");
  if (rank == 1) x = onnx.unsqueeze(x, {0});
  if (call.has("center") && call.flag("center", true)) {
    const std::int64_t half = windows.length / 2;
    const std::string_view mode = call.text("pad_mode", "reflect");
    const std::string onnx_mode = mode == "replicate" ? "edge" : std::string(mode);
    x = onnx.emit("Pad", {x, onnx.integers({0, half, 0, half})}, {{"mode", onnx_mode}});
  }
  const bool is_onesided = call.flag("onesided", true);
  const Val step = onnx.scalar_integer(ElementType::int64, windows.hop);
  const Val length = onnx.scalar_integer(ElementType::int64, windows.length);
  Val frames = onnx.emit("STFT", {onnx.unsqueeze(x, {2}), step, windows.window, length},
                         {{"onesided", std::int64_t{is_onesided ? 1 : 0}}});
  if (call.flag("normalized", false)) frames = onnx.emit("Div", {frames, root_of(onnx, windows.type, windows.length)});
  frames = onnx.transpose(frames, {0, 2, 1, 3});  // frequencies before frames
  if (rank == 1) frames = onnx.squeeze(frames, {0});
  call.result(call.flag("return_complex", false) ? parts_of_pairs(onnx, frames) : Complex{frames, {}});
}

/// Columns of windows, [batch, length, frames], laid over each other and summed: [batch, length of the signal].
Val overlapped(Call& call, Val windows, const ShortTime& how) {
  auto& onnx = call.onnx;
  const Val frames = onnx.size_of(windows, 2);
  const Val steps = onnx.emit("Mul", {onnx.emit("Sub", {frames, onnx.integers({1})}), onnx.integers({how.hop})});
  const Val whole = onnx.emit("Add", {steps, onnx.integers({how.length})});
  const std::vector<std::int64_t> strides = {1, how.hop};
  const Val image =
      onnx.emit("Col2Im", {windows, onnx.joined({onnx.integers({1}), whole}), onnx.integers({1, how.length})},
                {{"strides", strides}});
  return onnx.squeeze(image, {1, 2});
}

/// The signal from its frequencies: windows are summed, and divided by the sum of what they were multiplied by.
void map_inverse_short_time(Call& call) {
  auto& onnx = call.onnx;
  Complex x = call.complex("self");
  if (!x.imaginary) return call.refuse("frequencies that are real numbers");
  if (call.flag("return_complex", false)) return call.refuse("complex signals from windows");
  const std::size_t rank = call.rank(x.real);
  const ShortTime windows = short_time_of(call, onnx.elem(x.real));
  if (call.refused() || !call.has_opset(18)) return;
  x = {onnx.cast(x.real, windows.type), onnx.cast(x.imaginary, windows.type)};
  if (rank == 2) x = {onnx.unsqueeze(x.real, {0}), onnx.unsqueeze(x.imaginary, {0})};
  const bool is_normalized = call.flag("normalized", false);
  const FourierScale scale = is_normalized ? FourierScale::root : FourierScale::length;
  const Val frames = real_inverse_fourier(call, x, {{1, windows.length}}, scale);
  const Val window = onnx.unsqueeze(windows.window, {1});
  const Val sum = overlapped(call, onnx.emit("Mul", {frames, window}), windows);
  const Val squares = onnx.emit("Mul", {window, window});
  const Val sizes = onnx.joined({onnx.integers({1, windows.length}), onnx.size_of(frames, 2)});
  const Val weight = overlapped(call, onnx.emit("Expand", {onnx.unsqueeze(squares, {0}), sizes}), windows);
  const bool is_centered = call.flag("center", true);
  const std::int64_t start = is_centered ? windows.length / 2 : 0;
  Val end = onnx.integers({is_centered && start > 0 ? -start : last_element});
  if (call.has("length")) end = onnx.integers({start + call.integer("length", 0)});
  const auto kept = [&](Val y) { return onnx.emit("Slice", {y, onnx.integers({start}), end, onnx.integers({1})}); };
  Val signal = onnx.emit("Div", {kept(sum), kept(weight)});
  if (call.has("length")) {
    // What the windows do not reach is 0.
    const Val missing = onnx.emit("Sub", {onnx.integers({call.integer("length", 0)}), onnx.size_of(signal, 1)});
    const auto known = onnx.constant_integers(missing);
    if (!known || known->front() > 0)
      signal = onnx.emit("Pad", {signal, onnx.joined({onnx.integers({0, 0, 0}), missing})});
  }
  call.result(rank == 2 ? onnx.squeeze(signal, {0}) : signal);
}

}  // namespace

void register_fourier(Mappings& mappings);
void register_fourier(Mappings& mappings) {
  mappings.add("aten.fft_fft.default", map_transform<1, false>);
  mappings.add("aten.fft_ifft.default", map_transform<1, true>);
  mappings.add("aten.fft_fft2.default", map_transform<2, false>);
  mappings.add("aten.fft_ifft2.default", map_transform<2, true>);
  mappings.add("aten.fft_fftn.default", map_transform<0, false>);
  mappings.add("aten.fft_ifftn.default", map_transform<0, true>);
  mappings.add("aten.fft_rfft.default", map_of_real<1, false>);
  mappings.add("aten.fft_rfft2.default", map_of_real<2, false>);
  mappings.add("aten.fft_rfftn.default", map_of_real<0, false>);
  mappings.add("aten.fft_ihfft.default", map_of_real<1, true>);
  mappings.add("aten.fft_ihfft2.default", map_of_real<2, true>);
  mappings.add("aten.fft_ihfftn.default", map_of_real<0, true>);
  mappings.add("aten.fft_irfft.default", map_to_real<1, true>);
  mappings.add("aten.fft_irfft2.default", map_to_real<2, true>);
  mappings.add("aten.fft_irfftn.default", map_to_real<0, true>);
  mappings.add("aten.fft_hfft.default", map_to_real<1, false>);
  mappings.add("aten.fft_hfft2.default", map_to_real<2, false>);
  mappings.add("aten.fft_hfftn.default", map_to_real<0, false>);
  mappings.add("aten._fft_c2c.default", map_complex_to_complex);
  mappings.add("aten._fft_r2c.default", map_real_to_complex);
  mappings.add("aten._fft_c2r.default", map_complex_to_real);
  mappings.add("aten.fft_fftshift.default", map_shift<false>);
  mappings.add("aten.fft_ifftshift.default", map_shift<true>);
  mappings.add_by_part({"aten.fft_fftshift.default", "aten.fft_ifftshift.default"});
  mappings.add({"aten.stft.default", "aten.stft.center"}, map_short_time);
  mappings.add("aten.istft.default", map_inverse_short_time);
}

}  // namespace onnxkit::pt2
