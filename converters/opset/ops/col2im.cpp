#include <numeric>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

std::size_t need_axes(Step& step) {
  for (const std::string_view name : {"strides", "dilations"}) {
    if (const auto list = step.integers(name)) return list->size();
  }
  for (const std::size_t input : {std::size_t{1}, std::size_t{2}}) {
    if (const auto length = length_of_axis_list(step, step.input(input))) return static_cast<std::size_t>(*length);
  }
  refuse_unknown("the number of spatial axes is unknown");
}

/// What the elements of one axis of the image take: [image, block], which tap of the block it is, which block, and whether there is one.
struct Contributions {
  ValueId tap = ValueId::none, block = ValueId::none, exists = ValueId::none;
  ValueId block_size = ValueId::none, blocks = ValueId::none;  ///< scalars
};

class Blocks {
 public:
  explicit Blocks(Step& step)
      : step_(step),
        axes_(need_axes(step)),
        strides_(list("strides", axes_, 1)),
        dilations_(list("dilations", axes_, 1)),
        pads_(list("pads", 2 * axes_, 0)) {}

  std::size_t axes() const { return axes_; }

  Contributions of(std::size_t axis) {
    const auto number = static_cast<std::int64_t>(axis);
    const ValueId zero = step_.scalar(0), one = step_.scalar(1), stride = step_.scalar(strides_[axis]),
                  dilation = step_.scalar(dilations_[axis]), begin = step_.scalar(pads_[axis]);
    Contributions c;
    const ValueId image = step_.add("Gather", {step_.input(1), step_.scalar(number)}, {}, "image");
    c.block_size = step_.add("Gather", {step_.input(2), step_.scalar(number)}, {}, "block");
    const ValueId element = spread(axis, step_.add("Range", {zero, image, one}), "element");
    c.tap = spread(axis + axes_, step_.add("Range", {zero, c.block_size, one}), "cell");
    const ValueId start = step_.add("Sub", {step_.add("Add", {element, begin}), step_.add("Mul", {c.tap, dilation})});
    c.block = step_.add("Div", {start, stride}, {}, "block_number");
    const ValueId reach = step_.add("Mul", {step_.add("Sub", {c.block_size, one}), dilation}, {}, "reach");
    const ValueId padding = step_.scalar(pads_[axis] + pads_[axis + axes_] - 1);
    const ValueId room = step_.add("Sub", {step_.add("Add", {image, padding}), reach}, {}, "room");
    c.blocks = step_.add("Add", {step_.add("Div", {room, stride}), one}, {}, "blocks");
    const ValueId fits = step_.add("Equal", {step_.add("Mul", {c.block, stride}), start}, {}, "fits");
    const ValueId begins = step_.add("Not", {step_.add("Less", {start, zero})}, {}, "begins");
    const ValueId ends = step_.add("Less", {c.block, c.blocks}, {}, "ends");
    c.exists = step_.add("And", {step_.add("And", {fits, begins}), ends}, {}, "exists");
    return c;
  }

 private:
  List list(std::string_view name, std::size_t length, std::int64_t fallback) {
    const List given = step_.integers(name).value_or(List(length, fallback));
    if (given.size() != length) refuse("an attribute does not match the spatial axes");
    for (const std::int64_t entry : given) {
      if (entry < 0 || entry >= std::int64_t{1} << 31 || (entry == 0 && fallback == 1))
        refuse("an attribute is out of range");
    }
    return given;
  }

  /// A row along one of the axes [image 1, ..., image r, block 1, ..., block r].
  ValueId spread(std::size_t axis, ValueId row, std::string_view hint) {
    List dims(2 * axes_, 1);
    dims[axis] = -1;
    return reshape(step_, row, dims, hint);
  }

  Step& step_;
  std::size_t axes_;
  List strides_, dilations_, pads_;
};

/// Small integers and truth values are added up as int32, which wraps and turns to truth alike.
ElementType sum_type_col2im(ElementType type) {
  if (type == ElementType::float64 || type == ElementType::int32 || type == ElementType::int64 ||
      type == ElementType::uint32 || type == ElementType::uint64)
    return type;
  if (is_floating(type)) return ElementType::float32;
  if (is_integer(type) || type == ElementType::boolean) return ElementType::int32;
  refuse("this type cannot be added");
}

/// Every element of the image gathers what all taps of a block give it.
void in_steps_col2im(Step& step) {
  const ElementType type = step.need_elem(step.input(0)), work = sum_type_col2im(type);
  Blocks blocks(step);
  ValueId tap = ValueId::none, block = ValueId::none, exists = ValueId::none, taps = ValueId::none,
          count = ValueId::none;
  for (std::size_t axis = 0; axis < blocks.axes(); ++axis) {
    const Contributions c = blocks.of(axis);
    const bool is_first = axis == 0;
    tap = is_first ? c.tap : step.add("Add", {step.add("Mul", {tap, c.block_size}), c.tap}, {}, "cells");
    block = is_first ? c.block : step.add("Add", {step.add("Mul", {block, c.blocks}), c.block}, {}, "blocks");
    exists = is_first ? c.exists : step.add("And", {exists, c.exists}, {}, "exist");
    taps = is_first ? c.block_size : step.add("Mul", {taps, c.block_size}, {}, "cell_count");
    count = is_first ? c.blocks : step.add("Mul", {count, c.blocks}, {}, "block_count");
  }
  const ValueId index = step.add("Add", {step.add("Mul", {tap, count}), block}, {}, "index");
  const ValueId safe = step.add("Where", {exists, index, step.scalar(0)}, {}, "places");
  const ValueId all = unsqueeze(step, step.add("Mul", {taps, count}), {0}, "all");
  const ValueId shape = step.add("Concat", {step.vector(List{0, -1}), all}, {{"axis", std::int64_t{0}}}, "shape");
  const ValueId x = cast(step, step.input(0), work, "numbers");
  const ValueId channels = step.add("Reshape", {x, shape}, {}, "planes");
  const ValueId seen = step.add("Gather", {channels, safe}, {{"axis", std::int64_t{2}}}, "seen");
  const ValueId given = step.add("Where", {exists, seen, step.number(work, 0, "nothing")}, {}, "given");
  List taken(blocks.axes());
  std::iota(taken.begin(), taken.end(), static_cast<std::int64_t>(blocks.axes()) + 2);
  const ValueId sum = reduce(step, "ReduceSum", given, taken, false, "sum");
  step.emit("Cast", {sum}, {step.output(0)}, {{"to", static_cast<std::int64_t>(type)}});
  step.replace();
}

}  // namespace

void register_col2im(StepRegistry& registry) {
  registry.introduced({"Col2Im"}, 18, adapt("rewritten using Gather and a sum", in_steps_col2im));
}

}  // namespace onnxkit::opset
