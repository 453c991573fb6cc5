// Operators on two or more inputs. Integers that an older version lacks are compared and computed in types that hold them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "converters/opset/compose/bitwise.h"
#include "converters/opset/compose/broadcast.h"
#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/select.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

// ---- two inputs until opset 6

/// What gives the same with its operands exchanged; empty when nothing does.
std::string_view swapped_operator(std::string_view op) {
  if (op == "Less") return "Greater";
  if (op == "Greater") return "Less";
  return op == "Sub" || op == "Div" || op == "Pow" ? std::string_view() : op;
}

void to_limited(Step& step) { to_limited_broadcast(step, swapped_operator(step.node().op_type)); }

// ---- 32-bit integers until opset 5

/// `op` with one number.
ValueId with_number(Step& step, std::string_view op, ValueId x, double number) {
  return step.add(op, {x, step.number(ElementType::float64, number)}, {{"broadcast", std::int64_t{1}}});
}

/// x less the multiple of `range` that leaves at least `least`.
ValueId within(Step& step, ValueId x, double range, double least) {
  ValueId count = with_number(step, "Mul", x, 1 / range);
  if (least != 0) count = with_number(step, "Sub", count, least / range);
  return step.add("Sub", {x, with_number(step, "Mul", step.add("Floor", {count}), range)}, {}, "within");
}

/// Exact in float64; products by halves of A. What is beyond 32 bits wraps; what is divided by 0 becomes 0, as everywhere (docs/semantics.md).
void wrapping_arithmetic(Step& step) {
  constexpr double half_range = 65536, range = 4294967296;
  const ElementType type = step.elem(step.input(0));
  if (type != ElementType::int32 && type != ElementType::uint32) return;
  const std::string_view op = step.node().op_type;
  const ValueId a = cast(step, step.input(0), ElementType::float64, "wide");
  const ValueId b = cast(step, step.input(1), ElementType::float64, "wide");
  const auto placed = [&](std::string_view with, ValueId left, ValueId right, std::string_view hint) {
    const ValueId result = step.value(hint);
    ir::Node& made = step.emit(with, {left, right}, {result});
    for (const ir::Attribute& attribute : step.node().attributes) made.attributes.push_back(clone(attribute));
    return result;
  };
  const auto apply = [&](ValueId left, std::string_view hint) { return placed(op, left, b, hint); };
  ValueId result = ValueId::none;
  if (op == "Div") {
    const ValueId counts =
        cast(step, cast(step, step.input(1), ElementType::boolean, "counts"), ElementType::float64, "counts");
    const ValueId divisor = step.add("Sub", {with_number(step, "Add", b, 1), counts}, {}, "divisor");
    result = placed("Div", placed("Mul", a, counts, "dividend"), divisor, "result");
  } else if (op == "Mul") {
    const ValueId high = step.add("Floor", {with_number(step, "Mul", a, 1 / half_range)}, {}, "high");
    const ValueId low = step.add("Sub", {a, with_number(step, "Mul", high, half_range)}, {}, "low");
    const ValueId high_part =
        with_number(step, "Mul", within(step, apply(high, "high_part"), half_range, 0), half_range);
    result = step.add("Add", {apply(low, "low_part"), high_part}, {}, "product");
  } else {
    result = apply(a, "result");
  }
  cast_into(step, within(step, result, range, type == ElementType::int32 ? -range / 2 : 0), type, step.output(0));
  step.replace();
}

// ---- several inputs until opset 7

/// Add broadcasts at opset 7. More than two are not added one by one: the operator may keep digits that each sum would round off.
void two_of_any_shapes(Step& step) {
  ValueId sum = step.add("Add", {step.input(0), step.input(1)}, {}, "sum");
  if (step.node().op_type == "Mean")
    sum = step.add("Div", {sum, step.number(step.need_elem(step.input(0)), 2, "count")}, {}, "mean");
  step.emit("Identity", {sum}, {step.output(0)});
  step.replace();
  step.note("rewritten as Add, which broadcasts");
}

void to_equal_shapes(Step& step) {
  if (step.input_count() == 1) return;
  const std::string_view op = step.node().op_type;
  const bool ranks_known =
      std::all_of(step.node().inputs.begin(), step.node().inputs.end(), [&](ValueId id) { return step.rank(id); });
  if (!ranks_known && step.input_count() == 2 && (op == "Sum" || op == "Mean")) return two_of_any_shapes(step);
  const std::vector<ValueId> values = with_common_shape(step, step.node().inputs);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != step.input(i)) step.set_input(i, values[i]);
  }
}

/// Reals that hold whole numbers and keep their order.
Detours comparable_integers() {
  Detours detours = through_float32({ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16});
  detours.push_back({ElementType::int32, ElementType::float64});
  detours.push_back({ElementType::uint32, ElementType::float64});
  return detours;
}

/// Max and Min of 64-bit integers by comparing; there is no NaN to look after.
void chosen_by_comparison(Step& step) {
  if (!is_integer(step.elem(step.input(0))) || take_detour(step, comparable_integers())) return;
  const bool is_max = step.node().op_type == "Max";
  ValueId best = step.input(0);
  for (std::size_t i = 1; i < step.input_count(); ++i) {
    const ValueId next = step.input(i);
    const ValueId is_better = step.add(is_max ? "Greater" : "Less", {next, best}, {}, "is_better");
    best = step.add("Where", {is_better, next, best}, {}, "best");
  }
  step.emit("Identity", {best}, {step.output(0)});
  step.replace();
  step.note("rewritten as comparisons and Where");
}

// ---- comparisons

/// 64-bit numbers in parts that float64 holds: multiples of 2^32, and what is left.
struct Halves {
  ValueId high, low;
};

Halves halves(Step& step, ValueId x, ElementType type, ElementType as) {
  const ValueId factor = step.number(type, 4294967296.0, "factor");
  const ValueId high = step.add("Div", {x, factor}, {}, "high");
  const ValueId low = step.add("Sub", {x, step.add("Mul", {high, factor}, {}, "multiple")}, {}, "low");
  return {cast(step, high, as, "high_part"), cast(step, low, as, "low_part")};
}

/// Less and Greater of integers for opset 8, which compares reals.
void compare_as_reals(Step& step) {
  const ElementType type = step.elem(step.input(0));
  if (type != ElementType::int64 && type != ElementType::uint64) {
    take_detour(step, comparable_integers());
    return;
  }
  const std::string_view op = step.node().op_type;
  const Halves a = halves(step, step.input(0), type, ElementType::float64);
  const Halves b = halves(step, step.input(1), type, ElementType::float64);
  const ValueId by_high = step.add(op, {a.high, b.high}, {}, "by_high_part");
  const ValueId other = step.add(op, {b.high, a.high}, {}, "otherwise");
  const ValueId is_level = step.add("Not", {step.add("Or", {by_high, other}, {}, "differs")}, {}, "is_level");
  const ValueId by_low = step.add("And", {is_level, step.add(op, {a.low, b.low}, {}, "by_low_part")}, {}, "by_low");
  step.emit("Or", {by_high, by_low}, {step.output(0)});
  step.replace();
}

/// Equal for opset 10, which knows booleans and two types of integers.
void equal_of_other_types(Step& step) {
  const ElementType type = step.elem(step.input(0));
  const ValueId a = step.input(0), b = step.input(1);
  if (is_floating(type)) {
    const ValueId differs = step.add(
        "Or", {step.add("Less", {a, b}, {}, "is_less"), step.add("Greater", {a, b}, {}, "is_greater")}, {}, "differs");
    const ValueId are_numbers =
        step.add("And", {is_number(step, a, type), is_number(step, b, type)}, {}, "are_numbers");
    step.emit("And", {step.add("Not", {differs}, {}, "is_level"), are_numbers}, {step.output(0)});
    return step.replace();
  }
  if (type == ElementType::uint64) {
    const Halves left = halves(step, a, type, ElementType::int64), right = halves(step, b, type, ElementType::int64);
    step.emit("And",
              {step.add("Equal", {left.high, right.high}, {}, "high_equal"),
               step.add("Equal", {left.low, right.low}, {}, "low_equal")},
              {step.output(0)});
    return step.replace();
  }
  Detours detours = narrow_through_int32();
  detours.push_back({ElementType::uint32, ElementType::int64});
  take_detour(step, detours);
}

void or_equal(Step& step) {
  const bool is_less = step.node().op_type == "LessOrEqual";
  const ValueId strictly = step.add(is_less ? "Less" : "Greater", {step.input(0), step.input(1)}, {}, "strictly");
  const ValueId equal = step.add("Equal", {step.input(0), step.input(1)}, {}, "equal");
  step.emit("Or", {strictly, equal}, {step.output(0)});
  step.replace();
}

// ---- Pow

void exponent_without_bfloat16(Step& step) {
  if (step.elem(step.input(1)) == ElementType::bfloat16)
    step.set_input(1, cast(step, step.input(1), ElementType::float32, "wider"));
}

/// Wraps as Pow of integers does.
void multiply_integers(Step& step, ElementType type) {
  constexpr std::int64_t largest = 64;
  const auto exponent = step.constant_integers(step.input(1));
  if (!exponent || exponent->size() != 1 || step.rank(step.input(1)) != 0 || (*exponent)[0] < 0 ||
      (*exponent)[0] > largest)
    refuse("an integer power can be rewritten as products only for a single, small, non-negative constant exponent");
  ValueId power = step.add("Mul", {step.input(0), step.number(type, 0, "zero")}, {}, "zeros");
  power = step.add("Add", {power, step.number(type, 1, "one")}, {}, "ones");
  for (std::int64_t i = 0; i < (*exponent)[0]; ++i) power = step.add("Mul", {power, step.input(0)}, {}, "power");
  step.emit("Identity", {power}, {step.output(0)});
  step.replace();
}

/// Until opset 11 both inputs are reals of one type.
void pow_of_one_type(Step& step) {
  const ElementType base = step.need_elem(step.input(0)), exponent = step.need_elem(step.input(1));
  if (base == exponent && is_floating(base)) return;
  if (is_integer(base) && is_integer(exponent)) return multiply_integers(step, base);
  const ValueId x = cast(step, step.input(0), ElementType::float64, "wide");
  const ValueId y = cast(step, step.input(1), ElementType::float64, "wide");
  cast_into(step, step.add("Pow", {x, y}, {}, "power"), base, step.output(0));
  step.replace();
  step.note("in float64");
}

// ---- Clip

/// The default of a bound is that of the type, so the number that version 6 states for it is not written out.
void clip_without_consumed_inputs(Step& step) {
  ir::Node& made = step.emit("Clip", {step.input(0)}, {step.output(0)});
  for (const std::string_view bound : {"min", "max"}) {
    if (const ir::Attribute* given = step.node().find_attribute(bound)) made.attributes.push_back(clone(*given));
  }
  step.replace();
}

void bounds_to_inputs(Step& step) {
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const std::string_view name = i == 1 ? "min" : "max";
    if (!step.has(name)) continue;
    step.set_input(i, step.number(step.need_elem(step.input(0)), step.real(name), name));
    step.remove(name);
  }
}

/// Of reals, by Max and Min: a bound that is NaN does nothing.
void clip_by_limits(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  ValueId x = step.input(0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    ValueId bound = step.input(i);
    const double sign = i == 1 ? -1 : 1;
    if (bound == ValueId::none) {
      bound = step.number(type, sign * largest_finite(type), "bound");
    } else if (const auto known = step.constant_real(bound); !known || std::isnan(*known)) {
      const ValueId none = step.number(type, sign * std::numeric_limits<double>::infinity(), "no_bound");
      bound = step.add("Where", {is_number(step, bound, type), bound, none}, {}, "bound");
    }
    x = step.add(i == 1 ? "Max" : "Min", {x, bound}, {}, "bounded");
  }
  step.emit("Identity", {x}, {step.output(0)});
  step.replace();
  step.note("rewritten as Max and Min");
}

/// Of integers, by comparison.
void clip_by_choices(Step& step) {
  ValueId x = step.input(0);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const ValueId bound = step.input(i);
    if (bound == ValueId::none) continue;
    const ValueId is_beyond = step.add(i == 1 ? "Less" : "Greater", {x, bound}, {}, "is_beyond");
    x = step.add("Where", {is_beyond, bound, x}, {}, "bounded");
  }
  step.emit("Identity", {x}, {step.output(0)});
  step.replace();
  step.note("rewritten as comparisons and Where");
}

/// What an attribute must say for a constant bound; nullopt when float32 does not hold it or it is computed.
std::optional<float> bound_as_attribute(const Step& step, std::size_t input) {
  const auto value = step.constant_real(step.input(input));
  if (!value) return std::nullopt;
  const float infinity = std::numeric_limits<float>::infinity();
  if (std::isnan(*value)) return input == 1 ? -infinity : infinity;
  const auto narrow = static_cast<float>(*value);
  return static_cast<double>(narrow) == *value ? std::optional(narrow) : std::nullopt;
}

void bounds_to_attributes(Step& step) {
  const auto low = bound_as_attribute(step, 1), high = bound_as_attribute(step, 2);
  if ((step.has_input(1) && !low) || (step.has_input(2) && !high)) return clip_by_limits(step);
  if (low) step.set({"min", low && high ? std::min(*low, *high) : *low});
  if (high) step.set({"max", *high});
  if (step.input_count() > 1) step.drop_inputs(1);
}

void integers_by_choices(Step& step) {
  if (is_integer(step.elem(step.input(0))) && !take_detour(step, comparable_integers())) clip_by_choices(step);
}

/// What min above max means is said from version 13 on: max.
void order_bounds(Step& step) {
  if (!step.has_input(1) || !step.has_input(2)) return;
  const auto low = step.constant_real(step.input(1)), high = step.constant_real(step.input(2));
  if (low && high && !(*high < *low)) return;
  const ValueId is_above = step.add("Less", {step.input(2), step.input(1)}, {}, "is_above");
  step.set_input(1, step.add("Where", {is_above, step.input(2), step.input(1)}, {}, "min"));
  step.note("min must not exceed max, because version 12 does not define that case");
}

// ---- PRelu

/// A slope for each channel gets its place; sizes that follow it are 1.
void slope_to_numpy(Step& step) {
  const ValueId slope = step.input(1);
  const auto rank = step.rank(step.input(0)), own = step.rank(slope);
  const auto sizes = step.sizes(slope);
  if (sizes && std::all_of(sizes->begin(), sizes->end(), [](std::int64_t size) { return size == 1; })) return;
  if (rank && *rank <= 2 && own == 1) return;
  if (rank && own == 1) {
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 1; i < *rank - 1; ++i) axes.push_back(i);
    return step.set_input(1, unsqueeze(step, slope, axes, "placed"));
  }
  // As many ones as the input has axes behind that of the channels; a tensor of one axis has none, a scalar has no channels either.
  const ValueId shape = step.add("Shape", {step.input(0)}, {}, "shape");
  const ValueId x_rank = cast(step, step.add("Shape", {shape}, {}, "rank"), ElementType::float32, "rank");
  const ValueId two = step.vector(std::vector<float>{2}, "two");
  const ValueId behind = step.add("Relu", {step.add("Sub", {x_rank, two}, {}, "behind")}, {}, "behind");
  const ValueId count = cast(step, behind, ElementType::int64, "behind");
  const ValueId has_axes =
      cast(step, cast(step, x_rank, ElementType::boolean, "has_axes"), ElementType::int64, "has_axes");
  const ValueId channels = step.add("Neg", {ones(step, has_axes)}, {}, "channels");
  const ValueId target = step.add("Concat", {channels, ones(step, count)}, {{"axis", std::int64_t{0}}}, "slope_shape");
  step.set_input(1, step.add("Reshape", {slope, target}, {}, "placed"));
}

/// Every element a channel of its own: the input as one row, the slope of full shape as its channels.
void slope_for_each_element(Step& step) {
  const auto sizes = step.sizes(step.input(0));
  if (!sizes)
    refuse_unknown(
        "the sizes of the input must be known for a slope that is neither a single element nor one per channel");
  if (std::find(sizes->begin(), sizes->end(), 0) != sizes->end()) refuse("the input is empty");
  const std::vector<ValueId> values = with_common_shape(step, {step.input(0), step.input(1)});
  const auto row = [&](ValueId value) { return step.add("Flatten", {value}, {{"axis", std::int64_t{0}}}, "row"); };
  const ValueId flat = row(step.input(0));
  const ValueId slope = squeeze(step, row(values[1]), {0}, "slopes");
  const ValueId result = step.add("PRelu", {flat, slope}, {}, "result");
  step.emit("Reshape", {result, step.vector(*sizes, "shape")}, {step.output(0)});
  step.replace();
  step.note("each element as a channel");
}

void slope_to_channels(Step& step) {
  const checker::Shape* slope = step.shape(step.input(1));
  if (!slope) refuse_unknown("the shape of the slope is unknown");
  if (std::all_of(slope->begin(), slope->end(), [](checker::Dim size) { return size.is(1); })) return;
  const std::int64_t rank = step.need_rank(step.input(0));
  const auto own = static_cast<std::int64_t>(slope->size());
  std::vector<std::int64_t> dropped;
  bool is_per_channel = rank >= 2 && own >= rank - 1;
  for (std::int64_t i = 0; i < own && is_per_channel; ++i) {
    if (rank - own + i == 1) continue;
    is_per_channel = (*slope)[static_cast<std::size_t>(i)].is(1);
    dropped.push_back(i);
  }
  if (!is_per_channel) return slope_for_each_element(step);
  if (!dropped.empty()) step.set_input(1, squeeze(step, step.input(1), dropped, "per_channel"));
}

/// Integers for opset 8: where x is negative times the slope, else times 1.
void prelu_of_integers(Step& step) {
  const ValueId x = step.input(0);
  const ElementType type = step.elem(x);
  if (!is_integer(type)) return;
  if (type == ElementType::uint32 || type == ElementType::uint64) {
    step.emit("Identity", {x}, {step.output(0)});
    return step.replace();
  }
  const ValueId real = cast(step, x, ElementType::float64, "wide");
  const ValueId is_below = step.add("Less", {real, step.number(ElementType::float64, 0, "zero")}, {}, "is_below");
  const ValueId below = cast(step, is_below, type, "below");
  const ValueId above = cast(step, step.add("Not", {is_below}, {}, "is_above"), type, "above");
  const ValueId slope = step.add("Mul", {below, step.input(1)}, {}, "slope");
  step.emit("Mul", {x, step.add("Add", {slope, above}, {}, "factor")}, {step.output(0)});
  step.replace();
}

void register_comparisons(StepRegistry& registry) {
  const Way wider = compatible("more types are allowed");
  registry.change({"Less", "Greater"}, 9, wider,
                  adapt("integers computed as floating-point numbers", compare_as_reals));
  registry.change({"Equal"}, 11, wider, adapt("other types computed by comparisons", equal_of_other_types));
  registry.types({"Less", "Greater", "Equal"}, {13});
  registry.types({"Equal"}, {19});
  registry.introduced({"LessOrEqual", "GreaterOrEqual"}, 12,
                      adapt("rewritten as Less or Greater, and Equal", or_equal));
  registry.change({"LessOrEqual", "GreaterOrEqual"}, 16, wider, by_way_of(through_float32()));
}

void register_clip_and_prelu(StepRegistry& registry) {
  const Way wider = compatible("more types are allowed");
  registry.change({"Clip"}, 6, drop_attribute("consumed_inputs"),
                  adapt("bounds are unchanged", clip_without_consumed_inputs));
  registry.change({"Clip"}, 11, adapt("bounds become inputs", bounds_to_inputs),
                  adapt("bounds become attributes", bounds_to_attributes));
  registry.change({"Clip"}, 12, wider, adapt("integers are compared", integers_by_choices));
  registry.change({"Clip"}, 13, compatible("min above max is defined"), adapt("min does not exceed max", order_bounds));

  registry.change({"PRelu"}, 6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be absent"));
  registry.change({"PRelu"}, 7, adapt("the slope broadcasts by its shape", slope_to_numpy),
                  adapt("one slope per channel", slope_to_channels));
  registry.change({"PRelu"}, 9, wider, adapt("integers computed by products", prelu_of_integers));
  registry.change({"PRelu"}, 16, wider, by_way_of(through_float32()));
}

void register_integers(StepRegistry& registry) {
  registry.introduced({"Mod"}, 10, adapt("rewritten as Div, Mul and Sub", write_remainder));
  registry.types({"Mod"}, {13});
  registry.change({"Mod"}, 28, compatible("floating-point results may also have the sign of the divisor"),
                  adapt("floating-point numbers by fmod, adjusted to the sign of the divisor", remainder_by_fmod));
  registry.introduced({"BitShift"}, 11, adapt("rewritten as products and quotients", shift_by_powers));
  registry.change({"BitShift"}, 28, compatible("shifts by the bit width or more are defined"),
                  adapt("shifts are less than the bit width", shift_within_width));
  registry.introduced({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}, 18, adapt("rewritten bit by bit", write_by_digits));
}

}  // namespace

void register_arithmetic(StepRegistry& registry) {
  const StepRegistry::Names sums = {"Add", "Sub", "Mul", "Div"};
  const StepRegistry::Names binary = {"Add", "Sub",   "Mul",     "Div",  "Pow", "And",
                                      "Or",  "Equal", "Greater", "Less", "Xor"};
  const StepRegistry::Names variadic = {"Sum", "Mean", "Max", "Min"};
  registry.change(sums, 6, drop_attribute("consumed_inputs"),
                  adapt("integers computed in float64", wrapping_arithmetic));
  registry.change(binary, 7, adapt("B broadcasts by its shape", to_numpy_broadcast),
                  adapt("B broadcasts by attributes broadcast and axis", to_limited));
  registry.types(sums, {13});
  registry.change(sums, 14, compatible("more types are allowed"), by_way_of(narrow_through_int32()));

  registry.change({"Pow"}, 12, compatible("more types are allowed"), adapt("both of the same type", pow_of_one_type));
  registry.types({"Pow"}, {13});
  registry.change({"Pow"}, 15, compatible("more types are allowed"),
                  adapt("the exponent without bfloat16", exponent_without_bfloat16));
  register_comparisons(registry);

  registry.change(variadic, 6, drop_attribute("consumed_inputs"), compatible("consumed_inputs may be absent"));
  registry.change(variadic, 8, compatible("equal shapes are unchanged"),
                  adapt("the inputs are made equal in shape", to_equal_shapes));
  registry.change({"Max", "Min"}, 12, compatible("more types are allowed"),
                  adapt("integers are compared", chosen_by_comparison));
  registry.types(variadic, {13});
  register_clip_and_prelu(registry);
  register_integers(registry);
}

}  // namespace onnxkit::opset
