#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "libonnxkit/base/text/text.h"

namespace onnxkit::ir {

// Declared types, as the file states them (TypeProto). What inference knows is a checker::Type.

/// TensorShapeProto.Dimension. At most one of value and param is set in a valid file; a file may set neither.
struct DeclaredDim {
  std::optional<std::int64_t> value;
  Text param;
  Text denotation;
  Text unknown_fields;

  /// None where it is open. So is a negative one: some exporters write -1 for a size that the run gives.
  std::optional<std::int64_t> size() const { return value && *value >= 0 ? value : std::nullopt; }
};

/// TensorShapeProto.
struct DeclaredShape {
  std::vector<DeclaredDim> dims;
  Text unknown_fields;
};

/// TypeProto with its oneof opened up.
struct DeclaredType {
  enum class Kind : std::uint8_t { none, tensor, sparse_tensor, sequence, map, optional, opaque };
  Kind kind = Kind::none;
  std::optional<std::int32_t> elem_type;  ///< tensor, sparse_tensor
  std::optional<DeclaredShape> shape;     ///< tensor, sparse_tensor; absent: unknown rank
  std::unique_ptr<DeclaredType> element;  ///< sequence, optional: element; map: value
  std::optional<std::int32_t> key_type;   ///< map
  Text opaque_domain, opaque_name;        ///< opaque
  Text denotation;
  Text kind_unknown_fields;  ///< of the message inside the oneof
  Text unknown_fields;

  DeclaredType() = default;
  DeclaredType(DeclaredType&&) noexcept = default;
  DeclaredType& operator=(DeclaredType&&) noexcept = default;
  DeclaredType clone() const;
};

}  // namespace onnxkit::ir
