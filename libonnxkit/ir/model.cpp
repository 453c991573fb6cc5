#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

DeclaredType DeclaredType::clone() const {
  DeclaredType copy;
  copy.kind = kind;
  copy.elem_type = elem_type;
  copy.shape = shape;
  if (element) copy.element = std::make_unique<DeclaredType>(element->clone());
  copy.key_type = key_type;
  copy.opaque_domain = opaque_domain;
  copy.opaque_name = opaque_name;
  copy.denotation = denotation;
  copy.kind_unknown_fields = kind_unknown_fields;
  copy.unknown_fields = unknown_fields;
  return copy;
}

Attribute::Attribute() = default;
Attribute::Attribute(Attribute&&) noexcept = default;
Attribute& Attribute::operator=(Attribute&&) noexcept = default;
Attribute::~Attribute() = default;

const Graph* Attribute::graph() const {
  const auto* held = as<std::unique_ptr<Graph>>();
  return held ? held->get() : nullptr;
}

const Tensor* Attribute::tensor() const {
  const auto* held = as<std::unique_ptr<Tensor>>();
  return held ? held->get() : nullptr;
}

std::int32_t attribute_type_of(const Attribute::Payload& payload) {
  // In the order of the alternatives of Payload.
  constexpr std::int32_t numbers[] = {0, 1, 2, 3, 4, 5, 11, 13, 6, 7, 8, 9, 10, 12, 14};
  static_assert(std::size(numbers) == std::variant_size_v<Attribute::Payload>);
  return numbers[payload.index()];
}

const Attribute* Node::find_attribute(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate;
  }
  return nullptr;
}

namespace {

auto name_lookup(const Graph& graph) {
  return [&graph](std::uint32_t id) { return graph.values[id].name.view(); };
}

}  // namespace

ValueId Graph::intern(Text value_name) {
  if (value_name.empty()) return ValueId::none;
  const auto next = static_cast<std::uint32_t>(values.size());
  const std::uint32_t id = ids_.insert(value_name, next, name_lookup(*this));
  if (id == next) values.push_back({value_name});
  return static_cast<ValueId>(id);
}

void Graph::intern_initializers() {
  for (const Tensor& tensor : initializers) intern(tensor.name);
  for (const SparseTensor& sparse : sparse_initializers) {
    if (sparse.values) intern(sparse.values->name);
  }
}

ValueId Graph::find(std::string_view value_name) const {
  const auto id = ids_.find(value_name, name_lookup(*this));
  return id ? static_cast<ValueId>(*id) : ValueId::none;
}

bool Graph::rename(ValueId id, Text new_name) {
  if (id == ValueId::none || new_name.empty() || ids_.find(new_name, name_lookup(*this))) return false;
  ids_.erase(values[index_of(id)].name, name_lookup(*this));
  values[index_of(id)].name = new_name;
  ids_.insert(new_name, static_cast<std::uint32_t>(id), name_lookup(*this));
  return true;
}

}  // namespace onnxkit::ir
