#include <algorithm>
#include <limits>

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// No size of the value is 0, whatever the model is given.
bool is_never_empty(const Step& step, ValueId value) {
  const auto sizes = step.sizes(value);
  return sizes && std::find(sizes->begin(), sizes->end(), 0) == sizes->end();
}

/// A Reshape to computed sizes that mean what they say, 0 too.
ValueId reshape_to(Step& step, ValueId x, ValueId sizes, bool may_be_zero, std::string_view hint) {
  if (!may_be_zero) return step.add("Reshape", {x, sizes}, {}, hint);
  if (step.opset_after() < 14)
    refuse_unknown("whether the tensor is empty is unknown, and Reshape supports sizes of 0 from opset 14 on");
  return step.add("Reshape", {x, sizes}, {{"allowzero", std::int64_t{1}}}, hint);
}

// ---- axes: an attribute until ReduceSum 11 and the others' 13, then an input

/// Each element on its own. What does more than reduce gets an axis of one element to work on.
void reduce_nothing(Step& step) {
  const std::string_view op = step.node().op_type;
  const bool is_identity =
      op == "ReduceSum" || op == "ReduceMean" || op == "ReduceMax" || op == "ReduceMin" || op == "ReduceProd";
  if (is_identity) {
    step.emit("Identity", {step.input(0)}, {step.output(0)});
    step.replace();
    return step.note("reduces over no axes: rewritten as Identity");
  }
  step.set_input(0, unsqueeze(step, step.input(0), {0}, "with_axis"));
  step.drop_inputs(1);
  step.remove("noop_with_empty_axes");
  step.set({"axes", List{0}});
  step.set({"keepdims", std::int64_t{0}});
  step.note("reduces over no axes: rewritten along an axis of one element");
}

/// By axis of a tensor of this rank 1 where it is reduced, else 0.
ValueId reduced_flags(Step& step, ValueId given, std::int64_t rank, bool empty_is_all) {
  std::vector<double> from_front, from_back;
  for (std::int64_t i = 0; i < rank; ++i) {
    from_front.push_back(static_cast<double>(i));
    from_back.push_back(static_cast<double>(i - rank));
  }
  const ValueId axes = step.rank(given) ? given : reshape(step, given, {-1}, "axes");
  const ValueId front = step.add("Equal", {step.numbers(ElementType::int64, {rank, 1}, from_front), axes}, {}, "hits");
  const ValueId back = step.add("Equal", {step.numbers(ElementType::int64, {rank, 1}, from_back), axes}, {}, "hits");
  const ValueId hits = cast(step, step.add("Or", {front, back}, {}, "hits"), ElementType::int64, "hits");
  ValueId count = reduce(step, "ReduceSum", hits, {1}, false, "hit_count");
  const auto sizes = step.sizes(given);
  if (empty_is_all && !(sizes && sizes->size() == 1 && sizes->front() > 0)) {
    const ValueId is_empty = step.add("Equal", {step.add("Size", {axes}, {}, "axis_count"), step.scalar(0)});
    count = step.add("Add", {count, cast(step, is_empty, ElementType::int64)}, {}, "hit_count");
  }
  return cast(step, cast(step, count, ElementType::boolean), ElementType::int64, "is_reduced");
}

/// Of a tensor without elements nothing is reduced, whichever axes: one such result is spread over the shape.
void reduce_empty(Step& step, ValueId sizes) {
  const ValueId fill = step.value("of_nothing");
  step.drop_inputs(1);
  step.remove("noop_with_empty_axes");
  step.set({"keepdims", std::int64_t{0}});
  step.set_output(0, fill);
  step.then();
  step.emit("Expand", {fill, sizes}, {step.output(0)});
  step.note("axes are computed and the tensor is empty: the result of an empty reduction is expanded to the shape");
}

/// Each axis becomes two: a kept one has its size and 1, a reduced one 1 and its size. Then it is always the second ones that are reduced.
void reduce_computed(Step& step, bool noop) {
  const ValueId x = step.input(0);
  const std::int64_t rank = step.need_rank(x);
  const auto known_sizes = step.sizes(x);
  const bool keep = step.integer("keepdims", 1) == 1, may_be_empty = !is_never_empty(step, x);
  const ValueId reduced = reduced_flags(step, step.input(1), rank, !noop);
  const ValueId kept = step.add("Sub", {step.vector(List(static_cast<std::size_t>(rank), 1)), reduced}, {}, "is_kept");
  const ValueId sizes = step.add("Shape", {x}, {}, "sizes");
  const ValueId first = step.add("Add", {step.add("Mul", {sizes, kept}, {}, "kept_sizes"), reduced}, {}, "first_sizes");
  const auto sizes_left = [&] {
    const ValueId is_kept = cast(step, kept, ElementType::boolean);
    return step.add("Compress", {first, is_kept}, {{"axis", std::int64_t{0}}}, "sizes_left");
  };
  if (known_sizes && may_be_empty) return reduce_empty(step, keep ? first : sizes_left());
  const ValueId second =
      step.add("Add", {step.add("Mul", {sizes, reduced}, {}, "reduced_sizes"), kept}, {}, "second_sizes");
  const ValueId pairs = step.add("Concat", {unsqueeze(step, first, {1}), unsqueeze(step, second, {1})},
                                 {{"axis", std::int64_t{1}}}, "size_pairs");
  const ValueId wide = reshape_to(step, x, reshape(step, pairs, {-1}, "sizes_in_pairs"), may_be_empty, "axes_in_pairs");
  List axes;
  for (std::int64_t i = 0; i < rank; ++i) axes.push_back(2 * i + 1);
  step.set_input(0, wide);
  step.drop_inputs(1);
  step.remove("noop_with_empty_axes");
  step.set({"axes", axes});
  step.set({"keepdims", std::int64_t{0}});
  step.note("axes are computed: each axis is split in two, and the second is reduced");
  if (keep) return;
  const ValueId result = step.value("with_all_axes");
  step.set_output(0, result);
  step.then();
  const ValueId y = reshape_to(step, result, sizes_left(), may_be_empty, "reduced");
  step.emit("Identity", {y}, {step.output(0)});
}

void axes_to_attribute(Step& step) {
  const bool noop = step.integer("noop_with_empty_axes") != 0;
  List axes;
  if (step.has_input(1)) {
    const auto constant = step.constant_integers(step.input(1));
    if (!constant && step.need_rank(step.input(0)) > 0) return reduce_computed(step, noop);
    axes = constant.value_or(List());
  }
  if (axes.empty() && noop) return reduce_nothing(step);
  step.drop_inputs(1);
  step.remove("noop_with_empty_axes");
  if (!axes.empty()) step.set({"axes", axes});
}

// ---- types

/// Of nothing, the extreme of bytes is an end of their range.
void bytes_by_way_of_reals(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (type != ElementType::int8 && type != ElementType::uint8) return;
  if (is_never_empty(step, step.input(0))) return static_cast<void>(take_detour(step, {{type, ElementType::int32}}));
  const bool is_signed = type == ElementType::int8;
  step.set_input(0, cast(step, step.input(0), ElementType::float32, "real"));
  const ValueId extreme = step.value("extreme");
  step.set_output(0, extreme);
  step.then();
  const ValueId least = step.number(ElementType::float32, is_signed ? -128 : 0, "least");
  const ValueId most = step.number(ElementType::float32, is_signed ? 127 : 255, "greatest");
  cast_into(step, step.add("Clip", {extreme, least, most}, {}, "in_range"), type, step.output(0));
  step.note("8-bit integers are reduced as float, which represents them exactly");
}

void copy_attributes(const Step& step, ir::Node& to) {
  for (const ir::Attribute& attribute : step.node().attributes) to.attributes.push_back(clone(attribute));
}

/// The sum is one of integers of 64 bits, its logarithm one of reals.
void log_sum_of_integers(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (!is_integer(type)) return;
  const bool may_wrap = type == ElementType::int32 || type == ElementType::uint32;
  std::vector<ValueId> inputs = step.node().inputs;
  if (may_wrap) inputs[0] = cast(step, inputs[0], ElementType::int64, "wide");
  const ValueId sum = step.value("sum");
  copy_attributes(step, step.emit("ReduceSum", inputs, {sum}));
  const ValueId real = cast(step, sum, ElementType::float64, "sum_as_real");
  cast_into(step, step.add("Log", {real}, {}, "log"), type, step.output(0));
  step.replace();
  step.note("the logarithm is computed in double");
}

void log_sum_exp_of_integers(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (!is_integer(type)) return;
  step.set_input(0, cast(step, step.input(0), ElementType::float64, "real"));
  const ValueId real = step.value("as_real");
  step.set_output(0, real);
  step.then();
  cast_into(step, real, type, step.output(0));
  step.note("computed in double");
}

// ---- ArgMax, ArgMin

/// The first index when going backwards, made non-negative.
void last_as_first_of_reversed(Step& step) {
  if (step.integer("select_last_index") == 0) return step.remove("select_last_index");
  const ValueId x = step.input(0);
  const std::int64_t axis = step.integer("axis");
  const checker::Shape* shape = step.shape(x);
  const std::int64_t from_front = axis < 0 && shape ? axis + static_cast<std::int64_t>(shape->size()) : axis;
  const bool is_axis = shape && from_front >= 0 && static_cast<std::size_t>(from_front) < shape->size();
  const checker::Dim size = is_axis ? (*shape)[static_cast<std::size_t>(from_front)] : checker::Dim();
  ValueId reversed, last;
  if (size.is_constant() && is_foldable(List{size.constant()})) {
    List backward;
    for (std::int64_t i = size.constant(); i > 0; --i) backward.push_back(i - 1);
    reversed = step.add("Gather", {x, step.vector(backward)}, {{"axis", axis}}, "reversed");
    last = step.scalar(size.constant() - 1, "last");
  } else {
    const ValueId from = step.vector(List{-1}), axes = step.vector(List{axis});
    const ValueId to = step.vector(List{std::numeric_limits<std::int64_t>::min()});
    reversed = step.add("Slice", {x, from, to, axes, from}, {}, "reversed");
    const ValueId count = step.add("Gather", {step.add("Shape", {x}), step.scalar(axis)}, {}, "count");
    last = step.add("Sub", {count, step.scalar(1)}, {}, "last");
  }
  const ValueId first = step.value("first");
  step.set_input(0, reversed);
  step.remove("select_last_index");
  step.set_output(0, first);
  step.then();
  step.emit("Sub", {last, first}, {step.output(0)});
  step.note("the last position is the first one on the reversed axis");
}

// ---- CumSum, CumProd

struct Running {
  std::string_view op;
  double start;
};

/// Totals along a fixed axis. `others`: the sizes of the other axes.
void run_along(Step& step, const Running& running, ElementType type, ValueId x, std::int64_t axis, std::int64_t rank,
               ValueId others, ValueId result) {
  const bool exclusive = step.integer("exclusive") != 0;
  step.begin_body();
  const ValueId before = step.body_input("total", type);
  const ValueId element = step.body_input("element", type);
  const ValueId after = step.add(running.op, {before, element}, {}, "next_total");
  step.body_output(after, type);
  step.body_output(step.add("Identity", {exclusive ? before : after}, {}, "running"), type, rank - 1);
  ir::Attribute body = step.end_body("body");
  const ValueId first = step.value("start");
  step.emit("ConstantOfShape", {others}, {first})
      .attributes.push_back(step.attribute("value", step.tensor(type, {1}, {running.start})));
  const std::int64_t direction = step.integer("reverse") != 0 ? 1 : 0;
  ir::Node& scan = step.emit("Scan", {first, x}, {step.value("total"), result},
                             {{"num_scan_inputs", std::int64_t{1}},
                              {"scan_input_axes", List{axis}},
                              {"scan_input_directions", List{direction}},
                              {"scan_output_axes", List{axis}},
                              {"scan_output_directions", List{direction}}});
  scan.attributes.push_back(std::move(body));
}

/// The axis is computed: everything before it becomes one axis, everything behind it another.
void run_along_middle(Step& step, const Running& running, ElementType type, ValueId x, ValueId result) {
  const ValueId shape = step.add("Shape", {step.input(0)}, {}, "shape");
  const bool may_be_zero = !is_never_empty(step, step.input(0));
  const ValueId given = reshape(step, cast(step, step.input(1), ElementType::int64), {1}, "axis");
  const ValueId is_negative = cast(step, step.add("Less", {given, step.vector(List{0})}), ElementType::int64);
  const ValueId to_front = step.add("Mul", {is_negative, step.add("Size", {shape}, {}, "rank")});
  const ValueId axis = step.add("Add", {given, to_front}, {}, "axis_from_front");
  const ValueId next = step.add("Add", {axis, step.vector(List{1})}, {}, "next_axis");
  const ValueId end = step.vector(List{std::numeric_limits<std::int64_t>::max()});
  const auto product = [&](ValueId from, ValueId to, std::string_view hint) {
    return reduce(step, "ReduceProd", step.add("Slice", {shape, from, to}), {0}, true, hint);
  };
  const ValueId before = product(step.vector(List{0}), axis, "before"), behind = product(next, end, "behind");
  const ValueId size = step.add("Gather", {shape, axis}, {}, "size");
  const Attr along{"axis", std::int64_t{0}};
  const ValueId flat =
      reshape_to(step, x, step.add("Concat", {before, size, behind}, {along}), may_be_zero, "three_axes");
  const ValueId totals = step.value("totals");
  run_along(step, running, type, flat, 1, 3, step.add("Concat", {before, behind}, {along}, "other_sizes"), totals);
  step.emit("Identity", {reshape_to(step, totals, shape, may_be_zero, "in_shape")}, {result});
}

void run_along_known(Step& step, const Running& running, ElementType type, ValueId x, std::int64_t axis,
                     ValueId result) {
  const std::int64_t rank = step.need_rank(step.input(0));
  if (axis < 0) axis += rank;
  List others;
  for (std::int64_t i = 0; i < rank; ++i) {
    if (i != axis) others.push_back(i);
  }
  const ValueId shape = step.add("Shape", {step.input(0)}, {}, "shape");
  const ValueId sizes = step.add("Gather", {shape, step.vector(others)}, {}, "other_sizes");
  if (is_never_empty(step, step.input(0))) return run_along(step, running, type, x, axis, rank, sizes, result);
  // A Scan that takes no step does not know the sizes of what it would have collected.
  const ValueId totals = step.value("totals");
  run_along(step, running, type, x, axis, rank, sizes, totals);
  step.emit("Reshape", {totals, shape}, {result});
}

/// Types of 16 bits are added up in float: rounding each total of many loses digits.
void as_scan(Step& step, const Running& running) {
  const ElementType given = step.need_elem(step.input(0));
  const bool is_narrow = given == ElementType::float16 || given == ElementType::bfloat16;
  const ElementType type = is_narrow ? ElementType::float32 : given;
  const ValueId x = cast(step, step.input(0), type);
  const ValueId result = is_narrow ? step.value("wide") : step.output(0);
  const auto axis = step.constant_integers(step.input(1));
  if (axis && axis->size() == 1 && step.rank(step.input(0)))
    run_along_known(step, running, type, x, axis->front(), result);
  else
    run_along_middle(step, running, type, x, result);
  if (is_narrow) cast_into(step, result, given, step.output(0));
  step.replace();
}

void sum_as_scan(Step& step) { as_scan(step, {"Add", 0}); }
void product_as_scan(Step& step) { as_scan(step, {"Mul", 1}); }

void register_log_of_integers(StepRegistry& registry) {
  const Way down = compatible("integers are allowed again");
  registry.change({"ReduceLogSum"}, 28,
                  adapt("integers are summed, and their logarithm is computed in double", log_sum_of_integers), down);
  registry.change({"ReduceLogSumExp"}, 28, adapt("integers are computed in double", log_sum_exp_of_integers), down);
}

}  // namespace

void register_reduce(StepRegistry& registry) {
  const StepRegistry::Names all = {"ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                                   "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum",       "ReduceSumSquare"};
  const StepRegistry::Names but_sum = {"ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
                                       "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSumSquare"};
  registry.change(all, 11, compatible("axes may also be negative"), nonnegative_axes("axes"));
  registry.change({"ReduceMax", "ReduceMin"}, 12, compatible("8-bit integers are also allowed"),
                  adapt("8-bit integers are reduced in a wider type", bytes_by_way_of_reals));
  registry.types(but_sum, {13});
  const Way to_attribute = adapt("axes become an attribute", axes_to_attribute);
  registry.change({"ReduceSum"}, 13, attribute_to_input("axes", 1), to_attribute);
  registry.change(but_sum, 18, attribute_to_input("axes", 1), to_attribute);
  registry.change({"ReduceMax", "ReduceMin"}, 20, compatible("booleans are also allowed"),
                  by_way_of({{ElementType::boolean, ElementType::uint8}}));
  register_log_of_integers(registry);

  registry.change({"ArgMax", "ArgMin"}, 11, compatible("axis may also be negative"), nonnegative_axis("axis"));
  registry.change({"ArgMax", "ArgMin"}, 12, compatible("the first position is selected by default"),
                  adapt("the last position is found on the reversed axis", last_as_first_of_reversed));
  registry.types({"ArgMax", "ArgMin"}, {13});

  registry.introduced({"CumSum"}, 11, adapt("rewritten as Scan", sum_as_scan));
  registry.change({"CumSum"}, 14, compatible("16-bit types are also allowed"),
                  by_way_of(through_float32({ElementType::float16, ElementType::bfloat16})));
  registry.introduced({"CumProd"}, 26, adapt("rewritten as Scan", product_as_scan));
}

}  // namespace onnxkit::opset
