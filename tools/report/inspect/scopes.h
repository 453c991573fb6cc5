#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "onnxkit/inspect.h"

namespace onnxkit::tools {

/// The boxes that a drawing of a graph can fold its nodes into, by names like /layers/0/attn/MatMul. Whichever of them are folded, the
/// arrows between boxes make no cycle that the nodes do not make.
struct ScopeTree {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Scope {
    std::string label;          ///< "attn"; of repeated blocks "layers/0 … 11"
    std::size_t parent = none;  ///< index of the scope around it
    bool repeats = false;       ///< its members are consecutive scopes of one structure
  };
  std::vector<Scope> scopes;          ///< each after the one around it
  std::vector<std::size_t> scope_of;  ///< of each node; none for nodes outside all and for those in folded_constants
  /// Constants that are drawn in the boxes of their readers: those that have readers and are no output of the graph.
  std::vector<std::size_t> folded_constants;
};

ScopeTree scopes_of(const GraphSummary& graph);

}  // namespace onnxkit::tools
