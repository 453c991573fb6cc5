#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "checker/type.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::official {

/// A recorded input or output: what its type and sizes are, and for tensors the tensor itself.
struct Recorded {
  checker::Type::Kind kind = checker::Type::Kind::unknown;
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims;
  /// Elements of a sequence; the one of an optional, none when it is empty.
  std::vector<Recorded> items;
  /// A model that holds the tensor as its only initializer and owns its bytes.
  std::shared_ptr<ir::Model> holder;
};

/// Reads a .pb file as `kind` says: TensorProto, SequenceProto or OptionalProto. Maps and what cannot be read give kind unknown.
Recorded read_recorded(const std::filesystem::path& file, ir::DeclaredType::Kind kind);

}  // namespace onnxkit::official
