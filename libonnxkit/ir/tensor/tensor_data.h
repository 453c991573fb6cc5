#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/element_type.h"
#include "onnxkit/result.h"

// Where the elements of a tensor lie, how much room they take, and what they are. Nothing here trusts the file.
namespace onnxkit::ir {

/// Bytes of a tensor whose data lies outside the model file, or why they cannot be had. Empty: nobody may look outside.
using ExternalBytes = std::function<Result<std::span<const std::byte>>(const Tensor&)>;

/// The member of TensorProto that holds elements of a type when raw_data does not.
enum class TypedField : std::uint8_t {
  none,
  float_data,
  int32_data,
  int64_data,
  double_data,
  uint64_data,
  string_data
};
inline constexpr TypedField all_typed_fields[] = {TypedField::float_data,  TypedField::int32_data,
                                                  TypedField::int64_data,  TypedField::double_data,
                                                  TypedField::uint64_data, TypedField::string_data};

/// `none` for undefined and unknown types.
TypedField typed_field_of(ElementType type);
const char* to_string(TypedField field);
/// The field's payload; null for none and string_data.
const PackedField* packed_field(const Tensor& tensor, TypedField field);
bool has_entries(const Tensor& tensor, TypedField field);

/// data_type as an element type; undefined when absent or not a known number.
ElementType element_type_of(const Tensor& tensor);
/// Product of the dimensions; nullopt when one is negative or the product overflows.
std::optional<std::int64_t> element_count(const Tensor& tensor);

/// Bytes that raw_data or external data of `count` elements take; nullopt for strings, undefined types and overflow.
std::optional<std::uint64_t> expected_bytes(ElementType type, std::int64_t count);
std::optional<std::uint64_t> expected_bytes(const Tensor& tensor);
/// Entries that the typed field of `count` elements has: two for a complex number, one for each two 4-bit or four 2-bit elements.
std::optional<std::uint64_t> expected_entries(ElementType type, std::int64_t count);
/// Entries that a typed field has, counted without decoding them; nullopt when its payload is malformed.
std::optional<std::uint64_t> entry_count(const Tensor& tensor, TypedField field);

/// Reads the elements of a numeric tensor one after another, from raw_data, its typed field, or bytes from outside. A complex number
/// counts as two elements. Views into the tensor.
class ElementReader {
 public:
  /// `external` are the tensor's bytes where its data lies outside. nullopt for string and unknown types, impossible shapes, and data
  /// that does not fit the shape.
  static std::optional<ElementReader> open(const Tensor& tensor, std::span<const std::byte> external = {});

  ElementType type() const { return type_; }
  std::uint64_t count() const { return count_; }

  /// Fills `out` with the next elements and returns how many there were; fewer than asked at the end or where a varint is malformed.
  std::size_t read(std::span<double> out);
  /// As above, for integer and boolean types only (0 elements for others). uint64 values are passed on bit by bit.
  std::size_t read(std::span<std::int64_t> out);
  /// The next elements as raw_data holds them; `out` is filled up to whole groups of eight elements. Returns the bytes written.
  std::size_t read_raw(std::span<std::byte> out);

 private:
  bool next(std::uint64_t& bits);
  bool next_entry(std::uint64_t& entry);

  ElementType type_ = ElementType::undefined;
  int bits_ = 0;  ///< of one element (half a complex one)
  std::uint64_t count_ = 0;
  std::uint64_t done_ = 0;
  TypedField field_ = TypedField::none;
  std::span<const std::span<const std::byte>> chunks_;  ///< of the typed field
  std::span<const std::byte> data_;                     ///< what is left of the chunk at hand, or all raw bytes
  std::uint64_t entry_ = 0;
  int elements_in_entry_ = 0;  ///< of entry_ that are still to come
};

/// The first `at_most` elements; nullopt when they cannot be read, or, for integers, when an element is no integer or beyond int64.
std::optional<std::vector<double>> read_reals(const Tensor& tensor, std::size_t at_most,
                                              std::span<const std::byte> external = {});
std::optional<std::vector<std::int64_t>> read_integers(const Tensor& tensor, std::size_t at_most,
                                                       std::span<const std::byte> external = {});

/// Hands out the bytes that raw_data of the tensor would have, piece by piece, wherever in the tensor it keeps its numbers. False when the
/// tensor has none to give (strings, external data, data that does not fit the shape) or when `visit` returned false.
bool each_raw_piece(const Tensor& tensor, const std::function<bool(std::span<const std::byte>)>& visit);

}  // namespace onnxkit::ir
