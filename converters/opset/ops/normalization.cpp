#include <array>
#include <optional>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// The shape of an image [N, C, H, W] for Reshape; none where the input has it, or may have it.
std::optional<List> two_image_axes(Step& step) {
  const auto rank = step.rank(step.input(0));
  if (!rank || *rank == 4 || *rank < 2) return std::nullopt;
  return *rank == 2 ? List{0, 0, 1, 1} : *rank == 3 ? List{0, 0, 0, 1} : List{0, 0, 0, -1};
}

/// Version 1 speaks of images [N, C, H, W] only.
void with_two_image_axes(Step& step) {
  const auto four = two_image_axes(step);
  if (!four) return;
  const ValueId shape = step.add("Shape", {step.input(0)});
  step.set_input(0, reshape(step, step.input(0), *four, "image"));
  const ValueId y = step.value("normalized");
  step.set_output(0, y);
  step.then();
  step.emit("Reshape", {y, shape}, {step.output(0)});
  step.note("reshaped to four axes before, restored after");
}

// ---- BatchNormalization

/// The node on x in place of its first input and on statistics of this shape; its results get their own shapes back.
void on_reshaped(Step& step, ValueId x, const List& statistics, std::string_view hint) {
  std::vector<std::pair<ValueId, ValueId>> shaped;  // the shape of each output that the node gives
  for (std::size_t k = 0; k < 5; ++k) {
    if (k < step.output_count() && step.output(k) != ValueId::none)
      shaped.emplace_back(step.add("Shape", {step.input(k == 0 ? 0 : k % 2 == 1 ? 3 : 4)}), step.output(k));
  }
  step.set_input(0, x);
  for (std::size_t k = 1; k < 5; ++k) step.set_input(k, reshape(step, step.input(k), statistics, hint));
  std::vector<ValueId> results;
  for (std::size_t k = 0; k < step.output_count(); ++k) {
    if (step.output(k) == ValueId::none) continue;
    results.push_back(step.value(hint));
    step.set_output(k, results.back());
  }
  step.then();
  for (std::size_t i = 0; i < results.size(); ++i)
    step.emit("Reshape", {results[i], shaped[i].first}, {shaped[i].second});
}

void batch_to_1(Step& step) {
  step.set({"consumed_inputs", List{0, 0, 0, 1, 1}});
  const auto four = two_image_axes(step);
  const auto rank = step.rank(step.input(0)), of_scale = step.rank(step.input(1));
  const bool per_position = step.integer("spatial") == 0 && four && of_scale.value_or(*rank - 1) == *rank - 1;
  if (!per_position) return with_two_image_axes(step);
  on_reshaped(step, reshape(step, step.input(0), *four, "image"), List(four->begin() + 1, four->end()), "image");
  step.note("reshaped to four axes before, with statistics per position; shapes restored after");
}

bool has_statistics(const Step& step) {
  for (std::size_t k = 1; k < step.output_count(); ++k) {
    if (step.output(k) != ValueId::none) return true;
  }
  return false;
}

/// Until version 13 five outputs mean training.
void name_statistics(Step& step) {
  static constexpr std::string_view names[] = {"", "mean", "var", "saved_mean", "saved_var"};
  for (std::size_t k = 1; k < std::size(names); ++k) {
    if (step.output(k) == ValueId::none) step.set_output(k, step.value(names[k]));
  }
}

void test_by_outputs(Step& step) {
  const bool trains = step.integer("is_test") == 0;
  step.remove("is_test");
  if (trains) return name_statistics(step);
  for (std::size_t k = 1; k < step.output_count(); ++k) {
    if (step.is_used(k)) refuse("statistics outputs are read, but they are undefined because is_test is set");
  }
  if (step.output_count() > 1) step.drop_outputs(1);
}

void test_by_attribute(Step& step) {
  const bool trains = has_statistics(step);
  step.set({"is_test", std::int64_t{trains ? 0 : 1}});
  if (trains) name_statistics(step);
}

/// Statistics for each position of an image: every position is a channel of a two-dimensional tensor.
void positions_to_channels(Step& step) {
  if (step.integer("spatial") != 0) return step.remove("spatial");
  step.remove("spatial");
  const ValueId flat = step.add("Flatten", {step.input(0)}, {{"axis", std::int64_t{1}}}, "flat");
  on_reshaped(step, flat, {-1}, "flat");
  step.note("statistics per position: flattened before, shapes restored after");
}

/// Before version 9 there is a channel axis always.
void with_channel_axis(Step& step) {
  if (step.rank(step.input(0)) != 1) return;
  step.set_input(0, unsqueeze(step, step.input(0), {1}, "with_channel"));
  const ValueId y = step.value("normalized");
  step.set_output(0, y);
  step.then();
  step.emit("Squeeze", {y}, {step.output(0)}, {{"axes", List{1}}});
}

/// The first type that is known of the values.
ElementType any_elem(Step& step, std::initializer_list<std::size_t> inputs) {
  for (const std::size_t k : inputs) {
    if (const ElementType type = step.elem(step.input(k)); type != ElementType::undefined) return type;
  }
  return step.need_elem(step.input(*inputs.begin()));
}

/// Mean and variance of the batch itself: running statistics that start at 0 and forget at once.
void emit_saved(Step& step) {
  const ValueId nothing = step.number(any_elem(step, {3, 4, 0, 1, 2}), 0, "nothing");
  const ValueId zeros = step.add("Expand", {nothing, step.add("Shape", {step.input(3)})}, {}, "zeros");
  step.emit("BatchNormalization", {step.input(0), step.input(1), step.input(2), zeros, zeros},
            {step.value("again"), step.output(3) == ValueId::none ? step.value("saved_mean") : step.output(3),
             step.output(4) == ValueId::none ? step.value("saved_var") : step.output(4)},
            {{"training_mode", std::int64_t{1}}, {"momentum", 0.0F}, {"epsilon", step.real("epsilon")}});
}

void mode_by_attribute(Step& step) {
  if (!has_statistics(step)) return;
  step.set({"training_mode", std::int64_t{1}});
  const bool saved = step.is_used(3) || step.is_used(4);
  if (step.output_count() > 3) step.drop_outputs(3);
  if (!saved) return;
  step.then();
  emit_saved(step);
  step.note("training_mode is set; the saved statistics come from a second node");
}

/// Until version 14 all values have one type, until 13 no bfloat16: the widest is computed in.
void to_one_type(Step& step) {
  ElementType widest = ElementType::undefined;
  bool same = true;
  for (std::size_t k = 0; k < 5; ++k) {
    const ElementType type = step.elem(step.input(k));
    if (type == ElementType::undefined) return;
    same = same && (k == 0 || type == widest);
    widest = k == 0 ? type : wider(widest, type);
  }
  const bool is_there = widest != ElementType::bfloat16 || step.opset_after() >= 14;
  if (same && is_there) return;
  if (!is_there) widest = ElementType::float32;
  for (std::size_t k = 0; k < 5; ++k) step.set_input(k, cast(step, step.input(k), widest, "widened"));
  std::vector<std::array<ValueId, 2>> narrowed;
  for (std::size_t k = 0; k < step.output_count(); ++k) {
    if (step.output(k) == ValueId::none || step.elem(step.input(k == 0 ? 0 : 3)) == widest) continue;
    narrowed.push_back({step.value("wide"), step.output(k)});
    step.set_output(k, narrowed.back()[0]);
  }
  step.then();
  for (const auto& [from, to] : narrowed) {
    const ElementType type = to == step.output(0) ? step.elem(step.input(0)) : step.elem(step.input(3));
    step.emit("Cast", {from}, {to}, {{"to", static_cast<std::int64_t>(type)}});
  }
  step.note("computed in a single type");
}

void mode_by_outputs(Step& step) {
  const bool trains = step.integer("training_mode") != 0;
  step.remove("training_mode");
  if (!trains && step.output_count() > 1) step.drop_outputs(1);
  to_one_type(step);
  if (trains) name_statistics(step);
}

void register_batch(StepRegistry& registry) {
  const StepRegistry::Names op = {"BatchNormalization"};
  registry.change(op, 6, drop_attribute("consumed_inputs"), adapt("wrote consumed_inputs", batch_to_1));
  registry.change(op, 7, adapt("the number of outputs selects training or test mode", test_by_outputs),
                  adapt("is_test selects training or test mode", test_by_attribute));
  registry.change(op, 9, adapt("statistics are per channel", positions_to_channels),
                  adapt("the input has a channel axis", with_channel_axis));
  registry.change(op, 14, adapt("training_mode is set", mode_by_attribute),
                  adapt("the number of outputs selects training or test mode", mode_by_outputs));
  registry.change(op, 15, compatible("more combinations of types"), adapt("computed in a single type", to_one_type));
}

// ---- normalizations that older versions do in steps

/// x in another type, whatever the one of the two that is known.
ValueId in_type(Step& step, ValueId x, ElementType from, ElementType to, std::string_view hint) {
  if (from == to) return x;
  return step.add("Cast", {x}, {{"to", static_cast<std::int64_t>(to)}}, hint);
}

/// The last node of a composition: writes an output of the node, which may have another type than what was computed in.
void write(Step& step, std::string_view op, std::vector<ValueId> inputs, ValueId output, ElementType from,
           ElementType to) {
  if (from == to) {
    step.emit(op, std::move(inputs), {output});
    return;
  }
  const ValueId wide = step.add(op, std::move(inputs), {}, "unrounded");
  step.emit("Cast", {wide}, {output}, {{"to", static_cast<std::int64_t>(to)}});
}

/// Precision of the statistics: what stash_type asks for, or more.
ElementType working_type(Step& step, ElementType x) {
  const auto stash = static_cast<ElementType>(step.integer("stash_type", 1));
  const ElementType least = wider(x, ElementType::float32);
  return stash == ElementType::float64 ? stash : least;
}

struct Normalized {
  ValueId y = ValueId::none, mean = ValueId::none, deviation = ValueId::none;
};

/// (x - mean) / sqrt(mean of the squares of that + epsilon); without the mean when not `centred`.
Normalized normalize(Step& step, ValueId x, ElementType type, const List& axes, double epsilon, bool centred) {
  Normalized result;
  if (centred) {
    result.mean = reduce(step, "ReduceMean", x, axes, true, "mean");
    x = step.add("Sub", {x, result.mean}, {}, "centred");
  }
  const ValueId variance = reduce(step, "ReduceMean", step.add("Mul", {x, x}, {}, "squares"), axes, true, "variance");
  const ValueId raised = step.add("Add", {variance, step.number(type, epsilon, "epsilon")}, {}, "raised");
  result.deviation = step.add("Sqrt", {raised}, {}, "deviation");
  result.y = step.add("Div", {x, result.deviation}, {}, "normalized");
  return result;
}

/// The axes from `axis` on. Where the rank is not known x becomes two-dimensional, and `shape` is the way back.
struct LastAxes {
  List axes;
  ValueId x = ValueId::none, shape = ValueId::none;
};

LastAxes last_axes(Step& step, ValueId x) {
  const std::int64_t axis = step.integer("axis", -1);
  const auto rank = step.rank(x);
  LastAxes last{{}, x};
  if (axis >= 0 && !rank) {
    last.x = step.add("Flatten", {x}, {{"axis", axis}}, "rows");
    last.shape = step.add("Shape", {x});
    last.axes = {1};
    return last;
  }
  const std::int64_t first = axis < 0 && rank ? axis + *rank : axis, end = rank.value_or(0);
  for (std::int64_t i = first; i < end; ++i) last.axes.push_back(i);
  return last;
}

/// Of a shape: 1 from `axis` on.
ValueId statistics_shape(Step& step, ValueId shape, std::int64_t axis) {
  const ValueId count = step.add("Sub", {step.add("Shape", {shape}), step.vector(List{axis})}, {}, "count");
  const ValueId ones = step.add("Expand", {step.vector(List{1}), count}, {}, "ones");
  return step.add("Concat", {slice(step, shape, 0, 0, axis), ones}, {{"axis", std::int64_t{0}}}, "statistics_shape");
}

/// Scale and bias are applied in the working precision, too; the result is rounded once.
void layer_in_steps(Step& step) {
  const ElementType type = step.need_elem(step.input(0)), work = working_type(step, type);
  const auto stash = static_cast<ElementType>(step.integer("stash_type", 1));
  const LastAxes last = last_axes(step, step.input(0));
  const ValueId x = in_type(step, last.x, type, work, "wide");
  const Normalized n = normalize(step, x, work, last.axes, double{step.real("epsilon")}, true);
  ValueId y = last.shape == ValueId::none ? n.y : step.add("Reshape", {n.y, last.shape}, {}, "shaped");
  const ValueId scale = in_type(step, step.input(1), type, work, "scale");
  if (step.has_input(2)) {
    y = step.add("Mul", {y, scale}, {}, "scaled");
    write(step, "Add", {y, in_type(step, step.input(2), type, work, "bias")}, step.output(0), work, type);
  } else {
    write(step, "Mul", {y, scale}, step.output(0), work, type);
  }
  ValueId mean = n.mean, deviation = n.deviation;
  if (last.shape != ValueId::none && (step.is_used(1) || step.is_used(2))) {
    const ValueId shape = statistics_shape(step, last.shape, step.integer("axis"));
    mean = step.add("Reshape", {mean, shape}, {}, "mean");
    deviation = step.add("Reshape", {deviation, shape}, {}, "deviation");
  }
  if (step.is_used(1)) step.emit("Cast", {mean}, {step.output(1)}, {{"to", static_cast<std::int64_t>(stash)}});
  if (step.is_used(2)) write(step, "Reciprocal", {deviation}, step.output(2), work, stash);
  step.replace();
}

void rms_in_steps(Step& step) {
  const ElementType type = step.need_elem(step.input(0)), result = step.need_elem(step.input(1));
  const ElementType work = wider(working_type(step, type), result);
  const LastAxes last = last_axes(step, step.input(0));
  const ValueId x = in_type(step, last.x, type, work, "wide");
  ValueId y = normalize(step, x, work, last.axes, double{step.real("epsilon")}, false).y;
  if (last.shape != ValueId::none) y = step.add("Reshape", {y, last.shape}, {}, "shaped");
  write(step, "Mul", {y, in_type(step, step.input(1), result, work, "scale")}, step.output(0), work, result);
  step.replace();
}

/// Groups as rows; scale and bias have one element for each group or, else, for each channel.
void group_in_steps(Step& step, bool scaled_by_group) {
  const ElementType type = step.need_elem(step.input(0)), work = working_type(step, type);
  const ValueId shape = step.add("Shape", {step.input(0)});
  const ValueId x = in_type(step, step.input(0), type, work, "wide");
  const ValueId groups = reshape(step, x, {0, step.integer("num_groups"), -1}, "groups");
  const Normalized n = normalize(step, groups, work, {2}, double{step.real("epsilon", 1e-5F)}, true);
  ValueId y = n.y;
  if (!scaled_by_group) {
    const ValueId image = step.add("Reshape", {y, shape}, {}, "image");
    y = reshape(step, image, {0, 0, -1}, "channels");
  }
  const auto row = [&](std::size_t input, std::string_view hint) {
    return reshape(step, in_type(step, step.input(input), type, work, hint), {1, -1, 1}, hint);
  };
  y = step.add("Mul", {y, row(1, "scale")}, {}, "scaled");
  y = step.add("Add", {y, row(2, "bias")}, {}, "biased");
  write(step, "Reshape", {y, shape}, step.output(0), work, type);
  step.replace();
}

/// One element for each group, repeated for its channels.
void scale_by_channel(Step& step) {
  const std::int64_t groups = step.integer("num_groups");
  const checker::Shape* shape = step.shape(step.input(0));
  ValueId repeats = ValueId::none;
  if (shape && shape->size() >= 2 && (*shape)[1].is_constant() && groups > 0) {
    repeats = step.vector(List{1, (*shape)[1].constant() / groups}, "repeats");
  } else {
    const ValueId channels =
        step.add("Shape", {step.input(0)}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}}, "channels");
    const ValueId each = step.add("Div", {channels, step.vector(List{groups})}, {}, "channels_of_group");
    repeats = step.add("Concat", {step.vector(List{1}), each}, {{"axis", std::int64_t{0}}}, "repeats");
  }
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    const ValueId column = reshape(step, step.input(input), {-1, 1}, "column");
    step.set_input(input, reshape(step, step.add("Expand", {column, repeats}), {-1}, "by_channel"));
  }
  // Version 18 computes in the type of the input.
  if (step.elem(step.input(0)) == ElementType::float64)
    step.set({"stash_type", static_cast<std::int64_t>(ElementType::float64)});
}

/// In double, where equal elements have a deviation of exactly 0.
void mean_variance_in_steps(Step& step) {
  const ElementType type = step.need_elem(step.input(0)), work = ElementType::float64;
  List axes = step.integers("axes").value_or(List{0, 2, 3});
  for (std::int64_t& axis : axes) axis = counted_from_front(step, axis, step.input(0));
  const ValueId x = in_type(step, step.input(0), type, work, "wide");
  const ValueId centred = step.add("Sub", {x, reduce(step, "ReduceMean", x, axes, true, "mean")}, {}, "centred");
  const ValueId squares = step.add("Mul", {centred, centred}, {}, "squares");
  const ValueId deviation =
      step.add("Sqrt", {reduce(step, "ReduceMean", squares, axes, true, "variance")}, {}, "deviation");
  const ValueId raised = step.add("Add", {deviation, step.number(work, double{1e-9F}, "epsilon")}, {}, "raised");
  write(step, "Div", {centred, raised}, step.output(0), work, type);
  step.replace();
}

}  // namespace

void register_normalization(StepRegistry& registry) {
  register_batch(registry);
  registry.change({"InstanceNormalization"}, 6, drop_attribute("consumed_inputs"),
                  adapt("two spatial axes", with_two_image_axes));
  registry.introduced({"LayerNormalization"}, 17, adapt("rewritten as means and a quotient", layer_in_steps));
  registry.introduced({"RMSNormalization"}, 23, adapt("rewritten as a mean of squares and a quotient", rms_in_steps));
  registry.introduced({"GroupNormalization"}, 18,
                      adapt("rewritten as means and a quotient", [](Step& step) { group_in_steps(step, true); }));
  registry.change({"GroupNormalization"}, 21, adapt("scale and bias repeated per channel", scale_by_channel),
                  adapt("rewritten as means and a quotient", [](Step& step) { group_in_steps(step, false); }));
  registry.introduced({"MeanVarianceNormalization"}, 9,
                      adapt("rewritten as means and a quotient", mean_variance_in_steps));
  registry.types({"InstanceNormalization", "LpNormalization"}, {22});
  registry.types({"MeanVarianceNormalization", "LRN"}, {13});
}

}  // namespace onnxkit::opset
