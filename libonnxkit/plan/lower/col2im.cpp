// Col2Im: parts of the image whose elements lie in the same taps of blocks are sums of as many shifted views of the columns.
#include <algorithm>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

struct FoldedAxis {
  std::int64_t image, block, stride, dilation, pad;
  std::int64_t steps;  ///< positions of the block
};

/// A tap, and the block that it is of for the first element of a part.
struct FoldedTap {
  std::int64_t tap, block;
};
/// Elements first, first + stride ... of an axis, all in the same taps.
struct FoldedPart {
  std::int64_t first, count;
  std::vector<FoldedTap> taps;
};

constexpr std::size_t most_folded_parts = 256;

/// Element p + i * stride is in a tap of block b + i, where there is one.
void add_folded_parts(const FoldedAxis& axis, std::int64_t p, std::vector<FoldedPart>& parts) {
  const std::int64_t count = (axis.image - p - 1) / axis.stride + 1;
  std::vector<FoldedTap> taps;
  std::vector<std::int64_t> ends = {0, count};
  for (std::int64_t tap = 0; tap < axis.block; ++tap) {
    const std::int64_t start = p + axis.pad - tap * axis.dilation;
    if (start % axis.stride != 0) continue;
    const std::int64_t block = start / axis.stride;
    taps.push_back({tap, block});
    for (const std::int64_t end : {-block, axis.steps - block}) ends.push_back(std::clamp<std::int64_t>(end, 0, count));
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    FoldedPart part{p + ends[i] * axis.stride, ends[i + 1] - ends[i], {}};
    for (const FoldedTap& tap : taps) {
      const std::int64_t block = tap.block + ends[i];
      if (block >= 0 && block < axis.steps) part.taps.push_back({tap.tap, block});
    }
    parts.push_back(std::move(part));
  }
}

/// Nothing where they are too many.
std::optional<std::vector<FoldedPart>> folded_parts_of(const FoldedAxis& axis) {
  constexpr std::int64_t most_taps = 256;
  std::vector<FoldedPart> parts;
  if (axis.block > most_taps) return std::nullopt;
  for (std::int64_t p = 0; p < std::min(axis.stride, axis.image); ++p) {
    add_folded_parts(axis, p, parts);
    if (parts.size() > most_folded_parts) return std::nullopt;
  }
  return parts;
}

/// Adds up views of the same sizes.
void emit_sum(LowerCall& call, const std::vector<View>& views, const View& to) {
  constexpr std::size_t together = 24;  // operands of a map
  if (views.empty()) {
    Expression zero;
    if (lane_of(to.type) == Lane::i64)
      zero.integer(0);
    else
      zero.constant(lane_of(to.type), 0);
    return call.emit_map(zero, {}, to);
  }
  if (views.size() == 1 && to.type != ElementType::boolean) return call.emit_copy(views[0], to);
  const Operation add = to.type == ElementType::boolean ? Operation::logical_or : Operation::add;
  std::optional<View> before;
  for (std::size_t first = 0; first < views.size(); first += together) {
    Expression e;
    std::vector<View> inputs;
    std::optional<Number> sum;
    const auto take = [&](const View& view) {
      inputs.push_back(view);
      const Number number = e.input(inputs.size() - 1, lane_of(view.type));
      sum = sum ? e.apply(add, *sum, number) : number;
    };
    if (before) take(*before);
    const std::size_t last = std::min(first + together, views.size());
    for (std::size_t i = first; i < last; ++i) take(views[i]);
    before = last == views.size() ? to : call.make_sums(to.type, to.dims);
    call.emit_map(e, std::move(inputs), *before);
  }
}

/// Columns [n, c, block, steps] at a tap of each axis, from the blocks of a part on.
View at_taps(const View& columns, std::span<const FoldedPart* const> parts, std::span<const std::size_t> taps) {
  const std::size_t axes = parts.size();
  View view = columns;
  for (std::size_t i = 0; i < axes; ++i) {
    const FoldedTap& tap = parts[i]->taps[taps[i]];
    // The axis of this tap goes, so that the next one is in its place, and its blocks are `axes` axes behind.
    view = sliced(picked(view, 2, tap.tap), 1 + axes, tap.block, 1, parts[i]->count);
  }
  return view;
}

/// Counts through all combinations, the last axis fastest. False behind the last of them.
bool next_combination(std::vector<std::size_t>& index, const auto& size_of) {
  for (std::size_t i = index.size(); i-- > 0;) {
    if (++index[i] < size_of(i)) return true;
    index[i] = 0;
  }
  return false;
}

std::optional<std::vector<FoldedAxis>> folded_axes(LowerCall& call) {
  const auto image = call.constant_integers(1), block = call.constant_integers(2);
  if (!image || !block || image->size() != block->size() || image->empty()) return std::nullopt;
  const std::size_t rank = image->size();
  const Dims strides = call.integers("strides").value_or(Dims(rank, 1)),
             dilations = call.integers("dilations").value_or(Dims(rank, 1)),
             pads = call.integers("pads").value_or(Dims(2 * rank, 0));
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) return std::nullopt;
  constexpr std::int64_t most = std::int64_t{1} << 30;
  std::vector<FoldedAxis> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    for (const std::int64_t number : {(*image)[i], (*block)[i], strides[i], dilations[i]})
      if (number < 1 || number > most) return std::nullopt;
    if (pads[i] < 0 || pads[i] > most || pads[i + rank] < 0 || pads[i + rank] > most) return std::nullopt;
    const std::int64_t room = (*image)[i] + pads[i] + pads[i + rank], reach = dilations[i] * ((*block)[i] - 1) + 1;
    if (reach > room) return std::nullopt;
    axes.push_back({(*image)[i], (*block)[i], strides[i], dilations[i], pads[i], (room - reach) / strides[i] + 1});
  }
  return axes;
}

/// [n, c, block, steps] of [n, c * taps, blocks]; nothing where the sizes do not fit.
std::optional<View> folded_columns(LowerCall& call, const std::vector<FoldedAxis>& axes, const Dims& out) {
  Dims dims = {out[0], out[1]};
  for (const FoldedAxis& axis : axes) dims.push_back(axis.block);
  for (const FoldedAxis& axis : axes) dims.push_back(axis.steps);
  std::int64_t left = call.input(0).size();
  for (const std::int64_t size : dims) {
    if (size < 1 || left % size != 0) return std::nullopt;
    left /= size;
  }
  if (left != 1) return std::nullopt;
  return reshaped_or_copied(call, call.input(0), dims);
}

Unlowered lower_col2im(LowerCall& call) {
  if (!has_lane(call.output_type(0))) return "elements cannot be computed";
  const Dims out = call.output_dims(0);
  if (call.input(0).size() == 0 || element_count(out) == 0) return "without elements";
  const auto axes = folded_axes(call);
  if (!axes || out.size() != axes->size() + 2) return "the sizes are not constant";
  std::vector<std::vector<FoldedPart>> parts;
  std::size_t all = 1;
  for (const FoldedAxis& axis : *axes) {
    auto found = folded_parts_of(axis);
    if (!found || found->size() > most_folded_parts / all) return "its blocks make many parts of the image";
    all *= found->size();
    parts.push_back(*std::move(found));
  }
  const auto columns = folded_columns(call, *axes, out);
  if (!columns) return "the sizes do not fit";
  const View result = call.make(columns->type, out);
  std::vector<std::size_t> at(axes->size(), 0);
  do {
    std::vector<const FoldedPart*> chosen;
    View to = result;
    bool has_taps = true;
    for (std::size_t i = 0; i < at.size(); ++i) {
      chosen.push_back(&parts[i][at[i]]);
      to = sliced(to, 2 + i, chosen[i]->first, (*axes)[i].stride, chosen[i]->count);
      has_taps = has_taps && !chosen[i]->taps.empty();
    }
    std::vector<View> views;
    std::vector<std::size_t> taps(at.size(), 0);
    if (has_taps) {
      do views.push_back(at_taps(*columns, chosen, taps));
      while (next_combination(taps, [&](std::size_t i) { return chosen[i]->taps.size(); }));
    }
    emit_sum(call, views, to);
  } while (next_combination(at, [&](std::size_t i) { return parts[i].size(); }));
  give(call, result);
  return std::nullopt;
}

}  // namespace

void register_col2im(LoweringRegistry& registry);
void register_col2im(LoweringRegistry& registry) { registry.add("Col2Im", all_versions(), lower_col2im); }

}  // namespace onnxkit::plan
