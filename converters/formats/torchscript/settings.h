#pragma once

#include <map>
#include <string>

#include "onnxkit/model.h"

namespace onnxkit::torchscript {

/// What a caller says of a module that its file does not.
struct Settings {
  std::map<std::string, InputShape> shapes = {};   ///< of tensors in the inputs, and of buffers that become inputs
  std::map<std::string, std::string> values = {};  ///< of arguments and attributes that are no tensors
};

}  // namespace onnxkit::torchscript
