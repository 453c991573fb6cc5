#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "libonnxkit/ir/model.h"

namespace onnxkit::foreign {

/// Where the nodes of a model lie before it is made ready for a writer, so that findings count nodes as the file does.
class NodePlaces {
 public:
  explicit NodePlaces(const ir::Model& model);

  /// The place of the node of that name, or of the one that computed a value which the node computes now.
  std::optional<std::size_t> of(const ir::Graph& graph, const ir::Node& node) const;

 private:
  std::unordered_map<std::string, std::size_t> by_name_, by_output_;
};

}  // namespace onnxkit::foreign
