#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/formats/saved_model/graph_def.h"
#include "converters/formats/saved_model/mappings.h"

namespace onnxkit::saved_model {

/// The nodes of the main graph, of a body, or of one call of a function.
struct Scope {
  const NodeTable* table = nullptr;
  const FunctionDef* function = nullptr;  ///< null for the main graph
  Scope* caller = nullptr;                ///< where the call is; null for the main graph and for bodies
  const NodeDef* call = nullptr;
  std::size_t depth = 0;
  std::map<const NodeDef*, Scope*> calls = {};
};

/// What an input means: an output of a node, or a parameter of a body.
struct Place {
  Scope* scope = nullptr;
  const NodeDef* node = nullptr;  ///< null for a parameter
  std::size_t index = 0;

  friend auto operator<=>(const Place&, const Place&) = default;
};

/// Follows names of inputs to the nodes that compute them, into functions that are called and out of them again.
class Scopes {
 public:
  Scopes(const GraphDef& graph, const Mappings& mappings);

  Scope& main() { return *main_; }
  const FunctionDef* function(std::string_view name) const;
  /// The scope of a body. Error code: malformed-model, for one that is inside itself.
  Result<Scope*> body(const FunctionDef& function, const Scope& outside);
  /// The function that a node calls and that is to be inlined; null for other nodes.
  const FunctionDef* called(const NodeDef& node);
  /// The scope of a call.
  Result<Scope*> called(Scope& scope, const NodeDef& call, const FunctionDef& function);

  /// The place that an input names: a tensor, not a control input.
  Result<Place> resolve(Scope& scope, std::string_view input);
  /// A node by its name.
  Result<const NodeDef*> node(const Scope& scope, std::string_view name) const;

 private:
  /// The output of a node that "node:output:0" or "node:1" names.
  Result<std::size_t> output_index(const NodeDef& node, std::string_view rest, bool is_function) const;
  Result<Place> place_of(Scope& scope, std::string_view input) const;
  Result<Scope*> add(Scope scope);

  const GraphDef& graph_;
  const Mappings& mappings_;
  std::vector<std::unique_ptr<Scope>> scopes_;
  Scope* main_ = nullptr;
  std::unordered_map<const NodeDef*, const FunctionDef*> called_;
};

/// "^node" is no tensor: the node must run before.
inline bool is_control(std::string_view input) { return input.starts_with('^'); }

}  // namespace onnxkit::saved_model
