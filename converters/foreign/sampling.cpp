#include "converters/foreign/sampling.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::foreign {

double Sampling::position(std::int64_t x) const {
  const auto at = static_cast<double>(x);
  if (mode == "align_corners") return out == 1 ? 0 : at * static_cast<double>(in - 1) / static_cast<double>(out - 1);
  if (mode == "asymmetric") return at / scale;
  if (mode == "pytorch_half_pixel" && out == 1) return 0;
  return (at + 0.5) / scale - 0.5;
}

std::optional<Sampling> sampling_of(WriteCall& call, std::size_t axis, std::size_t rank) {
  const Type& type = call.output_type();
  const auto in = call.size(0, axis);
  const Dim out = type.shape && axis < type.shape->size() ? (*type.shape)[axis] : Dim();
  if (!in || !out.is_constant() || *in == 0) return std::nullopt;
  Sampling sampling{*in, out.constant(), static_cast<double>(out.constant()) / static_cast<double>(*in),
                    call.text("coordinate_transformation_mode", "half_pixel")};
  // Scales lie in the order of channels first.
  const auto scales = call.has(2) ? call.known_reals(2) : std::nullopt;
  if (scales && scales->size() == rank) sampling.scale = (*scales)[axis + 1];
  return sampling;
}

bool keeps_channels(WriteCall& call) {
  const auto& shape = call.output_type().shape;
  return shape && shape->back() == call.shape(0)->back();
}

std::optional<OpenResize> open_resize(WriteCall& call, std::size_t rank) {
  constexpr std::size_t images = 4;
  if (rank != images) return std::nullopt;
  OpenResize open;
  if (!call.has(3)) {
    const auto scales = call.has(2) ? call.known_reals(2) : std::nullopt;
    constexpr double most = 1 << 20;
    const auto is_whole = [](double scale) { return scale >= 1 && scale <= most && scale == std::floor(scale); };
    if (!scales || scales->size() != rank || !std::all_of(scales->begin() + 2, scales->end(), is_whole))
      return std::nullopt;
    for (std::size_t axis = 2; axis < rank; ++axis) open.scales.push_back(static_cast<std::int64_t>((*scales)[axis]));
  }
  const std::string_view mode = call.text("mode", "nearest"),
                         coordinates = call.text("coordinate_transformation_mode", "half_pixel"),
                         rounding = call.text("nearest_mode", "round_prefer_floor");
  // One pixel is taken from elsewhere by pytorch_half_pixel; images that grow have one of one only.
  open.centred = coordinates == "half_pixel" || (coordinates == "pytorch_half_pixel" && !open.scales.empty());
  open.aligned = coordinates == "align_corners";
  const bool is_plain = coordinates == "asymmetric";
  if (mode == "linear" && (open.centred || open.aligned || is_plain)) return open;
  if (mode == "nearest" && ((is_plain && rounding == "floor") || (open.centred && rounding == "round_prefer_ceil")))
    return open;
  return std::nullopt;
}

namespace {

std::int64_t rounded(double at, std::string_view mode) {
  if (mode == "floor") return static_cast<std::int64_t>(std::floor(at));
  if (mode == "ceil") return static_cast<std::int64_t>(std::ceil(at));
  if (mode == "round_prefer_ceil") return static_cast<std::int64_t>(std::floor(at + 0.5));
  return static_cast<std::int64_t>(std::ceil(at - 0.5));
}

}  // namespace

Ints nearest_places(const Sampling& sampling, std::string_view mode) {
  Ints places;
  for (std::int64_t x = 0; x < sampling.out; ++x)
    places.push_back(std::clamp<std::int64_t>(rounded(sampling.position(x), mode), 0, sampling.in - 1));
  return places;
}

Ints repeated_ends(std::int64_t size, std::int64_t begin, std::int64_t end) {
  Ints places;
  for (std::int64_t at = -begin; at < size + end; ++at) places.push_back(std::clamp<std::int64_t>(at, 0, size - 1));
  return places;
}

bool takes_same(const std::vector<Sampling>& axes, std::string_view mode, std::string_view coordinates,
                std::string_view rounding) {
  return std::all_of(axes.begin(), axes.end(), [&](const Sampling& own) {
    Sampling there = own;
    there.mode = coordinates;
    there.scale = static_cast<double>(own.out) / static_cast<double>(own.in);
    return nearest_places(own, mode) == nearest_places(there, rounding);
  });
}

bool looks_as(const std::vector<Sampling>& axes, std::string_view coordinates) {
  return std::all_of(axes.begin(), axes.end(), [&](const Sampling& own) {
    const bool exact = own.scale == static_cast<double>(own.out) / static_cast<double>(own.in);
    const bool same_mode =
        own.mode == coordinates || (coordinates == "half_pixel" && own.mode == "pytorch_half_pixel" && own.out > 1);
    return same_mode && (exact || coordinates == "align_corners");
  });
}

std::vector<double> linear_weights(const Sampling& sampling) {
  std::vector<double> weights(static_cast<std::size_t>(sampling.in * sampling.out), 0);
  for (std::int64_t x = 0; x < sampling.out; ++x) {
    const double at = sampling.position(x), first = std::floor(at), share = at - first;
    for (const int side : {0, 1}) {
      const auto place = std::clamp<std::int64_t>(static_cast<std::int64_t>(first) + side, 0, sampling.in - 1);
      weights[static_cast<std::size_t>(x * sampling.in + place)] += side == 0 ? 1 - share : share;
    }
  }
  return weights;
}

std::vector<double> cubic_weights(const Sampling& sampling, double a, bool leaves_out) {
  std::vector<double> weights(static_cast<std::size_t>(sampling.in * sampling.out), 0);
  const auto weight = [a](double d) {
    d = std::abs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? a * (((d - 5) * d + 8) * d - 4) : 0;
  };
  for (std::int64_t x = 0; x < sampling.out; ++x) {
    const double at = sampling.position(x), first = std::floor(at);
    double sum = 0;
    for (int tap = -1; tap <= 2; ++tap) {
      const auto place = static_cast<std::int64_t>(first) + tap;
      const bool is_inside = place >= 0 && place < sampling.in;
      if (leaves_out && !is_inside) continue;
      const double share = weight(at - static_cast<double>(place));
      sum += share;
      weights[static_cast<std::size_t>(x * sampling.in + std::clamp<std::int64_t>(place, 0, sampling.in - 1))] += share;
    }
    for (std::int64_t i = 0; leaves_out && i < sampling.in; ++i)
      weights[static_cast<std::size_t>(x * sampling.in + i)] /= sum;
  }
  return weights;
}

}  // namespace onnxkit::foreign
