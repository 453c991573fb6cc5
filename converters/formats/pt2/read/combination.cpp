// Elements of tensors in all combinations, and matrices as blocks of one.
#include <algorithm>
#include <optional>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/pairs.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/sizes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// All in the type that PyTorch promotes them to.
std::vector<Val> promoted_tensors(Call& call) {
  std::vector<Val> parts = call.tensors("tensors");
  ElementType type = ElementType::undefined;
  for (const Val part : parts) type = promoted(type, call.onnx.elem(part));
  for (Val& part : parts) part = call.onnx.cast(part, type);
  if (parts.empty()) call.refuse("there are no tensors");
  return parts;
}

/// Each below and to the right of the one before, zeros around them.
void map_block_diagonal(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> blocks = promoted_tensors(call);
  const Val none = onnx.integers({0});
  Val whole = none;
  for (Val& block : blocks) {
    const std::size_t rank = call.rank(block);
    if (rank < 2)
      block = onnx.unsqueeze(block, rank == 0 ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0});
    whole = sum_of_sizes(onnx, whole, onnx.size_of(block, 1));
  }
  Val left = none;
  for (Val& block : blocks) {
    const Val right = sum_of_sizes(onnx, left, onnx.size_of(block, 1));
    const auto start = onnx.constant_integers(left), end = onnx.constant_integers(right),
               all = onnx.constant_integers(whole);
    const Val behind = end && all ? onnx.integers({all->front() - end->front()}) : onnx.emit("Sub", {whole, right});
    if (!start || !all || start->front() > 0 || end->front() < all->front())
      block = onnx.emit("Pad", {block, onnx.joined({none, left, none, behind})});
    left = right;
  }
  call.result(blocks.size() == 1 ? blocks.front() : onnx.emit("Concat", blocks, {{"axis", std::int64_t{0}}}));
}

/// Rows of one element of each vector, the last one changing first.
void map_cartesian_product(Call& call) {
  auto& onnx = call.onnx;
  const std::vector<Val> vectors = promoted_tensors(call);
  if (vectors.size() == 1) return call.result(vectors.front());
  std::vector<Val> sizes, columns;
  for (const Val vector : vectors)
    sizes.push_back(call.rank(vector) == 0 ? onnx.integers({1}) : onnx.size_of(vector, 0));
  const Val shape = onnx.joined(sizes);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    std::vector<std::int64_t> along(vectors.size(), 1);
    along[i] = -1;
    const Val grid = onnx.emit("Expand", {onnx.reshape(vectors[i], along), shape});
    columns.push_back(onnx.reshape(grid, {-1, 1}));
  }
  call.result(onnx.emit("Concat", columns, {{"axis", std::int64_t{1}}}));
}

/// The places of `length` out of `count` elements in order, one row behind the other; nullopt when there are too many.
std::optional<std::vector<std::int64_t>> ordered_choices(std::int64_t count, std::int64_t length, bool repeats) {
  constexpr std::size_t most = 1 << 20;
  std::vector<std::int64_t> rows, row;
  const std::int64_t step = repeats ? 0 : 1;
  for (std::int64_t i = 0; i < length; ++i) row.push_back(i * step);
  while (!row.empty() && row.back() < count && rows.size() < most) {
    rows.insert(rows.end(), row.begin(), row.end());
    // The last place that can go on does, those behind it follow it.
    std::int64_t at = length - 1;
    while (at > 0 && row[static_cast<std::size_t>(at)] + 1 > count - 1 - (length - 1 - at) * step) --at;
    ++row[static_cast<std::size_t>(at)];
    for (std::int64_t i = at + 1; i < length; ++i)
      row[static_cast<std::size_t>(i)] = row[static_cast<std::size_t>(i - 1)] + step;
  }
  return rows.size() < most ? std::optional(rows) : std::nullopt;
}

void map_combinations(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t length = call.integer("r", 2);
  const bool repeats = call.flag("with_replacement", false);
  constexpr std::int64_t most_length = 64;
  if (call.rank(x) != 1 || length < 1 || length > most_length) return call.refuse("combinations of so many elements");
  if (length == 1) return call.result(onnx.unsqueeze(x, {1}));
  const auto count = onnx.size(x, 0);
  if (count) {
    const auto rows = ordered_choices(*count, length, repeats);
    if (!rows) return call.refuse("there are too many combinations");
    const auto number = static_cast<std::int64_t>(rows->size()) / length;
    return call.result(
        onnx.emit("Gather", {x, onnx.reshape(onnx.integers(*rows), {number, length})}, {{"axis", std::int64_t{0}}}));
  }
  if (length != 2) return call.refuse("combinations of more than two elements of a number that is not known");
  const Pairs pairs = pairs_of_rows(call, x, repeats);
  const Val places = onnx.emit("Concat", {onnx.unsqueeze(pairs.first, {1}), onnx.unsqueeze(pairs.second, {1})},
                               {{"axis", std::int64_t{1}}});
  call.result(onnx.emit("Gather", {x, places}, {{"axis", std::int64_t{0}}}));
}

/// Each tensor is cut along an axis into so many chunks, zeros filling the last ones; the chunks of all stand flat behind each other.
void map_chunks_side_by_side(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> parts = promoted_tensors(call);
  const std::int64_t chunks = call.integer("num_chunks", 1);
  constexpr std::int64_t most_chunks = 1 << 20;
  if (parts.empty() || chunks < 1 || chunks > most_chunks) return call.refuse("so many chunks");
  const std::int64_t axis = call.axis("dim", 0, call.rank(parts.front()));
  for (Val& part : parts) {
    const std::size_t rank = call.rank(part);
    const auto size = onnx.size(part, static_cast<std::size_t>(axis));
    if (!size || *size < 1) return call.refuse("the size of the axis that is cut is not known");
    std::vector<std::int64_t> pads(2 * rank, 0), sizes(static_cast<std::size_t>(axis), 0);
    std::int64_t& behind = pads[rank + static_cast<std::size_t>(axis)];
    behind = (chunks - *size % chunks) % chunks;
    if (behind > 0) part = onnx.emit("Pad", {part, onnx.integers(pads)});
    sizes.insert(sizes.end(), {chunks, -1});
    part = onnx.reshape(part, sizes);
  }
  call.result(onnx.emit("Concat", parts, {{"axis", axis + 1}}));
}

}  // namespace

void register_combination(Mappings& mappings);
void register_combination(Mappings& mappings) {
  mappings.add("aten.block_diag.default", map_block_diagonal);
  mappings.add("aten.cartesian_prod.default", map_cartesian_product);
  mappings.add("aten.combinations.default", map_combinations);
  mappings.add("aten._chunk_cat.default", map_chunks_side_by_side);
}

}  // namespace onnxkit::pt2
