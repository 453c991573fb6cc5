#include "libonnxkit/inputs/input_range.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/inputs/readers.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::inputs {
namespace {

using checker::InputRole;
using checker::Role;
using ir::ValueId;

class InputRangeTracer {
 public:
  InputRangeTracer(const ir::Model& model, const spec::OpTable& table, const checker::InferredModel& inferred)
      : table_(table), inferred_(inferred), readers_(model, [this](const Reader& reader) { read(reader); }) {}

  std::optional<InputRange> trace(const ir::Model& model, ValueId input) {
    readers_.follow(*model.graph, model.opset_imports, input, "main");
    return std::move(range_);
  }

 private:
  /// What nodes on the way to the reader add.
  struct Shift {
    std::int64_t least = 0, greatest = 0;
  };
  static constexpr std::int64_t most_shift = std::int64_t{1} << 40;  // a chain of many fits
  static constexpr std::uint64_t most_numbers = 1 << 16;
  static constexpr std::int64_t most_axes = 64;

  void read(const Reader& reader) {
    for (const InputRole& role : checker::traits_of(reader.node, reader.opsets, table_).inputs) {
      if (role.input == reader.input) apply(role, reader);
    }
  }

  void apply(const InputRole& rule, const Reader& reader) {
    const ir::Graph& graph = reader.graph;
    const ir::Node& node = reader.node;
    const std::string at = fmt::format("{} ({})", reader.place, node.op_type.view());
    const auto axis_attribute = [&](const char* name, std::int64_t fallback) {
      const ir::Attribute* found = node.find_attribute(name);
      const auto* number = found ? found->as<std::int64_t>() : nullptr;
      return number ? *number : fallback;
    };
    switch (rule.role) {
      case Role::moved:
        for (const ValueId output : node.outputs) readers_.follow(graph, reader.opsets, output, reader.where);
        return;
      case Role::shifted:
        return follow_shifted(rule, reader);
      case Role::size:
        return narrow(1, 4, "a size or number of passes at " + at);
      case Role::index:
        return below(graph, node, 0, axis_attribute("axis", 0), 0, "indices", at);
      case Role::row:
        return below(graph, node, rule.other, 0, 0, "indices", at);
      case Role::label:
        return below(graph, node, 0, 1, 0, "labels", at);
      case Role::length:
        return below(graph, node, 0, axis_attribute("layout", 0), 1, "lengths", at);
      case Role::time:
        return below(graph, node, 0, axis_attribute("time_axis", 0), 1, "lengths", at);
      case Role::count:
        return below(graph, node, 0, axis_attribute("axis", -1), 1, "a count", at);
      case Role::stretched:
        return stretch(reader, at);
      case Role::pieces:
        return parts_of(graph, node, axis_attribute("axis", 0), at);
      case Role::scales:
        if (!is_shifted()) range_ = {InputRange::Form::scales, 0, 0, {}, "scales at " + at};
        return;
      case Role::share:
        if (!range_) range_ = {InputRange::Form::shares, 0, 1, {}, "from 0 to 1, for " + at};
        return;
      case Role::axes:
      case Role::unit_axes:
      case Role::new_axes:
        return one_of_axes(axes_for(rule, reader), at);
      case Role::index_nd:
        for (std::int64_t axis = 0; axis < rank(graph, node, 0); ++axis) below(graph, node, 0, axis, 0, "indices", at);
        return;
      case Role::counted:
      case Role::compared:
      case Role::like_input:
      case Role::like_output:
      case Role::joined:
      case Role::mapped:
        return;
    }
  }

  /// Where what is added is known.
  void follow_shifted(const InputRole& rule, const Reader& reader) {
    const std::size_t other = rule.other;
    if (other >= reader.node.inputs.size() || reader.node.inputs[other] == ValueId::none) return;
    const auto added = known_numbers(reader.graph, reader.node.inputs[other]);
    if (!added || added->least < -most_shift || added->greatest > most_shift) return;
    const Shift before = shift_;
    shift_ = {before.least + added->least, before.greatest + added->greatest};
    for (const ValueId output : reader.node.outputs) readers_.follow(reader.graph, reader.opsets, output, reader.where);
    shift_ = before;
  }
  /// The least and the greatest integer that a constant holds. Inference knows initializers only where it asked for them.
  std::optional<Shift> known_numbers(const ir::Graph& graph, ValueId id) const {
    const checker::ValueInfo* info = inferred_.find(graph, id);
    std::vector<std::int64_t> numbers;
    if (const auto known = info && info->value ? info->value->constants() : std::nullopt) {
      numbers = *known;
    } else {
      const ir::Tensor* const tensor = initializer_of(graph, id);
      auto elements = tensor ? ir::ElementReader::open(*tensor) : std::nullopt;
      if (!elements || elements->count() > most_numbers || is_floating(elements->type())) return std::nullopt;
      std::vector<double> values(elements->count());
      values.resize(elements->read(values));
      for (const double value : values) {
        if (std::abs(value) > static_cast<double>(most_shift)) return std::nullopt;
        numbers.push_back(static_cast<std::int64_t>(value));
      }
    }
    if (numbers.empty()) return std::nullopt;
    const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
    return Shift{*least, *greatest};
  }
  bool is_shifted() const { return shift_.least != 0 || shift_.greatest != 0; }

  const checker::Shape* shape(const ir::Graph& graph, const ir::Node& node, std::size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input] == ValueId::none) return nullptr;
    const checker::ValueInfo* info = inferred_.find(graph, node.inputs[input]);
    return info && info->type.shape ? &*info->type.shape : nullptr;
  }
  std::int64_t rank(const ir::Graph& graph, const ir::Node& node, std::size_t input) const {
    const checker::Shape* known = shape(graph, node, input);
    return known ? static_cast<std::int64_t>(known->size()) : 0;
  }

  /// From `low` (0 for positions, 1 for lengths) up to what an axis of an input allows.
  void below(const ir::Graph& graph, const ir::Node& node, std::size_t input, std::int64_t axis, std::int64_t low,
             std::string_view what, const std::string& at) {
    const auto size = size_of_axis(graph, node, input, axis);
    if (!size || *size < 1) return;
    narrow(low, *size - 1 + low, fmt::format("{} on axis {} of size {} at {}", what, axis, *size, at));
  }

  void parts_of(const ir::Graph& graph, const ir::Node& node, std::int64_t axis, const std::string& at) {
    if (const auto size = size_of_axis(graph, node, 0, axis); size && !is_shifted())
      range_ = {
          InputRange::Form::parts, 0, *size, {}, fmt::format("parts of axis {} of size {} at {}", axis, *size, at)};
  }

  /// Axes that the numbers at `input` may name; none where that is not known.
  std::vector<std::int64_t> axes_for(const InputRole& rule, const Reader& reader) const {
    const checker::Shape* data = shape(reader.graph, reader.node, 0);
    const checker::Shape* named = shape(reader.graph, reader.node, reader.input);
    if (!data || !named) return {};
    const bool is_list = named->size() == 1 && named->front().is_constant() && named->front().constant() <= most_axes;
    const std::int64_t count = is_list ? named->front().constant() : 1;
    const std::int64_t all =
        static_cast<std::int64_t>(data->size()) + (rule.role == Role::new_axes ? count : -std::int64_t{rule.other});
    const auto is_one = [&](std::int64_t axis) {
      const checker::Dim& size = (*data)[static_cast<std::size_t>(axis)];
      return size.is_constant() && size.constant() == 1;
    };
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = 0; axis < all; ++axis)
      if (rule.role != Role::unit_axes || is_one(axis)) axes.push_back(axis);
    return axes;
  }

  /// The sizes of input 0 from its last axis on; where those are not known, or there are fewer elements, any.
  void stretch(const Reader& reader, const std::string& at) {
    const checker::Shape* data = shape(reader.graph, reader.node, 0);
    const checker::Shape* named = shape(reader.graph, reader.node, reader.input);
    const bool is_list = named && named->size() == 1 && named->front().is_constant();
    const std::int64_t count = is_list ? named->front().constant() : 0;
    if (!data || !is_list || count > most_axes || is_shifted()) return narrow(1, 4, "sizes at " + at);
    if (range_) return;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(count), 1);
    for (std::size_t i = 1; i <= std::min(sizes.size(), data->size()); ++i) {
      const checker::Dim& size = (*data)[data->size() - i];
      if (size.is_constant()) sizes[sizes.size() - i] = size.constant();
    }
    range_ = {InputRange::Form::sizes, 1, 4, std::move(sizes), "sizes at " + at};
  }

  void one_of_axes(std::vector<std::int64_t> axes, const std::string& at) {
    if (!range_ && !axes.empty() && !is_shifted()) {
      const std::int64_t last = axes.back();
      range_ = {InputRange::Form::axes, axes.front(), last, std::move(axes), "axes at " + at};
    }
  }

  /// `axis` is counted from the front afterwards.
  std::optional<std::int64_t> size_of_axis(const ir::Graph& graph, const ir::Node& node, std::size_t input,
                                           std::int64_t& axis) const {
    const checker::Shape* known = shape(graph, node, input);
    if (!known) return std::nullopt;
    if (axis < 0) axis += static_cast<std::int64_t>(known->size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(known->size())) return std::nullopt;
    const checker::Dim size = (*known)[static_cast<std::size_t>(axis)];
    return size.is_constant() ? std::optional(size.constant()) : std::nullopt;
  }

  void narrow(std::int64_t low, std::int64_t high, std::string reason) {
    low -= shift_.least;
    high -= shift_.greatest;
    if (low > high) return;
    if (!range_) {
      range_ = {InputRange::Form::between, low, high, {}, std::move(reason)};
    } else if (range_->form == InputRange::Form::between && (low > range_->low || high < range_->high)) {
      range_ = {
          InputRange::Form::between, std::max(low, range_->low), std::min(high, range_->high), {}, std::move(reason)};
    }
  }

  Shift shift_;
  const spec::OpTable& table_;
  const checker::InferredModel& inferred_;
  Readers readers_;
  std::optional<InputRange> range_;
};

}  // namespace

std::optional<InputRange> range_of_input(const ir::Model& model, const spec::OpTable& table,
                                         const checker::InferredModel& inferred, ValueId input) {
  return InputRangeTracer(model, table, inferred).trace(model, input);
}

}  // namespace onnxkit::inputs
