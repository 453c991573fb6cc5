#pragma once

#include "converters/foreign/tensorflow_family/windows.h"
#include "converters/formats/saved_model/emit.h"

// Windows as TensorFlow's operators state them.
namespace onnxkit::to_tensorflow {

/// The attributes `padding` and `explicit_paddings`. Only operators over two axes can state pads.
void state_padding(std::vector<Given>& given, const Windows& windows, bool can_be_explicit);
/// Padded with that value where the pads are neither those of SAME nor 0, for operators that cannot state pads.
ValueId padded(WriteCall& call, ValueId x, Windows& windows, double value);

}  // namespace onnxkit::to_tensorflow
