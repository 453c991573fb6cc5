#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {

/// The nodes of a model by the places of findings. Views the model.
class NodePlaces {
 public:
  explicit NodePlaces(const ir::Model& model);

  /// The graph of that path; of equal paths the first.
  const ir::Graph* graph_at(const std::string& path) const;
  /// The place by names instead of positions: `main / If "choose" / then_branch / Relu of "y" / input 0 "x"`.
  std::string by_name(const Location& location) const;

 private:
  std::string node_text(const std::string& path, std::size_t node) const;

  std::vector<std::unique_ptr<ir::GraphScope>> scopes_;
  std::map<std::string, const ir::Graph*> graphs_;
};

}  // namespace onnxkit::checker
