#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "onnxkit/element_type.h"

namespace onnxkit::containers {

/// A tensor of a file of weights. Its bytes lie as in ONNX's raw_data.
struct StoredTensor {
  std::string name;
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims;
  std::span<const std::byte> bytes;
};

/// All of a file, in its order.
struct StoredTensors {
  std::vector<StoredTensor> tensors;
  std::vector<std::shared_ptr<const MappedFile>> files;  ///< what the tensors view into
};

}  // namespace onnxkit::containers
