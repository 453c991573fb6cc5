#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/element_type.h"
#include "onnxkit/export.h"
#include "onnxkit/result.h"

namespace onnxkit {

/// A dense tensor in memory. Numbers are little-endian and packed as TensorProto.raw_data packs them (two 4-bit elements to a byte, the
/// first in the low bits); strings are a list. Copies share the content, which never changes.
class ONNXKIT_API Tensor {
 public:
  Tensor() = default;
  /// Takes over packed numbers. Fails with tensor-size when `bytes` does not have the length that type and dims ask for, or dims are negative
  /// or overflow.
  static Result<Tensor> from_bytes(ElementType type, std::vector<std::int64_t> dims, std::vector<std::byte> bytes);
  /// As from_bytes, over bytes that `owner` keeps alive.
  static Result<Tensor> view(ElementType type, std::vector<std::int64_t> dims, std::span<const std::byte> bytes,
                             std::shared_ptr<const void> owner);
  /// Fails with tensor-size when the number of strings is not that of dims.
  static Result<Tensor> from_strings(std::vector<std::int64_t> dims, std::vector<std::string> strings);

  ElementType type() const { return type_; }
  const std::vector<std::int64_t>& dims() const { return dims_; }
  std::int64_t size() const { return size_; }
  /// Packed numbers; empty for strings.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// Empty for numbers.
  std::span<const std::string> strings() const;

 private:
  ElementType type_ = ElementType::undefined;
  std::vector<std::int64_t> dims_;
  std::int64_t size_ = 0;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

enum class ValueKind : std::uint8_t { none, tensor, sequence, optional, map };

/// What an input or output of a model or node can be, over one kind of tensor.
template <class T>
struct BasicValue {
  ValueKind kind = ValueKind::none;
  T tensor = {};  ///< of a tensor; the keys of a map, int64 or strings, in one dimension
  /// Elements of a sequence; the content of an optional, none when it is empty; of a map one tensor with a value for each key.
  std::vector<BasicValue> items = {};
  /// Element type that an empty sequence or optional declares, where known.
  ElementType declared = ElementType::undefined;

  BasicValue() = default;
  BasicValue(T held) : kind(ValueKind::tensor), tensor(std::move(held)) {}
  static BasicValue sequence(std::vector<BasicValue> elements, ElementType element_type = ElementType::undefined) {
    BasicValue value;
    value.kind = ValueKind::sequence;
    value.items = std::move(elements);
    value.declared = element_type;
    return value;
  }
  static BasicValue optional(std::optional<BasicValue> content, ElementType element_type = ElementType::undefined) {
    BasicValue value;
    value.kind = ValueKind::optional;
    if (content) value.items.push_back(std::move(*content));
    value.declared = element_type;
    return value;
  }
  static BasicValue map(T keys, T values) {
    BasicValue value;
    value.kind = ValueKind::map;
    value.tensor = std::move(keys);
    value.items.emplace_back(std::move(values));
    return value;
  }

  bool is_tensor() const { return kind == ValueKind::tensor; }
};

using Value = BasicValue<Tensor>;

/// A value and what it is called.
struct NamedValue {
  std::string name;
  Value value;
};

/// The elements as double: exact for all but large 64-bit integers; booleans are 0 and 1. Empty for strings and complex numbers.
ONNXKIT_API std::vector<double> to_reals(const Tensor& tensor);

/// "float[2, 3]", "seq(3 x float)", "optional(empty)", "map(string, float; 4 keys)".
ONNXKIT_API std::string type_text(const Value& value);

}  // namespace onnxkit
