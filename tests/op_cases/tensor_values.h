#pragma once

#include <vector>

#include <yaml-cpp/yaml.h>

#include "libonnxkit/base/text/string_pool.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/element_type.h"

namespace onnxkit::op_cases {

/// A list of numbers, possibly nested; `shape` becomes the nesting.
std::vector<YAML::Node> flatten(const YAML::Node& values, std::vector<std::int64_t>& shape);

/// A tensor of that type with `values` (a number, a list, nested lists). Without `dims` the nesting is the shape.
/// Numbers become the nearest of the type; complex ones are "1.5-2i". Throws YAML::Exception.
ir::Tensor make_tensor(ElementType type, const YAML::Node& values, const std::vector<std::int64_t>* dims,
                       StringPool& strings);

}  // namespace onnxkit::op_cases
