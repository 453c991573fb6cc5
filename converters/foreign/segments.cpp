#include "converters/foreign/segments.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace onnxkit::foreign {
namespace {

/// The least or the greatest number of a type; none of types that are not grouped.
Val edge_of(OnnxBuilder& onnx, ElementType type, bool is_lowest) {
  const auto real = [&]<typename Number>(Number) {
    using Limits = std::numeric_limits<Number>;
    return onnx.scalar(type, static_cast<double>(is_lowest ? Limits::lowest() : Limits::max()));
  };
  const auto whole = [&]<typename Number>(Number) {
    using Limits = std::numeric_limits<Number>;
    return onnx.scalar_integer(type, static_cast<std::int64_t>(is_lowest ? Limits::min() : Limits::max()));
  };
  if (type == ElementType::float32) return real(float{});
  if (type == ElementType::float64) return real(double{});
  if (type == ElementType::int32) return whole(std::int32_t{});
  return type == ElementType::int64 ? whole(std::int64_t{}) : Val{};
}

/// What a group without rows has.
Val start_of(OnnxBuilder& onnx, std::string_view reduction, ElementType type) {
  if (reduction == "add") return onnx.scalar(type, 0);
  if (reduction == "mul") return onnx.scalar(type, 1);
  return edge_of(onnx, type, reduction == "max");
}

/// Of few numbers whose groups are known, as programs compute sizes: each group by itself, so that inference follows.
std::optional<Val> groups_of_few(Call& call, Val data, Val groups, Val count, const std::string& reduction) {
  auto& onnx = call.onnx;
  constexpr std::int64_t most = 16;
  const auto ids = onnx.constant_integers(groups), counts = onnx.constant_integers(count);
  const bool is_vector = onnx.rank(data) == 1 && onnx.rank(groups) == 1;
  if (!is_vector || !ids || !counts || counts->size() != 1 || static_cast<std::int64_t>(ids->size()) > most ||
      counts->front() > most || counts->front() < 1)
    return std::nullopt;
  if (reduction != "mul" && reduction != "add") return std::nullopt;
  std::vector<Val> results;
  for (std::int64_t group = 0; group < counts->front(); ++group) {
    Val result;
    for (std::size_t i = 0; i < ids->size(); ++i) {
      if ((*ids)[i] != group) continue;
      const Val one =
          onnx.emit("Gather", {data, onnx.integers({static_cast<std::int64_t>(i)})}, {{"axis", std::int64_t{0}}});
      result = result ? onnx.emit(reduction == "mul" ? "Mul" : "Add", {result, one}) : one;
    }
    results.push_back(result ? result : onnx.reshape(start_of(onnx, reduction, onnx.elem(data)), {1}));
  }
  return results.size() == 1 ? results.front() : onnx.emit("Concat", results, {{"axis", std::int64_t{0}}});
}

}  // namespace

Val grouped(Call& call, Val data, Val groups, Val count, const std::string& reduction) {
  auto& onnx = call.onnx;
  const Val start = start_of(onnx, reduction, onnx.elem(data));
  if (!start) {
    call.refuse("groups of this element type");
    return data;
  }
  const Val row = onnx.emit("Shape", {data}, {{"start", static_cast<std::int64_t>(call.rank(groups))}});
  const Val empty = onnx.emit("Expand", {start, onnx.joined({count, row})});
  return onnx.emit("ScatterND", {empty, onnx.unsqueeze(groups, {-1}), data}, {{"reduction", reduction}});
}

/// Rows of a negative group go into one more, which is cut off.
Val unsorted_segments(Call& call, Val data, Val groups, Val count, const std::string& reduction) {
  auto& onnx = call.onnx;
  if (call.rank(groups) == 0) data = onnx.unsqueeze(data, {0}), groups = onnx.unsqueeze(groups, {0});
  if (const auto few = groups_of_few(call, data, groups, count, reduction)) return *few;
  const Val is_left_out = onnx.emit("Less", {groups, onnx.scalar_integer(ElementType::int64, 0)});
  const Val whole = onnx.emit("Add", {count, onnx.integers({1})});
  const Val filled = grouped(call, data, onnx.emit("Where", {is_left_out, count, groups}), whole, reduction);
  return onnx.emit("Slice", {filled, onnx.integers({0}), count, onnx.integers({0})});
}

}  // namespace onnxkit::foreign
