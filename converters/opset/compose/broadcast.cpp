#include "converters/opset/compose/broadcast.h"

#include <algorithm>
#include <optional>

#include "converters/opset/compose/element_types.h"

namespace onnxkit::opset {
namespace {

using checker::Dim;
using checker::Shape;

/// A value under conversion with its sizes, as many as the result has.
struct BroadcastOperand {
  ValueId value;
  std::int64_t rank;  ///< of the value itself; sizes before its first axis are 1
  Shape sizes;
  ValueId original;  ///< a value of these sizes but for leading ones, to take them from at run time
  std::int64_t original_rank;
};

bool is_size_known_not_one(Dim size) { return size.is_constant() && !size.is(1); }

/// The axis may have to be repeated in order to meet `other`.
bool may_grow(Dim own, Dim other) { return !is_size_known_not_one(own) && !other.is(1) && !(own == other); }

bool grows_anywhere(const BroadcastOperand& own, const BroadcastOperand& other) {
  for (std::size_t i = 0; i < own.sizes.size(); ++i) {
    if (may_grow(own.sizes[i], other.sizes[i])) return true;
  }
  return false;
}

BroadcastOperand operand(ValueId value, Shape shape, std::size_t rank) {
  const auto own = static_cast<std::int64_t>(shape.size());
  shape.insert(shape.begin(), rank - shape.size(), Dim(1));
  return {value, own, std::move(shape), value, own};
}

/// Size of an axis as a vector of one int64.
ValueId size_at_run_time(Step& step, const BroadcastOperand& x, std::size_t axis) {
  const Dim size = x.sizes[axis];
  if (size.is_constant()) return step.vector(std::vector<std::int64_t>{size.constant()}, "size");
  const auto at = static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(x.sizes.size()) + x.original_rank;
  const ValueId shape = step.add("Shape", {x.original}, {}, "shape");
  return step.add("Slice", {shape},
                  {{"starts", std::vector<std::int64_t>{at}}, {"ends", std::vector<std::int64_t>{at + 1}}}, "size");
}

/// How often an axis is repeated in order to meet `other`: its size where the own one is 1, else once.
ValueId repeats_at_run_time(Step& step, const BroadcastOperand& own, const BroadcastOperand& other, std::size_t axis) {
  if (!may_grow(own.sizes[axis], other.sizes[axis])) return step.vector(std::vector<std::int64_t>{1}, "once");
  const ValueId wanted = size_at_run_time(step, other, axis);
  if (own.sizes[axis].is(1)) return wanted;
  const ValueId one = step.vector(std::vector<std::int64_t>{1}, "one");
  const ValueId is_one = step.add("Equal", {size_at_run_time(step, own, axis), one}, {}, "is_one");
  const ValueId more = step.add("Sub", {wanted, one}, {}, "more");
  const ValueId if_one = step.add("Mul", {cast(step, is_one, ElementType::int64), more}, {}, "if_one");
  return step.add("Add", {one, if_one}, {}, "repeats");
}

/// Tile; its axes are those of the value, whose rank is that of the sizes.
void repeat(Step& step, BroadcastOperand& own, const BroadcastOperand& other) {
  std::vector<std::int64_t> constant;
  const std::size_t rank = own.sizes.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const bool grows = may_grow(own.sizes[i], other.sizes[i]);
    if (grows && !(own.sizes[i].is(1) && other.sizes[i].is_constant())) break;
    constant.push_back(grows ? other.sizes[i].constant() : 1);
  }
  ValueId repeats;
  if (constant.size() == rank) {
    repeats = step.vector(constant, "repeats");
  } else {
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < rank; ++i) parts.push_back(repeats_at_run_time(step, own, other, i));
    repeats = step.add("Concat", parts, {{"axis", std::int64_t{0}}}, "repeats");
  }
  own.value = step.add("Tile", {own.value, repeats}, {}, "repeated");
  for (std::size_t i = 0; i < rank; ++i) {
    if (own.sizes[i].is(1)) {
      own.sizes[i] = other.sizes[i];
    } else if (may_grow(own.sizes[i], other.sizes[i])) {
      own.sizes[i] = is_size_known_not_one(other.sizes[i]) ? other.sizes[i] : Dim();
    }
  }
}

void give_full_rank(Step& step, BroadcastOperand& x) {
  const auto rank = static_cast<std::int64_t>(x.sizes.size());
  if (x.rank == rank) return;
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < rank - x.rank; ++i) axes.push_back(i);
  x.value = step.add("Unsqueeze", {x.value}, {{"axes", axes}}, "of_full_rank");
  x.rank = rank;
}

bool has_equal_sizes(const BroadcastOperand& a, const BroadcastOperand& b) {
  return a.rank == b.rank && std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin());
}

bool is_single(const BroadcastOperand& x) {
  return std::all_of(x.sizes.begin(), x.sizes.end(), [](Dim size) { return size.is(1); });
}

/// Leaves of B the run of axes that A has, too: axes of size 1 before and behind it go, ones within it are repeated.
void cover_run(Step& step, const BroadcastOperand& a, BroadcastOperand b) {
  const auto rank = static_cast<std::int64_t>(b.sizes.size());
  const auto starts_with_one = [&](std::int64_t axis) { return b.sizes[static_cast<std::size_t>(axis)].is(1); };
  std::int64_t first = rank - b.rank;
  std::int64_t end = rank;
  while (first < end && starts_with_one(first)) ++first;
  while (first < end && starts_with_one(end - 1)) --end;
  BroadcastOperand run = b;
  std::vector<std::int64_t> dropped;
  for (std::int64_t i = rank - b.rank; i < rank; ++i) {
    if (i < first || i >= end) dropped.push_back(i - (rank - b.rank));
  }
  if (!dropped.empty()) run.value = step.add("Squeeze", {b.value}, {{"axes", dropped}}, "run");
  run.sizes.assign(b.sizes.begin() + first, b.sizes.begin() + end);
  BroadcastOperand covered = a;
  covered.sizes.assign(a.sizes.begin() + first, a.sizes.begin() + end);
  // Sizes at run time are found by their distance from the end of the shape.
  run.original_rank = b.original_rank - (rank - end);
  covered.original_rank = a.original_rank - (rank - end);
  if (grows_anywhere(run, covered)) repeat(step, run, covered);
  step.set_input(1, run.value);
  step.set({"broadcast", std::int64_t{1}});
  if (end < rank) step.set({"axis", first});
}

/// One operand is a scalar: the other one's rank need not be known.
bool with_scalar(Step& step, std::string_view swapped) {
  const ValueId a = step.input(0), b = step.input(1);
  if (step.rank(b) == 0) {
    if (step.rank(a) != 0) step.set({"broadcast", std::int64_t{1}});
    return true;
  }
  if (step.rank(a) != 0 || !swapped.empty()) return false;
  // Of full rank without naming a size: those of B, which may be 0, are only repeats.
  const ValueId shape = step.add("Shape", {b}, {}, "shape");
  const ValueId full_rank =
      step.add("Reshape", {a, ones(step, step.add("Shape", {shape}, {}, "rank"))}, {}, "full_rank");
  step.set_input(0, step.add("Tile", {full_rank, shape}, {}, "repeated"));
  return true;
}

/// 1 in a tensor of this shape, which is computed; sizes may be 0.
ValueId ones_of_shape(Step& step, ElementType type, ValueId shape) {
  const ValueId rank = step.add("Shape", {shape}, {}, "rank");
  const ValueId single = step.add("Reshape", {step.numbers(type, {1}, {1}, "one"), ones(step, rank)}, {}, "single");
  return step.add("Tile", {single, shape}, {}, "ones");
}

/// A vector of sizes with as many ones before it as `other` is longer.
ValueId padded_shape(Step& step, ValueId shape, ValueId other) {
  const ValueId own_rank = step.add("Shape", {shape}, {}, "rank"), rank = step.add("Shape", {other}, {}, "rank");
  const ValueId more = cast(step, step.add("Sub", {rank, own_rank}, {}, "more"), ElementType::float32, "more");
  const ValueId missing = cast(step, step.add("Relu", {more}, {}, "missing"), ElementType::int64, "missing");
  return step.add("Concat", {ones(step, missing), shape}, {{"axis", std::int64_t{0}}}, "padded_shape");
}

/// Of full rank as a product with ones that it covers the last axes of, then repeated where its size is 1.
ValueId repeated_at_run_time(Step& step, ValueId x, ElementType type, ValueId shape, ValueId other) {
  const ValueId full = ones_of_shape(step, type, shape);
  const ValueId placed = step.add(type == ElementType::boolean ? "And" : "Mul", {full, x},
                                  {{"broadcast", std::int64_t{1}}}, "of_full_rank");
  const ValueId rank = step.add("Shape", {shape}, {}, "rank");
  const ValueId single = ones(step, rank);
  const ValueId is_one = cast(step, step.add("Equal", {shape, single}, {}, "is_one"), ElementType::int64, "is_one");
  const ValueId more = step.add("Mul", {is_one, step.add("Sub", {other, single}, {}, "more")}, {}, "more");
  return step.add("Tile", {placed, step.add("Add", {single, more}, {}, "repeats")}, {}, "repeated");
}

/// Ranks are not known.
void equal_shapes_at_run_time(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  const ValueId a = step.add("Shape", {step.input(0)}, {}, "shape"),
                b = step.add("Shape", {step.input(1)}, {}, "shape");
  const ValueId a_shape = padded_shape(step, a, b), b_shape = padded_shape(step, b, a);
  step.set_input(0, repeated_at_run_time(step, step.input(0), type, a_shape, b_shape));
  step.set_input(1, repeated_at_run_time(step, step.input(1), type, b_shape, a_shape));
  step.note("shapes made equal by products with ones and Tile");
}

/// The same for opset 7, where products broadcast.
std::vector<ValueId> common_shape_at_run_time(Step& step, const std::vector<ValueId>& values) {
  const ElementType type = step.need_elem(values[0]);
  ValueId full = ValueId::none;
  for (const ValueId value : values) {
    const ValueId own = ones_of_shape(step, type, step.add("Shape", {value}, {}, "shape"));
    full = full == ValueId::none ? own : step.add("Mul", {full, own}, {}, "ones");
  }
  std::vector<ValueId> result;
  for (const ValueId value : values) result.push_back(step.add("Mul", {value, full}, {}, "of_full_shape"));
  return result;
}

void swap_operands(Step& step, std::string_view op) {
  if (step.node().op_type != op) step.set_op(op);
  step.set_input(0, step.input(1));
}

}  // namespace

ValueId ones(Step& step, ValueId count) {
  return step.add("Tile", {step.vector(std::vector<std::int64_t>{1}, "one"), count}, {}, "ones");
}

void to_numpy_broadcast(Step& step) {
  const bool broadcasts = step.integer("broadcast") != 0;
  const auto axis = step.find_integer("axis");
  step.remove("broadcast");
  step.remove("axis");
  if (!broadcasts || !axis) return;
  const ValueId a = step.input(0), b = step.input(1);
  const auto a_rank = step.rank(a), b_rank = step.rank(b);
  if (b_rank == 0 || (b_rank && is_single(operand(b, *step.shape(b), step.shape(b)->size())))) return;
  if (b_rank && (a_rank || *axis < 0)) {
    const std::int64_t behind = (*axis < 0 ? -*axis : *a_rank - *axis) - *b_rank;
    std::vector<std::int64_t> axes;
    for (std::int64_t i = 0; i < behind; ++i) axes.push_back(*b_rank + i);
    if (!axes.empty()) step.set_input(1, step.add("Unsqueeze", {b}, {{"axes", axes}}, "placed"));
    return;
  }
  const auto rank_of = [&](ValueId shape) { return step.add("Shape", {shape}, {}, "rank"); };
  const ValueId b_shape = step.add("Shape", {b}, {}, "shape");
  const ValueId from_axis = *axis < 0 ? step.vector(std::vector<std::int64_t>{-*axis}, "from_axis")
                                      : step.add("Sub",
                                                 {rank_of(step.add("Shape", {a}, {}, "shape")),
                                                  step.vector(std::vector<std::int64_t>{*axis}, "axis")},
                                                 {}, "from_axis");
  const ValueId behind = step.add("Sub", {from_axis, rank_of(b_shape)}, {}, "behind");
  const ValueId shape =
      step.add("Concat", {b_shape, ones(step, behind)}, {{"axis", std::int64_t{0}}}, "shape_with_ones");
  step.set_input(1, step.add("Reshape", {b, shape}, {}, "placed"));
}

void to_limited_broadcast(Step& step, std::string_view swapped) {
  const ValueId a = step.input(0), b = step.input(1);
  if (a == b || with_scalar(step, swapped)) return;
  if (step.rank(a) == 0) {
    swap_operands(step, swapped);
    step.set_input(1, a);
    return step.set({"broadcast", std::int64_t{1}});
  }
  const auto shapes = step.comparable_shapes({a, b});
  if (!shapes) return equal_shapes_at_run_time(step);
  const std::size_t rank = std::max((*shapes)[0].size(), (*shapes)[1].size());
  BroadcastOperand first = operand(a, (*shapes)[0], rank), second = operand(b, (*shapes)[1], rank);
  if (has_equal_sizes(first, second)) return;
  const auto full = static_cast<std::int64_t>(rank);
  if (grows_anywhere(first, second) || first.rank < full) {
    if (!swapped.empty() && second.rank == full && !grows_anywhere(second, first)) {
      swap_operands(step, swapped);
      std::swap(first, second);
    } else {
      give_full_rank(step, first);
      if (grows_anywhere(first, second)) repeat(step, first, second);
      first.original = first.value;
      first.original_rank = first.rank;
      step.set_input(0, first.value);
    }
  }
  if (has_equal_sizes(first, second)) return step.set_input(1, second.value);
  if (is_single(second) && second.rank <= first.rank) {
    step.set_input(1, second.value);
    return step.set({"broadcast", std::int64_t{1}});
  }
  cover_run(step, first, second);
}

std::vector<ValueId> with_common_shape(Step& step, const std::vector<ValueId>& values) {
  const auto shapes = step.comparable_shapes(values);
  if (!shapes) return common_shape_at_run_time(step, values);
  std::size_t rank = 0;
  for (const Shape& shape : *shapes) rank = std::max(rank, shape.size());
  std::vector<BroadcastOperand> operands;
  for (std::size_t i = 0; i < values.size(); ++i) operands.push_back(operand(values[i], (*shapes)[i], rank));
  const bool all_equal = std::all_of(operands.begin(), operands.end(),
                                     [&](const BroadcastOperand& x) { return has_equal_sizes(operands[0], x); });
  std::vector<ValueId> result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    BroadcastOperand x = operands[i];
    if (!all_equal) give_full_rank(step, x);
    for (std::size_t k = 0; k < operands.size() && !all_equal; ++k) {
      if (k == i || !grows_anywhere(x, operands[k])) continue;
      repeat(step, x, operands[k]);
      x.original = x.value;
      x.original_rank = x.rank;
    }
    result.push_back(x.value);
  }
  return result;
}

}  // namespace onnxkit::opset
