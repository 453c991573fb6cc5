#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onnxkit::foreign {

/// What the mappings of a writer are made for: operators of ONNX as they are in one opset of ai.onnx.
struct WrittenOperators {
  std::string_view framework;  ///< as refusals call it
  std::int64_t opset = 0;
  std::vector<std::string> names;  ///< sorted; outside ai.onnx with the domain: "com.microsoft::Gelu"
};

/// An operator of another framework that a reader knows.
struct ReadOperator {
  std::string name;
  std::string refused;  ///< why it is not mapped; empty: it is
};
using ReadOperators = std::vector<ReadOperator>;

}  // namespace onnxkit::foreign
