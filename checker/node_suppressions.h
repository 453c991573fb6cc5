#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "libonnxkit/ir/model.h"
#include "onnxkit/check.h"

namespace onnxkit::checker {

/// Which findings about single nodes the model's metadata or the options suppress.
class NodeSuppressions {
 public:
  NodeSuppressions(const ir::Model& model, const std::vector<NodeSuppression>& given);

  bool empty() const { return nodes_.empty(); }
  /// Who suppresses the finding, if anybody.
  std::optional<SuppressedFinding::By> by(const Diagnostic& finding) const;

 private:
  struct Codes {
    std::set<std::string, std::less<>> in_model, given;  ///< "*" stands for all
  };
  std::map<std::pair<std::string, std::size_t>, Codes> nodes_;  ///< by the path of the graph and the node's position
};

}  // namespace onnxkit::checker
