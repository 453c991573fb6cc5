#include <bit>

#include "libonnxkit/wire/text/parser.h"

namespace onnxkit::wire::text {

void Parser::tensor(ir::Tensor& tensor) {
  std::optional<ir::DeclaredType> declared;
  type(declared.emplace());
  if (in_.next_is_string() || !in_.peek_identifier().empty()) tensor.name = keep(in_.name("the name of a tensor"));
  in_.match('=');
  tensor_after_type(tensor, declared);
  if (in_.next_is_extension()) extension(tensor);
}

void Parser::tensor_after_type(ir::Tensor& tensor, const std::optional<ir::DeclaredType>& type) {
  if (!type || type->kind != ir::DeclaredType::Kind::tensor || !type->shape)
    return in_.fail("a type such as float[2, 3] before the data");
  tensor.data_type = type->elem_type;
  tensor.dims.reserve(type->shape->dims.size());
  for (const ir::DeclaredDim& dim : type->shape->dims) {
    if (!dim.value) return in_.fail("a type with constant dimensions before data");
    tensor.dims.push_back(*dim.value);
  }
  tensor_data(tensor);
}

void Parser::tensor_data(ir::Tensor& tensor) {
  if (in_.peek() == '[') {
    tensor.data_location = ir::Tensor::location_external;
    return value(tensor.external_data);
  }
  in_.expect('{');
  tensor_elements(tensor);
  in_.expect('}');
}

void Parser::tensor_elements(ir::Tensor& tensor) {
  const LiteralForm form = literal_form(tensor.data_type);
  if (form.has_numbers()) return numbers(tensor, form);
  if (form.field != ir::TypedField::string_data || in_.peek() == '}') return;
  separated([&] { tensor.string_data.push_back(keep(in_.string())); });
}

void Parser::numbers(ir::Tensor& tensor, LiteralForm form) {
  std::string bytes;
  if (in_.peek() != '}') separated([&] { element(bytes, form, raw_tensors_); });
  if (in_.failed()) return;
  if (raw_tensors_) {
    tensor.raw_data = keep(bytes);
  } else {
    set_packed(model_, packed_field(tensor, form), bytes);
  }
}

void Parser::element(std::string& out, LiteralForm form, bool raw) {
  if (form.is_floating()) return float_element(out, form.field);
  const std::size_t start = in_.position();
  std::uint64_t bits = 0;
  if (form.field == ir::TypedField::uint64_data) {
    const Number number = in_.number();
    if (number.spelling.empty()) return in_.fail("an unsigned number");
    const auto value = number.is_float ? std::nullopt : to_uint64(number.spelling);
    if (!value || (raw && !fits_raw(*value, form)))
      return wrong(start, "an unsigned number that the type can represent");
    bits = *value;
  } else {
    const std::int64_t value = integer("a whole number");
    bits = static_cast<std::uint64_t>(value);
    const bool fits_typed = form.field == ir::TypedField::int64_data || value == static_cast<std::int32_t>(value);
    if (!(raw ? fits_raw(bits, form) : fits_typed)) return wrong(start, "a number that the type can represent");
  }
  if (raw) {
    append_little_endian(out, bits, form.raw_bytes);
  } else {
    append_varint(out, bits);
  }
}

void Parser::float_element(std::string& out, ir::TypedField field) {
  const std::size_t start = in_.position();
  const Number number = in_.number();
  if (number.spelling.empty()) return in_.fail("a number");
  if (field == ir::TypedField::float_data) {
    const auto value = to_float(number.spelling);
    if (!value) return wrong(start, "a number of type float");
    append_little_endian(out, std::bit_cast<std::uint32_t>(*value), 4);
  } else {
    const auto value = to_double(number.spelling);
    if (!value) return wrong(start, "a number of type double");
    append_little_endian(out, std::bit_cast<std::uint64_t>(*value), 8);
  }
}

}  // namespace onnxkit::wire::text
