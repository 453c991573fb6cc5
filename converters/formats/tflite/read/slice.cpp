// Parts of values, and values made of parts.
#include <algorithm>
#include <limits>
#include <numeric>

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

using Numbers = std::vector<std::int64_t>;

/// What STRIDED_SLICE does to the axes of its input, told from its masks.
struct SlicedAxes {
  Numbers starts, ends, axes, steps;  ///< of Slice
  Numbers dropped;                    ///< axes of the input of which one place is taken
  Numbers added;                      ///< axes of the result that are new
};

bool bit(std::int64_t mask, std::size_t position) { return position < 63 && (mask >> position & 1) != 0; }

std::optional<SlicedAxes> sliced_axes(Call& call, std::size_t rank, const Numbers& begin, const Numbers& end,
                                      const Numbers& strides) {
  constexpr std::int64_t far = std::numeric_limits<std::int32_t>::max();
  const std::int64_t ellipsis = call.integer("ellipsis_mask", 0), added = call.integer("new_axis_mask", 0),
                     dropped = call.integer("shrink_axis_mask", 0);
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
      const std::int64_t start = bit(call.integer("begin_mask", 0), i) && !drops ? (step > 0 ? 0 : far) : first;
      const std::int64_t last = call.flag("offset", false) ? first + end[i] : end[i];
      std::int64_t stop = bit(call.integer("end_mask", 0), i) ? (step > 0 ? far : -far) : last;
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

/// Positions that are computed, without masks that change the number of axes.
void slice_at_values(Call& call, Val x) {
  auto& onnx = call.onnx;
  if (call.integer("ellipsis_mask", 0) != 0 || call.integer("new_axis_mask", 0) != 0 || call.flag("offset", false))
    return call.refuse("its positions are not constant");
  const auto strides = onnx.constant_integers(call.tensor("strides"));
  if (!strides || std::any_of(strides->begin(), strides->end(), [](std::int64_t s) { return s <= 0; }))
    return call.refuse("its positions and strides are not constant");
  const auto masked = [&](Val positions, std::int64_t mask, std::int64_t replaced) {
    std::vector<Val> parts;
    for (std::size_t i = 0; i < strides->size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      parts.push_back(bit(mask, i) ? onnx.integers({replaced})
                                   : onnx.emit("Slice", {positions, onnx.integers({at}), onnx.integers({at + 1}),
                                                         onnx.integers({0})}));
    }
    return onnx.joined(parts);
  };
  const std::int64_t dropped = call.integer("shrink_axis_mask", 0);
  const Val begin = as_sizes(call, "begin");
  const Val first = masked(begin, call.integer("begin_mask", 0) & ~dropped, 0);
  Numbers axes, gone;
  std::vector<Val> ends;
  const Val end = masked(as_sizes(call, "end"), call.integer("end_mask", 0), std::numeric_limits<std::int32_t>::max());
  for (std::size_t i = 0; i < strides->size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    axes.push_back(at);
    const auto one = [&](Val vector) {
      return onnx.emit("Slice", {vector, onnx.integers({at}), onnx.integers({at + 1}), onnx.integers({0})});
    };
    if (!bit(dropped, i)) {
      ends.push_back(one(end));
      continue;
    }
    gone.push_back(at);
    // One behind the place; behind -1 comes the end.
    const Val next = onnx.emit("Add", {one(first), onnx.integers({1})});
    const Val is_last = onnx.emit("Equal", {next, onnx.integers({0})});
    ends.push_back(onnx.emit("Where", {is_last, onnx.integers({std::numeric_limits<std::int32_t>::max()}), next}));
  }
  const Val part = onnx.emit("Slice", {x, first, onnx.joined(ends), onnx.integers(axes), onnx.integers(*strides)});
  give(call, onnx.squeeze(part, gone));
}

void map_strided_slice(Call& call) {
  auto& onnx = call.onnx;
  Val x = movable(call, "x");
  const auto begin = onnx.constant_integers(call.tensor("begin")), end = onnx.constant_integers(call.tensor("end")),
             strides = onnx.constant_integers(call.tensor("strides"));
  if (!begin || !end || !strides) return slice_at_values(call, x);
  const auto axes = sliced_axes(call, call.rank(x), *begin, *end, *strides);
  if (!axes) return call.refuse("its positions do not fit its input");
  if (!axes->axes.empty())
    x = onnx.emit("Slice", {x, onnx.integers(axes->starts), onnx.integers(axes->ends), onnx.integers(axes->axes),
                            onnx.integers(axes->steps)});
  give(call, onnx.unsqueeze(onnx.squeeze(x, axes->dropped), axes->added));
}

/// A size of -1 reaches to the end.
void map_slice(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x"), begin = as_sizes(call, "begin");
  Numbers axes(call.rank(x));
  std::iota(axes.begin(), axes.end(), 0);
  const auto sizes = onnx.constant_integers(call.tensor("size"));
  const auto first = onnx.constant_integers(begin);
  Val end;
  if (sizes && first && sizes->size() == first->size()) {
    Numbers ends;
    for (std::size_t i = 0; i < sizes->size(); ++i)
      ends.push_back((*sizes)[i] < 0 ? std::numeric_limits<std::int32_t>::max() : (*first)[i] + (*sizes)[i]);
    end = onnx.integers(ends);
  } else {
    const Val size = as_sizes(call, "size");
    const Val to_the_end = onnx.emit("Less", {size, onnx.integers({0})});
    end = onnx.emit("Where", {to_the_end, onnx.integers({std::numeric_limits<std::int32_t>::max()}),
                              onnx.emit("Add", {begin, size})});
  }
  give(call, onnx.emit("Slice", {x, begin, end, onnx.integers(axes)}));
}

void map_split(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::size_t parts = call.node.outputs.size();
  if (parts == 0) return call.refuse("it has no results");
  give(call, onnx.emit_many(parts, "Split", {x}, {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(parts)}}));
}

void map_split_v(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  give(call, onnx.emit_many(call.node.outputs.size(), "Split", {x, as_sizes(call, "sizes")}, {{"axis", axis}}));
}

void map_concatenation(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> xs =
      call.integer("fused_activation_function", 0) == 0 ? movables(call, "xs") : reals(call, "xs");
  if (xs.empty()) return call.refuse("it has no inputs");
  const std::int64_t axis = call.axis("axis", 0, call.rank(xs.front()));
  give_activated(call, onnx.emit("Concat", xs, {{"axis", axis}}));
}

void map_pack(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> xs = movables(call, "xs");
  if (xs.empty()) return call.refuse("it has no inputs");
  const std::int64_t axis = call.axis("axis", 0, call.rank(xs.front()) + 1);
  for (Val& x : xs) x = onnx.unsqueeze(x, {axis});
  give(call, onnx.emit("Concat", xs, {{"axis", axis}}));
}

void map_unpack(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::size_t parts = call.node.outputs.size();
  if (parts == 0) return call.refuse("it has no results");
  std::vector<Val> results = {x};
  if (parts > 1)
    results = onnx.emit_many(parts, "Split", {x}, {{"axis", axis}, {"num_outputs", static_cast<std::int64_t>(parts)}});
  for (Val& result : results) result = onnx.squeeze(result, {axis});
  give(call, results);
}

/// With batch dimensions, as GatherND of positions that count the batches.
void map_gather(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x"), indices = call.tensor("indices");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  const std::int64_t batches = call.integer("batch_dims", 0);
  if (batches == 0) return give(call, onnx.emit("Gather", {x, indices}, {{"axis", axis}}));
  if (batches != axis || batches < 0 || static_cast<std::size_t>(batches) > call.rank(indices))
    return call.refuse("its batch dimensions end before its axis");
  const Val columns = onnx.unsqueeze(onnx.cast(indices, ElementType::int64), {-1});
  give(call, onnx.emit("GatherND", {x, columns}, {{"batch_dims", batches}}));
}

void map_gather_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  give(call, onnx.emit("GatherND", {x, onnx.cast(call.tensor("indices"), ElementType::int64)}));
}

/// Updates of one place add up.
void map_scatter_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val updates = real(call, "updates");
  const Val zeros = onnx.emit("Expand", {onnx.scalar(onnx.elem(updates), 0), as_sizes(call, "shape")});
  give(call, onnx.emit("ScatterND", {zeros, onnx.cast(call.tensor("indices"), ElementType::int64), updates},
                       {{"reduction", std::string("add")}}));
}

/// Pairs of before and after for each axis, in ONNX all befores first.
Val pads_of(Call& call) {
  auto& onnx = call.onnx;
  const Val pairs = onnx.cast(call.tensor("paddings"), ElementType::int64);
  if (const auto known = onnx.constant_integers(pairs)) {
    Numbers pads;
    for (const std::size_t side : {0, 1})
      for (std::size_t i = side; i < known->size(); i += 2) pads.push_back((*known)[i]);
    return onnx.integers(pads);
  }
  return onnx.reshape(onnx.transpose(pairs, {1, 0}), {-1});
}

void map_pad(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  std::vector<Val> inputs = {x, pads_of(call)};
  if (call.has("value")) inputs.push_back(onnx.reshape(real(call, "value"), Numbers()));
  give(call, onnx.emit("Pad", inputs));
}

void map_mirror_pad(Call& call) {
  const Val x = real(call, "x");
  if (call.integer("mode", 0) != 0) {
    // SYMMETRIC repeats the border itself, which ONNX's modes do not.
    return call.refuse("ONNX does not mirror the border itself", "mode REFLECT has a counterpart");
  }
  give(call, call.onnx.emit("Pad", {x, pads_of(call)}, {{"mode", std::string("reflect")}}));
}

void map_reverse(Call& call) {
  auto& onnx = call.onnx;
  const Val x = movable(call, "x");
  const auto axes = onnx.constant_integers(call.tensor("axes"));
  if (!axes) return call.refuse("its axes are not constant");
  const Numbers last(axes->size(), -1), steps(axes->size(), -1),
      ends(axes->size(), std::numeric_limits<std::int64_t>::min());
  give(call,
       onnx.emit("Slice", {x, onnx.integers(last), onnx.integers(ends), onnx.integers(*axes), onnx.integers(steps)}));
}

}  // namespace

void register_slice(Mappings& mappings);
void register_slice(Mappings& mappings) {
  mappings.add("STRIDED_SLICE", {"x", "begin", "end", "strides"}, map_strided_slice);
  mappings.add("SLICE", {"x", "begin", "size"}, map_slice);
  mappings.add("SPLIT", {"axis", "x"}, map_split);
  mappings.add("SPLIT_V", {"x", "sizes", "axis"}, map_split_v);
  mappings.add("CONCATENATION", {"xs..."}, map_concatenation);
  mappings.add("PACK", {"xs..."}, map_pack);
  mappings.add("UNPACK", {"x"}, map_unpack);
  mappings.add("GATHER", {"x", "indices"}, map_gather);
  mappings.add("GATHER_ND", {"x", "indices"}, map_gather_nd);
  mappings.add("SCATTER_ND", {"indices", "updates", "shape"}, map_scatter_nd);
  mappings.add("PAD", {"x", "paddings"}, map_pad);
  mappings.add("PADV2", {"x", "paddings", "value"}, map_pad);
  mappings.add("MIRROR_PAD", {"x", "paddings"}, map_mirror_pad);
  mappings.add("REVERSE_V2", {"x", "axes"}, map_reverse);
}

}  // namespace onnxkit::tflite
