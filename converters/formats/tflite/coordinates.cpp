#include "converters/formats/tflite/coordinates.h"

#include <algorithm>
#include <numeric>

namespace onnxkit::to_tflite {
namespace {

bool counts_from_start(const WriteCall& call, std::size_t input) {
  const auto known = call.known_integers(input);
  return known && std::none_of(known->begin(), known->end(), [](std::int64_t at) { return at < 0; });
}

/// 0, 1, ... along an axis of a value of that rank.
ValueId counted_axis(WriteCall& call, Dim size, std::size_t axis, std::size_t rank) {
  Shape shape(rank, Dim(1));
  shape[axis] = size;
  if (size.is_constant()) {
    Ints places(static_cast<std::size_t>(std::max<std::int64_t>(size.constant(), 0)));
    std::iota(places.begin(), places.end(), 0);
    return matrix(call, *known_sizes(Type::tensor(ElementType::int32, shape)), places);
  }
  const ValueId limit = as_scalar(call, sizes_vector(call, {size}));
  const ValueId zero = number(call, 0), one = number(call, 1);
  const ValueId range =
      call.emit("RANGE", {{"start", zero}, {"limit", limit}, {"delta", one}}, Type::tensor(ElementType::int32, {size}));
  return reshape(call, range, shape);
}

}  // namespace

ValueId positions(WriteCall& call, std::size_t input, std::size_t of_axis) {
  const std::optional<std::int64_t> size = call.size(0, of_axis);
  const ElementType elem = call.elem(input);
  const ValueId given = call.input(input);
  if (counts_from_start(call, input)) return given;
  if (!size) {
    const Dim open = call.shape(0) && of_axis < call.shape(0)->size() ? (*call.shape(0))[of_axis] : Dim();
    const ValueId length = cast(call, as_scalar(call, sizes_vector(call, {open})), elem);
    return call.refused() ? given : binary(call, "FLOOR_MOD", given, length);
  }
  return binary(call, "FLOOR_MOD", given, call.scalar(elem, static_cast<double>(*size)));
}

ValueId row_positions(WriteCall& call, std::size_t input) {
  const ValueId given = call.input(input);
  if (counts_from_start(call, input)) return given;
  const auto width = call.rank(input) == 0 ? std::nullopt : call.size(input, call.rank(input) - 1);
  if (!width || !call.shape(0) || *width > static_cast<std::int64_t>(call.shape(0)->size())) {
    call.refuse("how many axes its positions are on is not known");
    return given;
  }
  const Shape axes(call.shape(0)->begin(), call.shape(0)->begin() + static_cast<std::ptrdiff_t>(*width));
  const ValueId sizes = cast(call, sizes_vector(call, axes), call.elem(input));
  return call.refused() ? given : binary(call, "FLOOR_MOD", given, sizes);
}

ValueId element_coordinates(WriteCall& call, std::size_t input, std::int64_t axis, const Shape& sizes) {
  const std::size_t rank = sizes.size();
  const ValueId along = cast(call, positions(call, input, static_cast<std::size_t>(axis)), ElementType::int32);
  const ValueId zeros = binary(call, "SUB", along, along);
  Shape column = sizes;
  column.push_back(Dim(1));
  std::vector<ValueId> columns;
  for (std::size_t a = 0; a < rank; ++a) {
    const ValueId places = static_cast<std::int64_t>(a) == axis
                               ? along
                               : binary(call, "ADD", zeros, counted_axis(call, sizes[a], a, rank));
    columns.push_back(call.emit("EXPAND_DIMS",
                                {{"x", places}, {"axis", numbers(call, {static_cast<std::int64_t>(rank)})}},
                                Type::tensor(ElementType::int32, column)));
  }
  column.back() = Dim(static_cast<std::int64_t>(rank));
  return concat(call, columns, static_cast<std::int64_t>(rank), Type::tensor(ElementType::int32, column));
}

}  // namespace onnxkit::to_tflite
