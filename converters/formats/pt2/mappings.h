#pragma once

#include "converters/foreign/import.h"

namespace onnxkit::pt2 {

/// How operators of ATen are written in ONNX, by name and overload.
class Mappings final : public foreign::Mappings {};

}  // namespace onnxkit::pt2
