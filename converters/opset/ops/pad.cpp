#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using Integers = std::vector<std::int64_t>;

// ---- 1 | 2

/// In version 1 paddings are not negative: what they crop is cut off with Slice. In constant mode after padding, as padding may be cropped, too; else
/// before, as the other modes pad with what is left.
void pads_to_paddings(Step& step) {
  const Integers pads = step.integers("pads").value_or(Integers());
  const std::size_t rank = pads.size() / 2;
  Integers starts, ends, axes, paddings = pads;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t begin = pads[i], end = pads[i + rank];
    if (begin >= 0 && end >= 0) continue;
    paddings[i] = std::max<std::int64_t>(begin, 0);
    paddings[i + rank] = std::max<std::int64_t>(end, 0);
    starts.push_back(paddings[i] - begin);
    ends.push_back(end < 0 ? end : to_the_end);
    axes.push_back(static_cast<std::int64_t>(i));
  }
  step.remove("pads");
  step.set({"paddings", paddings});
  if (axes.empty()) return;
  if (step.string("mode") == "constant") {
    const ValueId padded = intercept_output(step, 0, "padded");
    step.then();
    step.emit("Slice", {padded}, {step.output(0)}, {{"starts", starts}, {"ends", ends}, {"axes", axes}});
  } else {
    step.set_input(0,
                   step.add("Slice", {step.input(0)}, {{"starts", starts}, {"ends", ends}, {"axes", axes}}, "cropped"));
  }
  step.note("pads becomes paddings, plus a Slice where it is negative");
}

// ---- 2 | 11

bool is_constant_mode(Step& step) { return step.is_reference("mode") || step.string("mode") == "constant"; }

void attributes_to_inputs(Step& step) {
  const ValueId pads = integers_as_input(step, "pads");
  const float value = step.real("value");
  step.remove("pads");
  step.remove("value");
  step.set_input(1, pads);
  const bool is_default = value == 0 && !std::signbit(value);
  if (!is_default && is_constant_mode(step))
    step.set_input(2, step.number(step.need_elem(step.input(0)), static_cast<double>(value), "value"));
}

/// Real numbers only in version 2; float64 holds the integers of up to 32 bits exactly.
bool goes_through_double(ElementType type) { return is_integer(type) && storage_bits(type) <= 32; }

bool fits_float(double value) { return std::isnan(value) || static_cast<double>(static_cast<float>(value)) == value; }

/// Where padding comes to lie, a value that is no attribute is put in.
void put_value_in(Step& step, const Integers& pads, ValueId padded, ValueId value) {
  ir::Tensor one;
  const float bits = 1;
  one.dims = {1};
  one.data_type = static_cast<std::int32_t>(ElementType::float32);
  one.raw_data = step.keep({reinterpret_cast<const char*>(&bits), sizeof(bits)});
  const ValueId ones = step.value("ones");
  step.emit("ConstantOfShape", {step.add("Shape", {step.input(0)}, {}, "shape")}, {ones})
      .attributes.push_back(step.attribute("value", std::move(one)));
  const ValueId mask = step.add("Pad", {ones}, {{"pads", pads}}, "mask");
  step.emit("Where", {cast(step, mask, ElementType::boolean), padded, value}, {step.output(0)});
}

/// Vectors of float64, of one element but for the numbers.
struct AxisPads {
  ValueId last;     ///< position in the tensor, -1 without elements
  ValueId numbers;  ///< 0, 1 ... for each position of the result
  ValueId begin, end;
};

/// Positions along one axis, and in constant mode where they lie outside.
struct Positions {
  ValueId source, is_outside = ValueId::none;
};

Positions padded_positions(Step& step, const AxisPads& axis, const std::string& mode) {
  const ValueId zero = reals(step, {0}), last = axis.last;
  const ValueId position = step.add("Sub", {axis.numbers, axis.begin}, {}, "position");
  const auto as_index = [&](ValueId real) { return cast(step, real, ElementType::int64, "positions"); };
  if (mode == "constant") {
    const ValueId below = step.add("Less", {position, zero}, {}, "is_below");
    const ValueId above = step.add("Greater", {position, last}, {}, "is_above");
    const ValueId index = step.add("Max", {step.add("Min", {position, last}, {}, "not_above"), zero}, {}, "clamped");
    return {as_index(index), step.add("Or", {below, above}, {}, "is_outside")};
  }
  // Negative pads crop first.
  const ValueId least = step.add("Max", {step.add("Neg", {axis.begin}), zero}, {}, "least");
  const ValueId most = step.add("Add", {last, step.add("Min", {axis.end, zero})}, {}, "most");
  if (mode == "edge") return {as_index(clamped(step, position, least, most))};
  const ValueId distance = step.add("Sub", {most, least}, {}, "distance");
  const ValueId period = step.add("Max", {step.add("Add", {distance, distance}), reals(step, {1})}, {}, "period");
  const ValueId from_least = step.add("Sub", {position, least}, {}, "from_least");
  const ValueId rounds = step.add("Floor", {step.add("Div", {from_least, period})}, {}, "rounds");
  const ValueId rest = step.add("Sub", {from_least, step.add("Mul", {rounds, period})}, {}, "rest");
  const ValueId mirrored = step.add("Min", {rest, step.add("Neg", {step.add("Sub", {rest, period})})}, {}, "mirrored");
  return {as_index(step.add("Add", {mirrored, least}, {}, "reflected"))};
}

/// Pads and sizes of each axis of a tensor.
class PadsOfAxes {
 public:
  /// Nothing of the sizes is known but how many there are.
  PadsOfAxes(Step& step, std::int64_t rank)
      : step_(step), rank_(rank), pads_(cast(step, step.input(1), ElementType::float64, "pads")) {}
  PadsOfAxes(Step& step, Integers in, Integers out) : PadsOfAxes(step, static_cast<std::int64_t>(in.size())) {
    sizes_.emplace(std::move(in), std::move(out));
  }

  std::int64_t rank() const { return rank_; }

  /// The tensor with at least one element along each axis, for positions that are gathered and then replaced by the constant.
  ValueId filled() const {
    if (sizes_) return step_.input(0);
    Integers one_behind(static_cast<std::size_t>(2 * rank_), 0);
    std::fill(one_behind.begin() + rank_, one_behind.end(), 1);
    return step_.add("Pad", {step_.input(0)}, {{"pads", one_behind}}, "filled");
  }

  AxisPads of(std::int64_t axis) const {
    const ValueId begin = slice(step_, pads_, 0, axis, axis + 1, "begin");
    const ValueId end = slice(step_, pads_, 0, rank_ + axis, rank_ + axis + 1, "end");
    if (sizes_) {
      const auto at = static_cast<std::size_t>(axis);
      return {reals(step_, {static_cast<double>(sizes_->first[at] - 1)}), counted_reals(step_, sizes_->second[at]),
              begin, end};
    }
    const ValueId size = cast(step_, size_vector(step_, step_.input(0), axis), ElementType::float64, "size");
    const ValueId padded = step_.add("Add", {step_.add("Add", {size, begin}, {}, "begun"), end}, {}, "padded_size");
    const ValueId numbers = count_up(step_, Size::of(cast(step_, padded, ElementType::int64, "padded_size")));
    return {step_.add("Sub", {size, reals(step_, {1})}, {}, "last"),
            cast(step_, numbers, ElementType::float64, "numbers"), begin, end};
  }

 private:
  Step& step_;
  std::int64_t rank_;
  ValueId pads_;
  std::optional<std::pair<Integers, Integers>> sizes_ = {};
};

/// Nothing where Gather does not do: version 2 pads numbers with a point only, which `filled` needs.
std::optional<PadsOfAxes> pads_of_axes(Step& step, const std::string& mode) {
  const auto in = step.sizes(step.input(0)), out = promised_sizes(step, step.output(0));
  if (mode == "wrap") return std::nullopt;
  if (in && out && in->size() == out->size()) {
    const bool is_empty = std::find(in->begin(), in->end(), 0) != in->end();
    return is_empty ? std::nullopt : std::optional<PadsOfAxes>(std::in_place, step, *in, *out);
  }
  const auto rank = step.rank(step.input(0));
  if (!rank || step.opset_after() < 9) return std::nullopt;
  if (mode == "constant" && !is_floating(step.need_elem(step.input(0)))) return std::nullopt;
  return std::optional<PadsOfAxes>(std::in_place, step, *rank);
}

/// Each axis by Gather. Any type will do, and pads may be computed.
void pad_with_gather(Step& step, const std::string& otherwise) {
  const std::string mode = step.string("mode");
  const auto pads = pads_of_axes(step, mode);
  if (!pads) refuse(otherwise);
  const ValueId value = mode != "constant"  ? ValueId::none
                        : step.has_input(2) ? step.input(2)
                                            : step.number(step.need_elem(step.input(0)), 0, "value");
  const std::int64_t rank = pads->rank();
  std::vector<Link> links;
  ValueId outside = ValueId::none;
  for (std::int64_t i = 0; i < rank; ++i) {
    const Positions positions = padded_positions(step, pads->of(i), mode);
    links.push_back({"Gather", {positions.source}, {{"axis", i}}});
    if (positions.is_outside == ValueId::none) continue;
    Integers others;
    for (std::int64_t k = 0; k < rank; ++k) {
      if (k != i) others.push_back(k);
    }
    const ValueId placed = others.empty() ? positions.is_outside : unsqueeze(step, positions.is_outside, others);
    outside = outside == ValueId::none ? placed : step.add("Or", {outside, placed}, {}, "outside");
  }
  step.replace();
  step.note("each axis rewritten as Gather");
  if (outside == ValueId::none) return chain(step, step.input(0), std::move(links), step.output(0));
  const ValueId gathered = step.value("gathered");
  chain(step, pads->filled(), std::move(links), gathered);
  step.emit("Where", {outside, value, gathered}, {step.output(0)});
}

/// Version 11 pads numbers only.
void any_type(Step& step) {
  switch (step.elem(step.input(0))) {
    case ElementType::boolean:
    case ElementType::string:
    case ElementType::complex64:
    case ElementType::complex128:
      return pad_with_gather(step,
                             "version 11 pads numbers only, and the sizes of the tensor and the result are unknown");
    default:
      return;
  }
}

void inputs_to_attributes(Step& step) {
  const auto given = step.constant_integers(step.input(1));
  const ElementType elem = step.elem(step.input(0));
  if (!given || elem == ElementType::int64 || elem == ElementType::uint64)
    return pad_with_gather(
        step, given
                  ? "version 2 pads floating-point numbers only, and the sizes of the tensor and the result are unknown"
                  : "pads is computed at run time, but it is an attribute in version 2; the sizes of the tensor and "
                    "the result are unknown");
  const Integers& pads = *given;
  step.set({"pads", pads});
  step.drop_inputs(1);
  const ElementType type = step.elem(step.input(0));
  const bool through_double = goes_through_double(type);
  std::optional<double> value = 0;
  if (is_constant_mode(step) && step.has_input(2)) value = step.constant_real(step.input(2));
  const bool by_mask = !value || !fits_float(*value);
  if (by_mask) (void)step.string("mode");
  if (value && !by_mask && (*value != 0 || std::signbit(*value))) step.set({"value", static_cast<float>(*value)});
  if (through_double) step.set_input(0, cast(step, step.input(0), ElementType::float64, "wide"));
  if (!by_mask && !through_double) return;
  const ValueId padded = intercept_output(step, 0, "padded");
  step.then();
  if (!by_mask) return chain(step, padded, {{"Cast", {}, {cast_target(step, type)}}}, step.output(0));
  put_value_in(step, pads, through_double ? cast(step, padded, type, "narrow") : padded, step.input(2));
  step.note("pads becomes an attribute; Where inserts the value");
}

// ---- 13 | 18

/// Pads of all axes from those of some.
void pads_of_all_axes(Step& step) {
  if (!step.has_input(3)) return step.drop_inputs(3);
  const auto pads = step.constant_integers(step.input(1)), axes = step.constant_integers(step.input(3));
  const auto rank = step.rank(step.input(0));
  step.drop_inputs(3);
  if (pads && axes && rank) {
    const std::size_t count = axes->size();
    if (pads->size() != 2 * count) refuse("pads and axes differ in length");
    Integers all(static_cast<std::size_t>(2 * *rank), 0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + *rank : (*axes)[i];
      if (axis < 0 || axis >= *rank) refuse(fmt::format("the tensor has no axis {}", (*axes)[i]));
      all[static_cast<std::size_t>(axis)] = (*pads)[i];
      all[static_cast<std::size_t>(axis + *rank)] = (*pads)[i + count];
    }
    return step.set_input(1, step.vector(all, "pads"));
  }
  const ValueId zeros = step.add("Expand", {step.vector(Integers{0}), rank_of(step, step.input(0))}, {}, "zeros");
  const ValueId count = step.add("Shape", {step.input(3)}, {}, "count");
  const ValueId zero = step.vector(Integers{0}, "begin"), end = step.vector(Integers{to_the_end}, "end");
  const ValueId begins = step.add("Slice", {step.input(1), zero, count}, {}, "begins");
  const ValueId ends = step.add("Slice", {step.input(1), count, end}, {}, "ends");
  const ValueId all_begins = step.add("ScatterElements", {zeros, step.input(3), begins}, {}, "all_begins");
  const ValueId all_ends = step.add("ScatterElements", {zeros, step.input(3), ends}, {}, "all_ends");
  step.set_input(1, step.add("Concat", {all_begins, all_ends}, {{"axis", std::int64_t{0}}}, "pads"));
  step.note("pads for all axes, computed at run time");
}

// ---- 18 | 19

/// Position i of the result is position i - begin of the axis, counted round, of what negative pads leave of it.
ValueId wrapped_positions(Step& step, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::max<std::int64_t>(-begin, 0), cut = first + std::max<std::int64_t>(-end, 0);
  const auto number = [&](std::int64_t value) { return step.scalar(value); };
  const ValueId size = squeeze(step, size_vector(step, step.input(0), axis), {0}, "size");
  const ValueId kept = step.add("Sub", {size, number(cut)}, {}, "kept");
  const ValueId last = step.add("Add", {kept, number(std::max<std::int64_t>(end, 0))}, {}, "last");
  const ValueId positions =
      step.add("Range", {number(-std::max<std::int64_t>(begin, 0)), last, number(1)}, {}, "positions");
  const ValueId around = step.add("Mod", {positions, kept}, {}, "around");
  return step.add("Add", {around, number(first)}, {}, "wrapped");
}

void wrap_with_gather(Step& step) {
  if (step.is_reference("mode") || step.string("mode") != "wrap") return;
  const Integers pads = need_integers(step, 1, "pads (of mode wrap)");
  Integers axes;
  if (step.has_input(3)) {
    axes = need_integers(step, 3, "axes (of mode wrap)");
  } else {
    for (std::size_t i = 0; i < pads.size() / 2; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (pads.size() != 2 * axes.size()) refuse("pads and axes differ in length");
  std::vector<Link> links;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t begin = pads[i], end = pads[i + axes.size()];
    if (begin == 0 && end == 0) continue;
    links.push_back({"Gather", {wrapped_positions(step, axes[i], begin, end)}, {{"axis", axes[i]}}});
  }
  chain(step, step.input(0), std::move(links), step.output(0));
  step.replace();
  step.note("mode wrap: each axis rewritten as Gather with wrapped positions");
}

}  // namespace

void register_pad(StepRegistry& registry) {
  registry.change({"Pad"}, 2, adapt("paddings becomes pads", [](Step& step) { step.rename("paddings", "pads"); }),
                  adapt("pads becomes paddings", pads_to_paddings));
  registry.change({"Pad"}, 11, adapt("pads and value become inputs", attributes_to_inputs),
                  adapt("pads and value become attributes", inputs_to_attributes));
  registry.change({"Pad"}, 18, compatible("pads applies to all axes when axes is omitted"),
                  adapt("pads for all axes", pads_of_all_axes));
  registry.change({"Pad"}, 19, compatible("mode wrap is new"),
                  adapt("mode wrap rewritten as Gather", wrap_with_gather));
  registry.change({"Pad"}, 13, compatible("it only allows more types"),
                  adapt("other types computed by Gather", any_type));
  registry.types({"Pad"}, {21, 23, 24, 25});
}

}  // namespace onnxkit::opset
