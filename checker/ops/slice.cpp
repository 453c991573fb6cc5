// Slice: from `starts` to `ends` by `steps` along `axes`, as in numpy: negative positions count from the end, all are clamped. Attributes
// without steps in version 1, inputs from version 10 on.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

/// What is written for "to the end": no axis is that long.
constexpr std::int64_t far_away = 2147483647;

/// One of the lists of positions: constants from an attribute, anything from an input.
struct Positions {
  std::optional<Shape> values;
  std::optional<std::size_t> length;
  Where at;
};

Positions from_attribute(InferContext& context, std::string_view name) {
  Shape entries;
  if (const auto* list = context.list_as_written<std::int64_t>(name)) entries.assign(list->begin(), list->end());
  return {.values = entries, .length = entries.size(), .at = at_attribute(name)};
}

Positions from_input(InferContext& context, std::size_t input) {
  const IntegerList list = list_from_input(context, input);
  Positions positions{.values = {}, .length = list.length, .at = list.at};
  const Constant* value = movable_value(context, input);
  if (value && value->shape.size() == 1) positions.values = value->dims();
  return positions;
}

class Slice {
 public:
  explicit Slice(InferContext& context) : context_(context), dims_(context.dims()) {}

  void infer() {
    read();
    const Shape* data = context_.input_shape(0);
    context_.lose_shape_to_content(0, content_input(), "the start and end of the slice are unknown");
    if (lengths_differ() || step_is_zero()) return;
    if (!data) return context_.lose_shape(0, "the rank of the input is unknown");
    if (!starts_.length || *starts_.length > data->size()) {
      if (starts_.length) too_many(data->size());
      return context_.set_shape(0, unknown_sizes(data->size()));
    }
    const auto axes = sliced_axes(data->size());
    if (!axes) return;
    Shape result = *data;
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const std::size_t axis = (*axes)[i];
      result[axis] =
          sliced_size((*data)[axis], entry(starts_, i), entry(ends_, i), has_steps_ ? entry(steps_, i) : Dim(1));
    }
    context_.set_shape(0, std::move(result));
    move_elements(*axes);
  }

 private:
  void read() {
    if (context_.since() < 10) {
      starts_ = from_attribute(context_, "starts");
      ends_ = from_attribute(context_, "ends");
      has_axes_ = context_.has_attribute("axes");
      if (has_axes_) axes_ = from_attribute(context_, "axes");
      return;
    }
    starts_ = from_input(context_, 1);
    ends_ = from_input(context_, 2);
    has_axes_ = context_.has_input(3);
    has_steps_ = context_.has_input(4);
    if (has_axes_) axes_ = from_input(context_, 3);
    if (has_steps_) steps_ = from_input(context_, 4);
    if (!starts_.length) starts_.length = ends_.length;
    if (!starts_.length && has_axes_) starts_.length = axes_.length;
  }

  /// The first list whose content is not known.
  std::size_t content_input() const {
    std::size_t input = 1;
    for (const Positions* list : {&starts_, &ends_, &axes_, &steps_}) {
      if (context_.has_input(input) && !list->values) return input;
      ++input;
    }
    return 1;
  }

  static Dim entry(const Positions& list, std::size_t i) {
    return list.values && i < list.values->size() ? (*list.values)[i] : Dim();
  }

  bool lengths_differ() {
    for (const Positions* list : {&ends_, has_axes_ ? &axes_ : nullptr, has_steps_ ? &steps_ : nullptr}) {
      if (!list || !list->length || !starts_.length || *list->length == *starts_.length) continue;
      context_.error({.code = list->at.kind == Where::Kind::attribute ? "attribute-length" : "shape-mismatch",
                      .at = list->at,
                      .message = "starts, ends, axes and steps must have the same length",
                      .expected = fmt::format("{} entries, as many as starts has", *starts_.length),
                      .found = fmt::format("{} entries", *list->length)});
      return true;
    }
    return false;
  }

  bool step_is_zero() {
    if (!has_steps_ || !steps_.values) return false;
    if (std::find(steps_.values->begin(), steps_.values->end(), Dim(0)) == steps_.values->end()) return false;
    context_.error({.code = "input-value",
                    .at = steps_.at,
                    .message = "the step must not be 0",
                    .expected = "steps other than 0",
                    .found = context_.text(*steps_.values)});
    return true;
  }

  void too_many(std::size_t rank) {
    context_.error({.code = "axis-range",
                    .at = has_axes_ ? axes_.at : starts_.at,
                    .message = "more axes are sliced than the input has",
                    .expected = fmt::format("at most {} entries", rank),
                    .found = fmt::format("{} entries", *starts_.length)});
  }

  std::optional<std::vector<std::size_t>> sliced_axes(std::size_t rank) {
    std::vector<std::size_t> axes(*starts_.length);
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = i;
    if (!has_axes_) return axes;
    std::vector<std::int64_t> stated;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const Dim axis = entry(axes_, i);
      if (!axis.is_constant()) {
        context_.lose_shape_to_content(0, 3, "the sliced axes are unknown");
        context_.set_shape(0, unknown_sizes(rank));
        return std::nullopt;
      }
      stated.push_back(axis.constant());
    }
    return resolve_axes(context_, stated, rank, axes_.at);
  }

  /// `position` counted from the begin; unknown when it may be of either sign.
  Dim from_begin(Dim position, Dim size) {
    if (position.is_unknown()) return {};
    if (dims_.always_at_least(position, 0)) return position;
    const auto highest = dims_.upper_bound(position);
    return highest && *highest < 0 ? dims_.add(position, size) : Dim();
  }

  /// `position` counted from the begin and clamped to [0, size], of whatever sign: where it is negative, size is added.
  Dim begin_of(Dim position, Dim size) {
    if (const Dim counted = from_begin(position, size); !counted.is_unknown()) return clamped(counted, 0, size);
    const Dim is_negative = dims_.min(dims_.max(dims_.mul(position, -1), 0), 1);
    const Dim from_end = dims_.mul(is_negative, dims_.max(dims_.add(position, size), 0));
    return dims_.add(clamped(position, 0, size), from_end);
  }

  Dim clamped(Dim position, Dim low, Dim high) { return dims_.max(dims_.min(position, high), low); }

  Dim sliced_size(Dim size, Dim start, Dim end, Dim step) {
    if (!step.is_constant() || size.is_unknown()) return {};
    if (step.constant() > 0) {
      const Dim begin = begin_of(start, size);
      const bool to_end = end.is_constant() && end.constant() >= far_away;
      const Dim stop = to_end ? size : begin_of(end, size);
      return dims_.max(dims_.ceil_div(dims_.sub(stop, begin), step), 0);
    }
    if (step.constant() == INT64_MIN) return {};
    const Dim last = dims_.sub(size, 1);
    const bool from_end = start.is_constant() && start.constant() >= far_away;
    const bool to_begin = end.is_constant() && end.constant() <= -far_away;
    // A slice starts at 0 at the lowest; before that, at -1, lies only the end of an empty axis.
    const Dim position = from_begin(start, size);
    const bool inside = !position.is_unknown() && dims_.always_at_least(position, -1);
    const bool stays = inside && (position == last || dims_.always_at_least(position, 0));
    const Dim lowest = stays ? Dim(-1) : inside ? dims_.min(last, 0) : Dim(0);
    const Dim begin = from_end ? last : clamped(position, lowest, last);
    const Dim stop = to_begin ? Dim(-1) : clamped(from_begin(end, size), -1, last);
    const Dim count = dims_.max(dims_.ceil_div(dims_.sub(begin, stop), -step.constant()), 0);
    return inside || from_end ? count : dims_.min(count, size);
  }

  void move_elements(const std::vector<std::size_t>& axes) {
    const Constant* value = movable_value(context_, 0);
    if (!value) return;
    std::vector<std::int64_t> begins(value->shape.size(), 0), steps(value->shape.size(), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t size = value->shape[axes[i]];
      const Dim start = entry(starts_, i), step = has_steps_ ? entry(steps_, i) : Dim(1);
      if (!start.is_constant() || !step.is_constant()) return;
      const std::int64_t position = start.constant() < 0 ? start.constant() + size : start.constant();
      steps[axes[i]] = step.constant();
      begins[axes[i]] = step.constant() > 0 ? std::clamp<std::int64_t>(position, 0, size)
                                            : std::clamp<std::int64_t>(position, 0, size - 1);
    }
    set_picked(context_, value->type, [&](std::span<const std::int64_t> at) {
      std::vector<std::int64_t> source(at.begin(), at.end());
      for (std::size_t axis = 0; axis < source.size(); ++axis) source[axis] = begins[axis] + source[axis] * steps[axis];
      return value->elements[flat_index(value->shape, source)];
    });
  }

  InferContext& context_;
  DimPool& dims_;
  Positions starts_, ends_, axes_, steps_;
  bool has_axes_ = false, has_steps_ = false;
};

void infer_slice(InferContext& context) { Slice(context).infer(); }

}  // namespace

void register_slice(InferRegistry& registry) {
  registry.add("Slice", all_versions(), infer_slice, {.inputs = {{0, Role::moved}, {3, Role::axes}}});
}

}  // namespace onnxkit::checker
