#pragma once

#include <map>
#include <string>
#include <string_view>

#include "converters/formats/saved_model/bundle.h"
#include "converters/formats/saved_model/scopes.h"

namespace onnxkit::saved_model {

/// Which stored tensor fills which variable, told from the part of the graph that restores them.
class Variables {
 public:
  /// Follows the node that restores; an empty name is none. Error code: malformed-model.
  static Result<Variables> find(Scopes& scopes, std::string_view restore_node, VariablesBundle* bundle);

  /// What a node that makes a variable stands for; nullopt when nothing is stored for it.
  Result<std::optional<StoredTensor>> tensor(const NodeDef& variable) const;

 private:
  std::map<std::string_view, std::string_view> keys_;  ///< in the bundle, by the name of the variable
  VariablesBundle* bundle_ = nullptr;
};

/// Whether a node makes a variable.
bool is_variable(const NodeDef& node);

}  // namespace onnxkit::saved_model
