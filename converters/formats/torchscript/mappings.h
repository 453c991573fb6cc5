#pragma once

#include "converters/foreign/import.h"

namespace onnxkit::torchscript {

/// How operators of TorchScript are written in ONNX: those of ATen, which .pt2 has too, and what only TorchScript has.
class Mappings final : public foreign::Mappings {
 public:
  explicit Mappings(const foreign::Mappings& aten) : foreign::Mappings(aten) {}

  /// `op` is written as another one whose arguments have the same names.
  void add_as(std::string_view op, std::string_view known) {
    if (const foreign::MapNode map = find(known)) add(op, map);
  }
};

/// With all that the mapping files register.
Mappings all_mappings();

}  // namespace onnxkit::torchscript
