#include "libonnxkit/spec/node_attributes.h"

#include <memory>
#include <type_traits>

namespace onnxkit::spec {
namespace {

template <class T>
const T* payload_of(const ir::Attribute* attribute) {
  return attribute ? attribute->as<T>() : nullptr;
}

/// Null when absent, and when it counts so.
template <class T>
const std::vector<T>* list_of(const ir::Attribute* attribute, const AttributeSchema* declared) {
  static const std::vector<T> empty;
  if (!attribute || counts_as_absent(*attribute, declared)) return nullptr;
  return attribute->payload.index() == 0 ? &empty : attribute->as<std::vector<T>>();
}

}  // namespace

const ir::Attribute* resolve_attribute(const ir::Node& node, std::string_view name, const AttributeBindings* bindings) {
  const ir::Attribute* own = node.find_attribute(name);
  if (!own || own->ref_attr_name.empty()) return own;
  if (!bindings) return nullptr;
  const auto bound = bindings->find(own->ref_attr_name.view());
  return bound == bindings->end() ? nullptr : bound->second;
}

bool counts_as_absent(const ir::Attribute& list, const AttributeSchema* declared) {
  const bool is_empty = std::visit(
      []<class T>(const T& payload) {
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<float>> ||
                      std::is_same_v<T, std::vector<Text>>)
          return payload.empty();
        else
          return std::is_same_v<T, std::monostate>;
      },
      list.payload);
  return is_empty && !(declared && declared->required);
}

AttributeBindings bind_attributes(const ir::Function& function, const ir::Node& call, const AttributeBindings* outer) {
  AttributeBindings bindings;
  for (const ir::Attribute& fallback : function.attribute_protos) bindings[fallback.name.view()] = &fallback;
  for (const ir::Attribute& given : call.attributes) {
    const ir::Attribute* resolved = resolve_attribute(call, given.name, outer);
    if (resolved) bindings[given.name.view()] = resolved;
  }
  return bindings;
}

const AttributeSchema* missing_attribute(const ir::Node& node, const OpSchema& schema,
                                         const AttributeBindings* bindings) {
  for (const AttributeSchema& declared : schema.attributes) {
    if (!declared.required || declared.name == "consumed_inputs") continue;
    if (!resolve_attribute(node, declared.name, bindings)) return &declared;
  }
  return nullptr;
}

const AttributeSchema* NodeAttributes::with_default(std::string_view name) const {
  const AttributeSchema* declared = schema_->find_attribute(name);
  return declared && declared->has_default ? declared : nullptr;
}

std::optional<std::int64_t> NodeAttributes::find_integer(std::string_view name) const {
  if (const auto* set = payload_of<std::int64_t>(attribute(name))) return *set;
  const AttributeSchema* declared = with_default(name);
  return declared ? std::optional(declared->default_value.integer) : std::nullopt;
}

std::optional<float> NodeAttributes::find_real(std::string_view name) const {
  if (const auto* set = payload_of<float>(attribute(name))) return *set;
  const AttributeSchema* declared = with_default(name);
  return declared ? std::optional(declared->default_value.real) : std::nullopt;
}

std::string_view NodeAttributes::string(std::string_view name) const {
  if (const auto* set = payload_of<Text>(attribute(name))) return set->view();
  const AttributeSchema* declared = with_default(name);
  return declared ? declared->default_value.string : std::string_view();
}

std::optional<std::vector<std::int64_t>> NodeAttributes::integers(std::string_view name) const {
  if (const auto* set = list_of<std::int64_t>(attribute(name), schema_->find_attribute(name))) return *set;
  const AttributeSchema* declared = with_default(name);
  if (!declared) return std::nullopt;
  const auto values = declared->default_value.integers;
  return std::vector<std::int64_t>(values.begin(), values.end());
}

std::optional<std::vector<float>> NodeAttributes::reals(std::string_view name) const {
  if (const auto* set = list_of<float>(attribute(name), schema_->find_attribute(name))) return *set;
  const AttributeSchema* declared = with_default(name);
  if (!declared) return std::nullopt;
  const auto values = declared->default_value.reals;
  return std::vector<float>(values.begin(), values.end());
}

std::optional<std::vector<std::string_view>> NodeAttributes::strings(std::string_view name) const {
  if (const auto* set = list_of<Text>(attribute(name), schema_->find_attribute(name)))
    return std::vector<std::string_view>(set->begin(), set->end());
  const AttributeSchema* declared = with_default(name);
  if (!declared) return std::nullopt;
  const auto values = declared->default_value.strings;
  return std::vector<std::string_view>(values.begin(), values.end());
}

const ir::Tensor* NodeAttributes::tensor(std::string_view name) const {
  const ir::Attribute* found = attribute(name);
  return found ? found->tensor() : nullptr;
}

const ir::SparseTensor* NodeAttributes::sparse_tensor(std::string_view name) const {
  const auto* held = payload_of<std::unique_ptr<ir::SparseTensor>>(attribute(name));
  return held ? held->get() : nullptr;
}

const ir::Graph* NodeAttributes::graph(std::string_view name) const {
  const ir::Attribute* found = attribute(name);
  return found ? found->graph() : nullptr;
}

const ir::DeclaredType* NodeAttributes::type_proto(std::string_view name) const {
  const auto* held = payload_of<std::unique_ptr<ir::DeclaredType>>(attribute(name));
  return held ? held->get() : nullptr;
}

}  // namespace onnxkit::spec
