// Resize, Upsample: each size times its scale, rounded down, or (Resize from version 11 on) the stated sizes. From version 18 on scales and
// sizes may be for some `axes` only, and sizes may keep the aspect ratio.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

/// size * numerator / denominator, rounded down.
Dim scaled_by_ratio(DimPool& dims, Dim size, Dim numerator, std::int64_t denominator) {
  return dims.floor_div(dims.mul(size, numerator), denominator);
}

/// The real as a fraction with a small power of two below it, if it is one.
std::optional<std::pair<std::int64_t, std::int64_t>> small_fraction(double value) {
  for (std::int64_t denominator = 1; denominator <= 1024; denominator *= 2) {
    const double numerator = value * static_cast<double>(denominator);
    if (std::abs(numerator) > 1e9) return std::nullopt;
    if (numerator == std::trunc(numerator)) return std::pair(static_cast<std::int64_t>(numerator), denominator);
  }
  return std::nullopt;
}

/// A fraction p/q for a scale such as 0.6f, which is (p/q)(1 + e), so that every size n up to 2^17 times the scale in single precision rounds
/// down to n*p/q rounded down. Where n*p/q is whole, the product must not round to less: e >= 0, or so small that it vanishes in the rounding,
/// which is up to 2^-25 of any number. Where it is not, it lies 1/q below the next whole number, and n*p/q*(e + 2^-24) stays below that.
std::optional<std::pair<std::int64_t, std::int64_t>> equivalent_fraction(float scale) {
  constexpr std::int64_t largest = 64;  // of p and q: 2^17 * 64 * 2^-23 = 1
  if (!(scale > 0 && scale <= static_cast<float>(largest))) return std::nullopt;
  for (std::int64_t q = 1; q <= largest; ++q) {
    const double product = static_cast<double>(scale) * static_cast<double>(q);
    const double p = std::nearbyint(product);
    if (p < 1 || p > static_cast<double>(largest)) continue;
    const double e = product / p - 1;
    if (e >= -0x1p-25 && e < 0x1p-24) return std::pair(static_cast<std::int64_t>(p), q);
  }
  return std::nullopt;
}

Dim scaled(DimPool& dims, Dim size, const Scalar& scale) {
  if (size.is_unknown() || scale.is_unknown()) return {};
  if (scale.is_integer()) return dims.mul(size, scale.dim());
  if (scale.is_ratio()) return scaled_by_ratio(dims, size, scale.numerator(), scale.denominator());
  const double factor = *scale.constant_real();
  if (size.is_constant()) {
    // In single precision, as implementations do: 10 * 0.7f is 7.
    const float result = std::floor(static_cast<float>(size.constant()) * static_cast<float>(factor));
    constexpr float limit = 9e18F;
    return result >= 0 && result < limit ? Dim(static_cast<std::int64_t>(result)) : Dim();
  }
  auto fraction = small_fraction(factor);
  if (!fraction) fraction = equivalent_fraction(static_cast<float>(factor));
  return fraction ? scaled_by_ratio(dims, size, fraction->first, fraction->second) : Dim();
}

/// Reports scales that are not positive, or below `least`.
void check_scales(InferContext& context, const std::vector<Scalar>& scales, double least, std::string_view code,
                  Where at) {
  for (const Scalar& scale : scales) {
    const auto value = scale.constant_real();
    if (!value || (*value > 0 && *value >= least)) continue;
    context.error({.code = code,
                   .at = at,
                   .message = least > 0 ? "Upsample does not shrink" : "scales must be greater than 0",
                   .expected = least > 0 ? fmt::format("scales of {} or more", least) : "scales greater than 0",
                   .found = fmt::format("{}", *value)});
    return;
  }
}

bool count_differs(InferContext& context, std::optional<std::size_t> count, std::size_t expected, std::string_view what,
                   Where at) {
  if (!count || *count == expected) return false;
  context.error({.code = "shape-mismatch",
                 .at = at,
                 .message = fmt::format("{} requires {} per axis", context.schema().name, what),
                 .expected = fmt::format("{} entries", expected),
                 .found = fmt::format("{} entries", *count)});
  return true;
}

class Resize {
 public:
  explicit Resize(InferContext& context) : context_(context) {
    const bool version_10 = context.since() < 11;
    scales_ = version_10 ? 1 : 2;
    if (!version_10) sizes_ = 3;
  }

  void infer() {
    const Shape* data = context_.input_shape(0);
    if (!says_how_large()) return;
    const bool crops = context_.string("coordinate_transformation_mode") == "tf_crop_and_resize";
    const bool has_roi = !crops || is_given(1);
    if (!has_roi) roi_is_missing();
    if (!data) return context_.lose_shape(0, "the rank of the input is unknown");
    context_.lose_shape_to_content(0, by_sizes_ ? *sizes_ : scales_,
                                   by_sizes_ ? "the sizes are unknown" : "the scales are unknown");
    context_.set_shape(0, unknown_sizes(data->size()));
    axes_ = resized_axes(data->size());
    if (axes_.size() > data->size()) return;
    if (crops && has_roi)
      count_differs(context_, vector_length(context_, 1), 2 * axes_.size(), "a begin and an end in roi", at_input(1));
    context_.set_shape(0, by_sizes_ ? from_sizes(*data) : from_scales(*data, crops));
  }

 private:
  /// Older exporters write an empty tensor for what is not there.
  bool is_given(std::size_t input) const {
    if (!context_.has_input(input)) return false;
    const Shape* shape = context_.input_shape(input);
    return !shape || shape->size() != 1 || !shape->front().is(0);
  }

  bool is_surely_given(std::size_t input) const {
    const auto sizes = constant_input_sizes(context_, input);
    return is_given(input) && sizes && !sizes->empty();
  }

  bool says_how_large() {
    const bool scales = is_given(scales_);
    by_sizes_ = sizes_ && is_given(*sizes_);
    const bool both = sizes_ && is_surely_given(scales_) && is_surely_given(*sizes_);
    if (both || (!scales && !by_sizes_)) {
      context_.error({.code = "exclusive-inputs",
                      .at = at_node(),
                      .message = both ? "both scales and sizes are given" : "neither scales nor sizes are given",
                      .expected = sizes_ ? "either scales or sizes" : "scales",
                      .found = both ? "both" : "neither"});
      context_.lose_shape(0, both ? "both scales and sizes are given" : "neither scales nor sizes are given");
      return false;
    }
    return true;
  }

  void roi_is_missing() {
    context_.error({.code = "missing-input",
                    .at = at_input(1),
                    .message = "tf_crop_and_resize requires the input roi",
                    .expected = "a roi",
                    .found = "none"});
  }

  /// More axes than the input has when they are wrong.
  std::vector<std::size_t> resized_axes(std::size_t rank) {
    if (const auto stated = context_.integers("axes")) {
      const auto axes = resolve_axes(context_, *stated, rank, at_attribute("axes"));
      return axes ? *axes : std::vector<std::size_t>(rank + 1);
    }
    std::vector<std::size_t> all(rank);
    for (std::size_t i = 0; i < rank; ++i) all[i] = i;
    return all;
  }

  Shape from_sizes(const Shape& data) {
    Shape result = data;
    const auto sizes = sizes_from_content(context_, *sizes_);
    demand_length(context_, *sizes_, axes_.size());
    const bool wrong =
        count_differs(context_, vector_length(context_, *sizes_), axes_.size(), "a size", at_input(*sizes_));
    for (std::size_t i = 0; i < axes_.size(); ++i) result[axes_[i]] = !wrong && sizes ? (*sizes)[i] : Dim();
    const std::string_view policy = context_.string("keep_aspect_ratio_policy");
    if (policy == "not_larger" || policy == "not_smaller") keep_aspect_ratio(data, result, policy == "not_larger");
    return result;
  }

  /// All axes get the scale that fits inside (or covers) the stated sizes.
  void keep_aspect_ratio(const Shape& data, Shape& result, bool not_larger) {
    std::optional<double> scale;
    for (const std::size_t axis : axes_) {
      if (!result[axis].is_constant() || !data[axis].is_constant() || data[axis].constant() <= 0) {
        for (const std::size_t unknown : axes_) result[unknown] = Dim();
        return;
      }
      const double own = static_cast<double>(result[axis].constant()) / static_cast<double>(data[axis].constant());
      if (!scale) scale = own;
      scale = not_larger ? std::min(*scale, own) : std::max(*scale, own);
    }
    for (const std::size_t axis : axes_) {
      const double size = std::floor(*scale * static_cast<double>(data[axis].constant()) + 0.5);
      result[axis] = size < 9e18 ? Dim(static_cast<std::int64_t>(size)) : Dim();
    }
  }

  Shape from_scales(const Shape& data, bool crops) {
    Shape result = data;
    demand_length(context_, scales_, axes_.size());
    const bool wrong =
        count_differs(context_, vector_length(context_, scales_), axes_.size(), "a scale", at_input(scales_));
    const Constant* scales = movable_value(context_, scales_);
    if (scales) check_scales(context_, scales->elements, 0, "input-value", at_input(scales_));
    const Constant* roi = crops ? movable_value(context_, 1) : nullptr;
    const bool known = !wrong && scales && scales->elements.size() == axes_.size();
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      Dim& size = result[axes_[i]];
      size = known ? resized(size, scales->elements[i], crops, roi, i) : Dim();
    }
    return result;
  }

  Dim resized(Dim size, const Scalar& scale, bool crops, const Constant* roi, std::size_t i) {
    if (!crops) return scaled(context_.dims(), size, scale);
    if (!roi || roi->elements.size() != 2 * axes_.size()) return {};
    const auto begin = roi->elements[i].constant_real(), end = roi->elements[i + axes_.size()].constant_real();
    const auto factor = scale.constant_real();
    if (!begin || !end || !factor) return {};
    const float part = static_cast<float>(*end - *begin) * static_cast<float>(*factor);  // as the reference computes it
    return scaled(context_.dims(), size, Scalar::real(static_cast<double>(part)));
  }

  InferContext& context_;
  std::size_t scales_;
  std::optional<std::size_t> sizes_;
  bool by_sizes_ = false;
  std::vector<std::size_t> axes_;
};

void infer_resize(InferContext& context) { Resize(context).infer(); }

void upsample(InferContext& context, const std::optional<std::vector<Scalar>>& scales, std::optional<std::size_t> count,
              std::string_view code, Where at) {
  const Shape* data = context.input_shape(0);
  if (scales) check_scales(context, *scales, 1, code, at);
  if (!data) return context.lose_shape(0, "the rank of the input is unknown");
  context.lose_shape_to_content(0, 1, "the scales are unknown");
  if (at.kind == Where::Kind::input) demand_length(context, at.index, data->size());
  Shape result = unknown_sizes(data->size());
  if (!count_differs(context, count, data->size(), "a scale", at) && scales && scales->size() == data->size()) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = scaled(context.dims(), (*data)[i], (*scales)[i]);
  }
  context.set_shape(0, std::move(result));
}

void infer_upsample_1(InferContext& context) {
  if (rank_differs(context, 0, 4)) return;
  const std::vector<Scalar> scales = {Scalar::integer(1), Scalar::integer(1),
                                      Scalar::real(context.real("height_scale", 1)),
                                      Scalar::real(context.real("width_scale", 1))};
  upsample(context, scales, 4, "attribute-value",
           at_attribute(scales[2].constant_real() < 1.0 ? "height_scale" : "width_scale"));
}

void infer_upsample_7(InferContext& context) {
  const auto given = context.reals("scales");
  if (!given) return upsample(context, std::nullopt, std::nullopt, "attribute-value", at_attribute("scales"));
  std::vector<Scalar> scales;
  for (const float scale : *given) scales.push_back(Scalar::real(scale));
  const std::size_t count = scales.size();
  upsample(context, scales, count, "attribute-value", at_attribute("scales"));
}

void infer_upsample_9(InferContext& context) {
  const auto count = vector_length(context, 1);
  const Constant* value = movable_value(context, 1);
  upsample(context, value ? std::optional(value->elements) : std::nullopt, count, "input-value", at_input(1));
}

}  // namespace

void register_resize(InferRegistry& registry) {
  registry.add("Upsample", versions(1, 6), infer_upsample_1, {.inputs = {{1, Role::scales}}});
  registry.add("Upsample", versions(7, 8), infer_upsample_7, {.inputs = {{1, Role::scales}}});
  registry.add("Upsample", since(9), infer_upsample_9, {.inputs = {{1, Role::scales}}});
  registry.add("Resize", versions(1, 10), infer_resize, {.inputs = {{1, Role::scales}}});
  registry.add("Resize", since(11), infer_resize, {.inputs = {{2, Role::scales}, {3, Role::size}}});
}

}  // namespace onnxkit::checker
