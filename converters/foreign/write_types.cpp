#include "converters/foreign/write_types.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::foreign {

Type broadcast_type(WriteCall& call, ValueId a, ValueId b) {
  const Type &left = call.type_of(a), &right = call.type_of(b);
  if (!left.shape || !right.shape) return Type::tensor(left.elem);
  Shape shape(std::max(left.shape->size(), right.shape->size()), Dim(1));
  for (std::size_t from_end = 1; from_end <= shape.size(); ++from_end) {
    const Dim one = from_end <= left.shape->size() ? (*left.shape)[left.shape->size() - from_end] : Dim(1);
    const Dim other = from_end <= right.shape->size() ? (*right.shape)[right.shape->size() - from_end] : Dim(1);
    shape[shape.size() - from_end] = one.is(1) || (other.is_constant() && !other.is(1)) ? other : one;
  }
  return Type::tensor(left.elem, std::move(shape));
}

Shape shape_from(const Ints& dims) { return Shape(dims.begin(), dims.end()); }

std::optional<Ints> known_sizes(const Type& type) {
  if (!type.shape) return std::nullopt;
  Ints sizes;
  for (const Dim dim : *type.shape) {
    if (!dim.is_constant()) return std::nullopt;
    sizes.push_back(dim.constant());
  }
  return sizes;
}

std::size_t rank_of(WriteCall& call, ValueId value) {
  const Type& type = call.type_of(value);
  if (!type.shape) call.refuse("the rank of a value that it computes with is not known");
  return type.shape ? type.shape->size() : 0;
}

std::optional<std::vector<double>> constant_reals(WriteCall call, std::size_t input) {
  if (auto known = call.known_reals(input)) return known;
  const std::optional<Tensor> stored = call.stored(input);
  const auto bits = stored ? storage_bits(stored->elem) : 0;
  if (!stored || !is_floating(stored->elem) || bits < 8) return std::nullopt;
  std::vector<double> values(stored->bytes.size() * 8 / static_cast<std::size_t>(bits));
  decode(stored->elem, stored->bytes, std::span(values));
  return values;
}

std::optional<Ints> constant_integers(WriteCall call, std::size_t input) {
  if (auto known = call.known_integers(input)) return known;
  const std::optional<Tensor> stored = call.stored(input);
  const auto bits = stored ? storage_bits(stored->elem) : 0;
  if (!stored || !is_integer(stored->elem) || bits < 8) return std::nullopt;
  Ints values(stored->bytes.size() * 8 / static_cast<std::size_t>(bits));
  decode(stored->elem, stored->bytes, std::span(values));
  return values;
}

std::optional<Ints> reduced_axes(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  Ints axes = call.integers("axes");
  if (call.has(1)) {
    const auto given = call.size(1, 0) == 0 ? std::optional<Ints>(Ints()) : call.known_integers(1);
    if (!given) call.refuse("its axes are known only when the model runs");
    axes = given.value_or(Ints());
  }
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  axes = WriteCall::from_start(axes, rank);
  std::sort(axes.begin(), axes.end());
  return call.refused() ? std::nullopt : std::optional(axes);
}

bool keeps_axes(const WriteCall& call) { return call.integer("keepdims", 1) != 0; }

}  // namespace onnxkit::foreign
