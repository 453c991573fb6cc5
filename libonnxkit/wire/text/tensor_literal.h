#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

// What the numbers between the braces of a tensor mean. The official syntax fills the typed field of the element type with them, one
// entry a number; of types without C++ counterpart they are bit patterns, of those below a byte packed bytes. The same numbers
// can as well be the content of raw_data.
namespace onnxkit::wire::text {

struct LiteralForm {
  ir::TypedField field = ir::TypedField::none;
  int raw_bytes = 0;  ///< bytes of raw_data that one number stands for; 0: raw_data has no literal form
  bool is_signed = false;

  bool has_numbers() const { return raw_bytes > 0; }
  bool is_floating() const { return field == ir::TypedField::float_data || field == ir::TypedField::double_data; }
};

LiteralForm literal_form(std::optional<std::int32_t> data_type);

/// Whether raw_data of the form can hold `value`, a two's complement when the form is signed.
bool fits_raw(std::uint64_t value, LiteralForm form);

ir::PackedField& packed_field(ir::Tensor& tensor, LiteralForm form);

void append_varint(std::string& out, std::uint64_t value);
void append_little_endian(std::string& out, std::uint64_t value, int bytes);
/// The `bytes` bytes at `data`, its sign extended if it has one.
std::uint64_t load_little_endian(const char* data, int bytes, bool is_signed);

/// Steps through the varints of a packed field.
class PackedVarints {
 public:
  explicit PackedVarints(const ir::PackedField& field) : field_(field) {}
  /// nullopt at the end and at a malformed varint; `malformed()` tells them apart.
  std::optional<std::uint64_t> next();
  bool malformed() const { return malformed_; }

 private:
  const ir::PackedField& field_;
  std::size_t chunk_ = 0;
  std::size_t offset_ = 0;
  bool malformed_ = false;
};

/// Puts an encoded payload into a field; no chunk when it is empty.
void set_packed(ir::Model& model, ir::PackedField& field, const std::string& bytes);

struct MisfitElement {
  std::size_t index = 0;
  std::int64_t value = 0;
};
/// Move the elements of a tensor with literal numbers between its typed field and raw_data, unless they are there already.
/// `move_to_raw` stops at an element that does not fit and says which.
std::optional<MisfitElement> move_to_raw(ir::Model& model, ir::Tensor& tensor);
void move_to_typed(ir::Model& model, ir::Tensor& tensor);

}  // namespace onnxkit::wire::text
