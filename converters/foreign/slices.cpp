#include "converters/foreign/slices.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace onnxkit::foreign {
namespace {

using Numbers = std::vector<std::int64_t>;

/// What a strided slice does to the axes of its input, told from its masks.
struct SlicedAxes {
  Numbers starts, ends, axes, steps;  ///< of Slice
  Numbers dropped;                    ///< axes of the input of which one place is taken
  Numbers added;                      ///< axes of the result that are new
};

bool bit(std::int64_t mask, std::size_t position) { return position < 63 && (mask >> position & 1) != 0; }

std::optional<SlicedAxes> sliced_axes(std::size_t rank, const Numbers& begin, const Numbers& end,
                                      const Numbers& strides, const SliceMasks& masks) {
  constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
  const std::int64_t ellipsis = masks.ellipsis, added = masks.new_axis, dropped = masks.shrink_axis;
  std::size_t named = 0;  // axes of the input that entries are about
  for (std::size_t i = 0; i < begin.size(); ++i) named += !bit(ellipsis, i) && !bit(added, i);
  if (named > rank || begin.size() != end.size() || begin.size() != strides.size()) return std::nullopt;
  SlicedAxes result;
  std::int64_t axis = 0, place = 0;  // in the input, in the result
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (bit(ellipsis, i)) {
      axis += static_cast<std::int64_t>(rank - named), place += static_cast<std::int64_t>(rank - named);
    } else if (bit(added, i)) {
      result.added.push_back(place++);
    } else {
      const bool drops = bit(dropped, i);
      const std::int64_t step = strides[i], first = begin[i];
      const std::int64_t start = bit(masks.begin, i) && !drops ? (step > 0 ? 0 : far) : first;
      const std::int64_t last = masks.ends_count_from_begin ? first + end[i] : end[i];
      std::int64_t stop = bit(masks.end, i) ? (step > 0 ? far : -far) : last;
      if (drops) stop = start == -1 ? far : start + 1;
      if (step == 0 || (drops && step < 0)) return std::nullopt;
      if (start != 0 || stop != far || step != 1) {
        result.starts.push_back(start), result.ends.push_back(stop), result.axes.push_back(axis),
            result.steps.push_back(step);
      }
      if (drops) result.dropped.push_back(axis);
      ++axis, place += !drops;
    }
  }
  return result;
}

/// Positions that are computed.
Val slice_at_values(Call& call, Val x, Val begin_values, Val end_values, Val stride_values, const SliceMasks& masks) {
  auto& onnx = call.onnx;
  const auto strides = onnx.constant_integers(stride_values);
  if (!strides || std::any_of(strides->begin(), strides->end(), [](std::int64_t s) { return s <= 0; })) {
    call.refuse("its positions and strides are not constant");
    return x;
  }
  // Entries that are about axes of the input, and those axes.
  std::vector<std::size_t> entries;
  Numbers axes, gone, added, steps;
  std::int64_t axis = 0, place = 0;
  std::size_t named = 0;
  for (std::size_t i = 0; i < strides->size(); ++i) named += !bit(masks.ellipsis, i) && !bit(masks.new_axis, i);
  const std::size_t rank = call.rank(x);
  if (named == 0 || named > rank || masks.ends_count_from_begin) {
    call.refuse("its positions are not constant, and do not fit its input");
    return x;
  }
  for (std::size_t i = 0; i < strides->size(); ++i) {
    if (bit(masks.ellipsis, i)) {
      axis += static_cast<std::int64_t>(rank - named), place += static_cast<std::int64_t>(rank - named);
    } else if (bit(masks.new_axis, i)) {
      added.push_back(place++);
    } else {
      entries.push_back(i), steps.push_back((*strides)[i]), axes.push_back(axis++);
      place += !bit(masks.shrink_axis, i);
    }
  }
  const auto masked = [&](Val positions, std::int64_t mask, std::int64_t replaced) {
    std::vector<Val> parts;
    for (const std::size_t i : entries) {
      const auto at = static_cast<std::int64_t>(i);
      parts.push_back(bit(mask, i) ? onnx.integers({replaced})
                                   : onnx.emit("Slice", {positions, onnx.integers({at}), onnx.integers({at + 1}),
                                                         onnx.integers({0})}));
    }
    return onnx.joined(parts);
  };
  const std::int64_t dropped = masks.shrink_axis;
  const Val begin = as_sizes(onnx, begin_values);
  const Val first = masked(begin, masks.begin & ~dropped, 0);
  std::vector<Val> ends;
  const Val end = masked(as_sizes(onnx, end_values), masks.end, std::numeric_limits<std::int32_t>::max());
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const std::size_t i = entries[e];
    const auto at = static_cast<std::int64_t>(e);
    const auto one = [&](Val vector) {
      return onnx.emit("Slice", {vector, onnx.integers({at}), onnx.integers({at + 1}), onnx.integers({0})});
    };
    if (!bit(dropped, i)) {
      ends.push_back(one(end));
      continue;
    }
    gone.push_back(axes[e]);
    // One behind the place; behind -1 comes the end.
    const Val next = onnx.emit("Add", {one(first), onnx.integers({1})});
    const Val is_last = onnx.emit("Equal", {next, onnx.integers({0})});
    ends.push_back(onnx.emit("Where", {is_last, onnx.integers({std::numeric_limits<std::int32_t>::max()}), next}));
  }
  const Val part = onnx.emit("Slice", {x, first, onnx.joined(ends), onnx.integers(axes), onnx.integers(steps)});
  return onnx.unsqueeze(onnx.squeeze(part, gone), added);
}

}  // namespace

Val as_sizes(OnnxBuilder& onnx, Val value) {
  if (const auto known = onnx.constant_integers(value)) return onnx.integers(*known);
  const Val sizes = onnx.cast(value, ElementType::int64);
  return onnx.rank(sizes) == 1 ? sizes : onnx.reshape(sizes, {-1});
}

SliceMasks slice_masks(Call& call) {
  return {.begin = call.integer("begin_mask", 0),
          .end = call.integer("end_mask", 0),
          .ellipsis = call.integer("ellipsis_mask", 0),
          .new_axis = call.integer("new_axis_mask", 0),
          .shrink_axis = call.integer("shrink_axis_mask", 0),
          .ends_count_from_begin = call.flag("offset", false)};
}

Val strided_slice(Call& call, Val x, Val begin, Val end, Val strides, const SliceMasks& masks) {
  auto& onnx = call.onnx;
  const auto first = onnx.constant_integers(begin), last = onnx.constant_integers(end),
             steps = onnx.constant_integers(strides);
  if (!first || !last || !steps) return slice_at_values(call, x, begin, end, strides, masks);
  const auto axes = sliced_axes(call.rank(x), *first, *last, *steps, masks);
  if (!axes) {
    call.refuse("its positions do not fit its input");
    return x;
  }
  if (!axes->axes.empty())
    x = onnx.emit("Slice", {x, onnx.integers(axes->starts), onnx.integers(axes->ends), onnx.integers(axes->axes),
                            onnx.integers(axes->steps)});
  return onnx.unsqueeze(onnx.squeeze(x, axes->dropped), axes->added);
}

Val slice_of_size(Call& call, Val x, Val begin, Val size) {
  auto& onnx = call.onnx;
  constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
  Numbers axes(call.rank(x));
  std::iota(axes.begin(), axes.end(), 0);
  const Val from = as_sizes(onnx, begin);
  const auto sizes = onnx.constant_integers(size);
  const auto first = onnx.constant_integers(from);
  Val end;
  if (sizes && first && sizes->size() == first->size()) {
    Numbers ends;
    for (std::size_t i = 0; i < sizes->size(); ++i) ends.push_back((*sizes)[i] < 0 ? far : (*first)[i] + (*sizes)[i]);
    end = onnx.integers(ends);
  } else {
    const Val wanted = as_sizes(onnx, size);
    const Val to_the_end = onnx.emit("Less", {wanted, onnx.integers({0})});
    end = onnx.emit("Where", {to_the_end, onnx.integers({far}), onnx.emit("Add", {from, wanted})});
  }
  return onnx.emit("Slice", {x, from, end, onnx.integers(axes)});
}

Val updated_slice(Call& call, Val x, Val update, Val starts) {
  auto& onnx = call.onnx;
  if (onnx.elem(x) == ElementType::boolean) {  // runtimes do not choose among them
    const auto number = [&](Val value) { return onnx.cast(value, ElementType::int32); };
    return onnx.cast(updated_slice(call, number(x), number(update), starts), ElementType::boolean);
  }
  const Val size = onnx.emit("Shape", {update}), room = onnx.emit("Sub", {onnx.emit("Shape", {x}), size});
  const Val wanted = onnx.emit("Max", {as_sizes(onnx, starts), onnx.integers({0})});
  const Val before = onnx.emit("Min", {wanted, room});
  const Val pads = onnx.joined({before, onnx.emit("Sub", {room, before})});
  const Val ones = onnx.emit("Expand", {onnx.scalar_integer(ElementType::int32, 1), size});
  const Val is_new = onnx.cast(onnx.emit("Pad", {ones, pads}), ElementType::boolean);
  return onnx.emit("Where", {is_new, onnx.emit("Pad", {update, pads}), x});
}

Val reversed(Call& call, Val x, const Numbers& axes) {
  auto& onnx = call.onnx;
  if (axes.empty()) return x;
  const Numbers last(axes.size(), -1), ends(axes.size(), std::numeric_limits<std::int64_t>::min());
  return onnx.emit("Slice", {x, onnx.integers(last), onnx.integers(ends), onnx.integers(axes), onnx.integers(last)});
}

Val mirrored_with_border(Call& call, Val x, const Numbers& pairs) {
  auto& onnx = call.onnx;
  if (call.refused() || pairs.size() != 2 * call.rank(x)) return x;
  for (std::size_t axis = 0; axis < pairs.size() / 2; ++axis) {
    const std::int64_t before = pairs[2 * axis], after = pairs[2 * axis + 1], at = static_cast<std::int64_t>(axis);
    constexpr std::int64_t far = std::int64_t{1} << 40;
    std::vector<Val> parts = {x};
    const auto mirrored = [&](std::int64_t from, std::int64_t to) {
      return onnx.emit("Slice",
                       {x, onnx.integers({from}), onnx.integers({to}), onnx.integers({at}), onnx.integers({-1})});
    };
    if (before > 0) parts.insert(parts.begin(), mirrored(before - 1, -far));
    if (after > 0) parts.push_back(mirrored(-1, -1 - after));
    if (parts.size() > 1) x = onnx.emit("Concat", parts, {{"axis", at}});
  }
  return x;
}

Val gathered(Call& call, Val x, Val indices, std::int64_t axis, std::int64_t batches) {
  auto& onnx = call.onnx;
  if (batches == 0) return onnx.emit("Gather", {x, indices}, {{"axis", axis}});
  if (batches != axis || batches < 0 || static_cast<std::size_t>(batches) > call.rank(indices)) {
    call.refuse("its batch dimensions end before its axis");
    return x;
  }
  // GatherND takes the place along the axis behind the batches as a vector of one.
  const Val columns = onnx.unsqueeze(onnx.cast(indices, ElementType::int64), {-1});
  return onnx.emit("GatherND", {x, columns}, {{"batch_dims", batches}});
}

Val pads_of_pairs(OnnxBuilder& onnx, Val pairs) {
  const Val wide = onnx.cast(pairs, ElementType::int64);
  if (const auto known = onnx.constant_integers(wide)) {
    Numbers pads;
    for (const std::size_t side : {0, 1})
      for (std::size_t i = side; i < known->size(); i += 2) pads.push_back((*known)[i]);
    return onnx.integers(pads);
  }
  return onnx.reshape(onnx.transpose(wide, {1, 0}), {-1});
}

Val stacked(Call& call, std::vector<Val> values, std::int64_t axis) {
  auto& onnx = call.onnx;
  for (Val& value : values) value = onnx.unsqueeze(value, {axis});
  return values.size() == 1 ? values.front() : onnx.emit("Concat", values, {{"axis", axis}});
}

std::vector<Val> split_equally(OnnxBuilder& onnx, Val value, std::int64_t axis, std::size_t count) {
  if (count <= 1) return {value};
  return onnx.emit_many(count, "Split", {value}, {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(count)}});
}

std::vector<Val> unstacked(Call& call, Val value, std::int64_t axis, std::size_t count) {
  auto& onnx = call.onnx;
  std::vector<Val> results = split_equally(onnx, value, axis, count);
  for (Val& result : results) result = onnx.squeeze(result, {axis});
  return results;
}

// ---- space and batches

namespace {

/// Sizes of a value, of which those that are known are constants.
std::vector<Val> sizes_of(OnnxBuilder& onnx, Val x, std::size_t rank) {
  std::vector<Val> sizes;
  for (std::size_t axis = 0; axis < rank; ++axis) sizes.push_back(onnx.size_of(x, static_cast<std::int64_t>(axis)));
  return sizes;
}

Val product_of_sizes(OnnxBuilder& onnx, Val a, Val b) {
  const auto x = onnx.constant_integers(a), y = onnx.constant_integers(b);
  if (x && y && x->size() == 1 && y->size() == 1) return onnx.integers({x->front() * y->front()});
  return onnx.emit("Mul", {a, b});
}
Val quotient_of_sizes(OnnxBuilder& onnx, Val a, std::int64_t b) {
  const auto x = onnx.constant_integers(a);
  if (x && x->size() == 1) return onnx.integers({x->front() / b});
  return onnx.emit("Div", {a, onnx.integers({b})});
}

/// The block shape; refuses one that is not constant or not positive.
Numbers blocks_of(Call& call, Val block_shape, std::size_t rank) {
  const auto blocks = call.onnx.constant_integers(block_shape);
  constexpr std::int64_t most = 1 << 20;
  if (blocks && !blocks->empty() && blocks->size() < rank &&
      std::all_of(blocks->begin(), blocks->end(), [](std::int64_t b) { return b >= 1 && b <= most; }))
    return *blocks;
  call.refuse("its block shape is not constant");
  return {};
}

}  // namespace

Val space_to_batch(Call& call, Val x, Val block_shape, Val pairs) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  const Numbers blocks = blocks_of(call, block_shape, rank);
  const auto paddings = onnx.constant_integers(pairs);
  if (blocks.empty() || !paddings || paddings->size() != 2 * blocks.size()) {
    call.refuse("its paddings are not constant");
    return x;
  }
  Numbers pads(2 * rank, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    pads[i + 1] = (*paddings)[2 * i], pads[i + 1 + rank] = (*paddings)[2 * i + 1];
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; }))
    x = onnx.emit("Pad", {x, onnx.integers(pads)});
  const std::vector<Val> sizes = sizes_of(onnx, x, rank);
  std::vector<Val> split = {sizes[0]}, merged = {sizes[0]};
  Numbers permutation;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    split.push_back(quotient_of_sizes(onnx, sizes[i + 1], blocks[i]));
    merged.push_back(split.back());
    merged.front() = product_of_sizes(onnx, merged.front(), onnx.integers({blocks[i]}));
    split.push_back(onnx.integers({blocks[i]}));
    permutation.push_back(static_cast<std::int64_t>(2 * i + 2));
  }
  permutation.push_back(0);
  for (std::size_t i = 0; i < blocks.size(); ++i) permutation.push_back(static_cast<std::int64_t>(2 * i + 1));
  for (std::size_t axis = blocks.size() + 1; axis < rank; ++axis) {
    permutation.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(sizes[axis]);
    merged.push_back(sizes[axis]);
  }
  const Val moved = onnx.transpose(onnx.emit("Reshape", {x, onnx.joined(split)}), permutation);
  return onnx.emit("Reshape", {moved, onnx.joined(merged)});
}

Val batch_to_space(Call& call, Val x, Val block_shape, Val pairs) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  const Numbers blocks = blocks_of(call, block_shape, rank);
  const auto crops = onnx.constant_integers(pairs);
  if (blocks.empty() || !crops || crops->size() != 2 * blocks.size()) {
    call.refuse("its crops are not constant");
    return x;
  }
  const std::vector<Val> sizes = sizes_of(onnx, x, rank);
  Val batch = sizes[0];
  std::vector<Val> split, merged;
  Numbers permutation = {static_cast<std::int64_t>(blocks.size())};
  for (const std::int64_t block : blocks) {
    split.push_back(onnx.integers({block}));
    batch = quotient_of_sizes(onnx, batch, block);
  }
  split.push_back(batch);
  merged.push_back(batch);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    permutation.push_back(static_cast<std::int64_t>(blocks.size() + 1 + i));
    permutation.push_back(static_cast<std::int64_t>(i));
    split.push_back(sizes[i + 1]);
    merged.push_back(product_of_sizes(onnx, sizes[i + 1], onnx.integers({blocks[i]})));
  }
  for (std::size_t axis = blocks.size() + 1; axis < rank; ++axis) {
    permutation.push_back(static_cast<std::int64_t>(split.size()));
    split.push_back(sizes[axis]);
    merged.push_back(sizes[axis]);
  }
  const Val moved = onnx.transpose(onnx.emit("Reshape", {x, onnx.joined(split)}), permutation);
  Val space = onnx.emit("Reshape", {moved, onnx.joined(merged)});
  Numbers starts, ends, axes;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if ((*crops)[2 * i] == 0 && (*crops)[2 * i + 1] == 0) continue;
    axes.push_back(static_cast<std::int64_t>(i + 1));
    starts.push_back((*crops)[2 * i]);
    ends.push_back((*crops)[2 * i + 1] == 0 ? std::numeric_limits<std::int32_t>::max() : -(*crops)[2 * i + 1]);
  }
  if (!axes.empty())
    space = onnx.emit("Slice", {space, onnx.integers(starts), onnx.integers(ends), onnx.integers(axes)});
  return space;
}

Val with_last_axes_swapped(Call& call, Val value) {
  std::vector<std::int64_t> permutation;
  const auto rank = static_cast<std::int64_t>(call.rank(value));
  for (std::int64_t axis = 0; axis < rank; ++axis) permutation.push_back(axis);
  if (rank >= 2) std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  return call.onnx.transpose(value, permutation);
}

}  // namespace onnxkit::foreign
