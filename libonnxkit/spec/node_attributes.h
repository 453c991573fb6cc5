#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_schema.h"

namespace onnxkit::spec {

/// Attributes that a function call binds, by the name that nodes of its body refer to.
using AttributeBindings = std::unordered_map<std::string_view, const ir::Attribute*>;

/// The attribute of a node, references to attributes of the enclosing function resolved; null when absent.
const ir::Attribute* resolve_attribute(const ir::Node& node, std::string_view name, const AttributeBindings* bindings);
/// An optional list without elements counts as absent, as runtimes read it; a required one is an empty list.
bool counts_as_absent(const ir::Attribute& list, const AttributeSchema* declared);
/// The list that an attribute holds; without elements for an attribute that holds no list of T.
template <class T>
const std::vector<T>& list_as_written(const ir::Attribute& attribute) {
  static const std::vector<T> empty;
  const auto* list = attribute.as<std::vector<T>>();
  return list ? *list : empty;
}
/// What a call of `function` binds: defaults of the function, then what the calling node gives.
AttributeBindings bind_attributes(const ir::Function& function, const ir::Node& call, const AttributeBindings* outer);

/// The first required attribute that is absent; null when none is. BatchNormalization's consumed_inputs is passed over: no result depends on it.
const AttributeSchema* missing_attribute(const ir::Node& node, const OpSchema& schema,
                                         const AttributeBindings* bindings);

/// Reads the attributes of one node as its schema means them: the node's value, else the schema's default, else nothing or `fallback`.
class NodeAttributes {
 public:
  NodeAttributes(const ir::Node& node, const OpSchema& schema, const AttributeBindings* bindings)
      : node_(&node), schema_(&schema), bindings_(bindings) {}

  /// Set on the node itself.
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  const ir::Attribute* attribute(std::string_view name) const { return resolve_attribute(*node_, name, bindings_); }
  std::optional<std::int64_t> find_integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const {
    return find_integer(name).value_or(fallback);
  }
  std::optional<float> find_real(std::string_view name) const;
  float real(std::string_view name, float fallback = 0) const { return find_real(name).value_or(fallback); }
  /// Empty when absent without default.
  std::string_view string(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<float>> reals(std::string_view name) const;
  std::optional<std::vector<std::string_view>> strings(std::string_view name) const;
  /// The list on the node itself, also one without elements, which `integers`, `reals` and `strings` take for an absent one (`counts_as_absent`);
  /// null when absent. For operators to which an empty list is a value of its own, or a mistake to report.
  template <class T>
  const std::vector<T>* list_as_written(std::string_view name) const {
    const ir::Attribute* set = attribute(name);
    return set ? &spec::list_as_written<T>(*set) : nullptr;
  }
  /// Null when absent.
  const ir::Tensor* tensor(std::string_view name) const;
  const ir::SparseTensor* sparse_tensor(std::string_view name) const;
  const ir::Graph* graph(std::string_view name) const;
  const ir::DeclaredType* type_proto(std::string_view name) const;

 private:
  const AttributeSchema* with_default(std::string_view name) const;

  const ir::Node* node_;
  const OpSchema* schema_;
  const AttributeBindings* bindings_;
};

}  // namespace onnxkit::spec
