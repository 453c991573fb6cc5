// Attention.
#include <cmath>
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// Which keys a query may look at: those up to its own place.
Val causal_mask(Call& call, Val query, Val key) {
  auto& onnx = call.onnx;
  const auto axis = static_cast<std::int64_t>(call.rank(query)) - 2;
  const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
  const auto places = [&](Val x) { return onnx.emit("Range", {zero, onnx.squeeze(onnx.size_of(x, axis), {0}), one}); };
  return onnx.emit("GreaterOrEqual", {onnx.unsqueeze(places(query), {1}), places(key)});
}

/// Each head of keys or values for as many heads of queries as share it.
Val for_each_query_head(Call& call, Val x, Val query) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(query);
  if (rank < 3) {
    call.refuse("shared heads need an axis of heads");
    return x;
  }
  const auto heads = onnx.size(x, rank - 3), wanted = onnx.size(query, rank - 3);
  if (!heads || !wanted || *heads < 1 || *wanted % *heads != 0) {
    call.refuse("the numbers of heads are not known");
    return x;
  }
  if (*heads == *wanted) return x;
  const auto axis = static_cast<std::int64_t>(rank) - 2;  // behind the heads
  std::vector<std::int64_t> repeats(rank + 1, 1);
  repeats[static_cast<std::size_t>(axis)] = *wanted / *heads;
  const Val repeated = onnx.emit("Tile", {onnx.unsqueeze(x, {axis}), onnx.integers(repeats)});
  std::vector<Val> parts;
  for (std::size_t i = 0; i < rank; ++i)
    parts.push_back(i + 3 == rank ? onnx.integers({*wanted}) : onnx.size_of(x, static_cast<std::int64_t>(i)));
  return onnx.emit("Reshape", {repeated, onnx.joined(parts)});
}

/// softmax(scale q k^T + mask) v. A row without any key gives zeros.
void map_attention(Call& call) {
  auto& onnx = call.onnx;
  const Val query = call.tensor("query");
  Val key = call.tensor("key"), value = call.tensor("value");
  if (call.real("dropout_p", 0) != 0)
    return call.refuse("dropout draws random numbers", "call eval() on the module before exporting it");
  const std::size_t rank = call.rank(query);
  if (rank < 2) return call.refuse("a query has two axes at least");
  if (call.flag("enable_gqa", false)) {
    key = for_each_query_head(call, key, query);
    value = for_each_query_head(call, value, query);
  }
  const ElementType type = onnx.elem(query);
  const auto width = onnx.size(query, rank - 1);
  if (!width && !call.has("scale")) return call.refuse("the width of a head is not known");
  const double scale = call.has("scale") ? call.real("scale", 1) : 1 / std::sqrt(static_cast<double>(*width));
  std::vector<std::int64_t> turned;
  for (std::size_t i = 0; i < rank; ++i) turned.push_back(static_cast<std::int64_t>(i));
  std::swap(turned[rank - 1], turned[rank - 2]);
  Val scores = onnx.emit("MatMul", {onnx.emit("Mul", {query, onnx.scalar(type, scale)}), onnx.transpose(key, turned)});
  Val mask = call.flag("is_causal", false) ? causal_mask(call, query, key) : call.tensor("attn_mask");
  const Val lowest = onnx.scalar(type, -std::numeric_limits<double>::infinity());
  const bool may_be_empty = mask && call.has("attn_mask");
  if (mask && onnx.elem(mask) == ElementType::boolean) {
    scores = onnx.emit("Where", {mask, scores, lowest});
  } else if (mask) {
    scores = onnx.emit("Add", {scores, onnx.cast(mask, type)});
  }
  Val weights = onnx.emit("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (may_be_empty) weights = onnx.emit("Where", {onnx.emit("IsNaN", {weights}), onnx.scalar(type, 0), weights});
  call.result(onnx.emit("MatMul", {weights, value}));
}

}  // namespace

void register_attention(Mappings& mappings);
void register_attention(Mappings& mappings) {
  mappings.add("aten.scaled_dot_product_attention.default", map_attention);
}

}  // namespace onnxkit::pt2
