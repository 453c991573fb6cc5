#include "converters/opset/compose/old_constant.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "converters/opset/compose/element_types.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

std::vector<std::int64_t> whole_numbers(const ir::Tensor& tensor) {
  auto reader = ir::ElementReader::open(tensor);
  if (!reader) refuse("the content of the Constant is outside the model file or malformed");
  std::vector<std::int64_t> values(static_cast<std::size_t>(reader->count()));
  if (reader->read(values) != values.size()) refuse("the content of the Constant is malformed");
  return values;
}

/// `part` of each number, a float64, as a value of the integer type.
template <class Part>
ValueId part_of(Step& step, const ir::Tensor& tensor, const std::vector<std::int64_t>& values, ElementType type,
                std::string_view hint, Part part) {
  std::vector<double> parts(values.size());
  std::transform(values.begin(), values.end(), parts.begin(), part);
  return cast(step, step.numbers(ElementType::float64, tensor.dims, parts), type, hint);
}

}  // namespace

bool fits_old_constant(ElementType type) {
  return type == ElementType::float16 || type == ElementType::float32 || type == ElementType::float64;
}

void write_old_constant(Step& step, const ir::Tensor& tensor, ValueId result) {
  const ElementType type = ir::element_type_of(tensor);
  const bool is_readable = (is_integer(type) && storage_bits(type) >= 8) || type == ElementType::boolean;
  if (!is_readable)
    refuse(fmt::format("up to opset 8 Constant holds floating-point numbers only, and they are not cast to {}",
                       name_of(type)));
  const std::vector<std::int64_t> values = whole_numbers(tensor);
  const bool is_unsigned = type == ElementType::uint64;
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  const bool fits = std::all_of(values.begin(), values.end(),
                                [&](std::int64_t v) { return v <= exact && v >= (is_unsigned ? 0 : -exact); });
  if (fits) {
    const std::vector<double> reals(values.begin(), values.end());
    return cast_into(step, step.numbers(ElementType::float64, tensor.dims, reals), type, result);
  }
  const ValueId high = part_of(step, tensor, values, type, "high", [&](std::int64_t v) {
    return is_unsigned ? static_cast<double>(static_cast<std::uint64_t>(v) >> 32) : static_cast<double>(v >> 32);
  });
  const ValueId low =
      part_of(step, tensor, values, type, "low", [](std::int64_t v) { return static_cast<double>(v & 0xffffffff); });
  const ValueId factor = part_of(step, tensor, values, type, "factor", [](std::int64_t) { return 4294967296.0; });
  step.emit("Add", {step.add("Mul", {high, factor}, {}, "high_part"), low}, {result});
}

}  // namespace onnxkit::opset
