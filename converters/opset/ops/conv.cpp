#include <limits>

#include "converters/opset/compose.h"
#include "converters/opset/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// The attributes of a window, as the node has them.
void copy_window(Step& step, ir::Node& conv) {
  for (const std::string_view name : {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}) {
    if (const ir::Attribute* given = step.node().find_attribute(name)) conv.attributes.push_back(copy_of(*given));
  }
}

/// Integers without their zero point as real numbers, which hold the sums of their products exactly. `by_filter`: one zero point for each.
ValueId centred(Step& step, std::size_t input, std::size_t zero_point, bool by_filter) {
  const ElementType real = ElementType::float64;
  const ValueId x = cast(step, step.input(input), real, "real");
  if (!step.has_input(zero_point)) return x;
  ValueId zero = cast(step, step.input(zero_point), real, "zero");
  const auto known = step.sizes(step.input(zero_point));
  const bool is_single = known && (known->empty() || (known->size() == 1 && known->front() == 1));
  if (by_filter && !is_single) {
    List column(static_cast<std::size_t>(step.need_rank(step.input(input))), 1);
    column.front() = -1;
    zero = reshape(step, zero, column, "zeros");
  }
  return step.add("Sub", {x, zero}, {}, "centred");
}

void integer_in_reals(Step& step) {
  const ValueId x = centred(step, 0, 2, false), w = centred(step, 1, 3, true), y = step.value("sums");
  copy_window(step, step.emit("Conv", {x, w}, {y}));
  step.emit("Cast", {y}, {step.output(0)}, {{"to", static_cast<std::int64_t>(ElementType::int32)}});
  step.replace();
}

// ---- QLinearConv

/// To the nearest integer, halves to the even one.
ValueId rounded(Step& step, ValueId x) {
  const ElementType real = ElementType::float64;
  const Attr to_real{"to", static_cast<std::int64_t>(real)};
  const ValueId half = step.number(real, 0.5, "half"), two = step.number(real, 2, "two");
  const ValueId below = step.add("Floor", {x}, {}, "below");
  const ValueId rest = step.add("Sub", {x, below}, {}, "rest");
  const ValueId even = step.add("Mul", {step.add("Floor", {step.add("Mul", {below, half})}), two}, {}, "even");
  const ValueId is_odd = step.add("Greater", {below, even}, {}, "is_odd");
  const ValueId above_half = step.add("Greater", {rest, half}, {}, "above_half");
  const ValueId below_half = step.add("Less", {rest, half}, {}, "below_half");
  const ValueId tie_up = step.add("And", {is_odd, step.add("Not", {below_half})}, {}, "tie_up");
  const ValueId up = step.add("Cast", {step.add("Or", {above_half, tie_up})}, {to_real}, "up");
  return step.add("Add", {below, up}, {}, "rounded");
}

/// Scales of one element, or one for each filter, as factors of the result.
ValueId scale(Step& step, std::size_t input, std::int64_t rank) {
  const ValueId real = cast(step, step.input(input), ElementType::float64, "scale");
  List row(static_cast<std::size_t>(rank), 1);
  row[1] = -1;
  return reshape(step, real, row, "scales");
}

void quantized_in_reals(Step& step) {
  const ElementType real = ElementType::float64, type = step.need_elem(step.input(7));
  const std::int64_t rank =
      step.rank(step.input(3)).value_or(0) > 0 ? *step.rank(step.input(3)) : step.need_rank(step.input(0));
  if (rank < 3) refuse("the image has no image axes");
  const ValueId x = centred(step, 0, 2, false), w = centred(step, 3, 5, true), sums = step.value("sums");
  const ValueId bias = step.has_input(8) ? cast(step, step.input(8), real, "bias") : ValueId::none;
  copy_window(step, step.emit("Conv", {x, w, bias}, {sums}));
  const ValueId scales = step.add("Mul", {scale(step, 1, rank), scale(step, 4, rank)}, {}, "product");
  const ValueId scaled = step.add("Mul", {sums, scales}, {}, "scaled");
  const ValueId quotient = step.add("Div", {scaled, cast(step, step.input(6), real, "y_scale")}, {}, "quotient");
  const ValueId moved =
      step.add("Add", {rounded(step, quotient), cast(step, step.input(7), real, "y_zero")}, {}, "moved");
  const bool is_signed = type == ElementType::int8;
  const ValueId clipped =
      step.add("Clip", {moved}, {{"min", is_signed ? -128.0F : 0.0F}, {"max", is_signed ? 127.0F : 255.0F}}, "clipped");
  step.emit("Cast", {clipped}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  step.replace();
}

// ---- CausalConvWithState

/// Past values, or zeros, before the present ones; a convolution of one filter for each channel; the last values are the next state.
void causal_in_steps(Step& step) {
  const checker::Shape* weight = step.shape(step.input(1));
  const checker::Shape* x_shape = step.shape(step.input(0));
  const auto known = [](const checker::Shape* shape, std::size_t axis) {
    return shape && shape->size() == 3 && (*shape)[axis].is_constant() ? (*shape)[axis].constant() : -1;
  };
  const std::int64_t kernel = known(weight, 2), channels = std::max(known(weight, 0), known(x_shape, 1));
  if (channels < 0) refuse_unknown("the number of channels is not known");
  if (kernel < 1) refuse_unknown("the size of the kernel is not known");
  const ElementType type = step.need_elem(step.input(0));
  const ValueId all = step.has_input(3)
                          ? step.add("Concat", {step.input(3), step.input(0)}, {{"axis", std::int64_t{2}}}, "all")
                          : pad(step, step.input(0), type, {0, 0, kernel - 1, 0, 0, 0}, 0, "all");
  const std::string activation = step.string("activation");
  const std::vector<ValueId> inputs = {all, step.input(1), step.input(2)};
  const Attr group{"group", channels};
  if (activation == "silu" || activation == "swish") {
    const ValueId y = step.add("Conv", inputs, {group}, "convolved");
    step.emit("Mul", {y, step.add("Sigmoid", {y})}, {step.output(0)});
  } else {
    step.emit("Conv", inputs, {step.output(0)}, {group});
  }
  if (step.is_used(1)) {
    constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
    const ValueId state = slice(step, all, 2, kernel == 1 ? end : 1 - kernel, end, "state");
    step.emit("Identity", {state}, {step.output(1)});
  }
  step.replace();
}

}  // namespace

void register_conv(StepRegistry& registry) {
  const Way wording = compatible("only the wording differs");
  registry.change({"Conv"}, 11, wording, wording);
  registry.introduced({"ConvInteger"}, 10, adapt("computed in float64, which holds its sums", integer_in_reals));
  registry.introduced({"QLinearConv"}, 10, adapt("computed in float64, which holds its sums", quantized_in_reals));
  registry.introduced({"CausalConvWithState"}, 27, adapt("written as Concat, Conv and Slice", causal_in_steps));
  registry.introduced({"DeformConv"}, 19,
                      never("no older operator samples at computed places for each cell of a kernel"));
  registry.types({"Conv", "DeformConv"}, {22});
}

}  // namespace onnxkit::opset
