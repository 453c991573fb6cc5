#pragma once

#include "converters/foreign/export.h"

namespace onnxkit::aten {

/// How operators of ONNX are written with those of ATen.
class Writers final : public foreign::Writers {};

/// The opset that the files in write/ read: models are brought there first, so that each operator has one form.
constexpr std::int64_t write_opset = 21;

}  // namespace onnxkit::aten
