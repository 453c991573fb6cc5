#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::diffing {

/// By node of the main graph: whether its output is data of the model, as an initializer is, or an initializer in another element type.
std::vector<bool> constant_nodes(const ir::Model& model);

/// The values that nodes of two main graphs write under one name, in the first graph's order of execution. Indices count them from 0. Constants are not
/// among them, as initializers are not: runtimes give them otherwise than they use them, and what is wrong in one shows in the node that reads it.
class CommonValues {
 public:
  CommonValues(const ir::Model& model, const ir::Model& other);

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t index) const { return names_[index]; }
  std::optional<std::size_t> find(std::string_view name) const;
  std::set<std::string, std::less<>> names() const { return {names_.begin(), names_.end()}; }
  enum class Through : std::uint8_t { all, data };
  /// By index: what the value is made from in the first graph, near and far, itself not included; with `data` not what only its shape comes from.
  std::vector<bool> ancestors(std::size_t index, Through through = Through::all) const;
  /// Whether the value is an output of the first graph, is read by nothing, or leads to an output past all values of `compared`, by
  /// index.
  bool reaches_output(std::size_t index, const std::vector<bool>& compared) const;
  /// What is made from the value.
  std::vector<bool> descendants(std::size_t index) const;

 private:
  const ir::Graph& graph_;
  std::vector<bool> reads_sizes_only_;  // by node
  ir::Uses uses_;
  std::vector<std::size_t> order_;  // of nodes
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> indices_;
};

}  // namespace onnxkit::diffing
