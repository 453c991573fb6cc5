#include "onnxkit/graph.h"

#include <algorithm>
#include <utility>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit {
namespace {

ValueIndex index_in(ir::ValueId id) { return static_cast<ValueIndex>(id); }

DeclaredValue declared(const ir::Graph& graph, const ir::ValueInfo& info) {
  return {index_in(info.value), graph.name_of(info.value),
          info.type ? std::optional(TypeView(*info.type)) : std::nullopt};
}

template <class T>
std::span<const T> elements(const ir::Attribute& attribute) {
  const auto* list = attribute.as<std::vector<T>>();
  return list ? std::span<const T>(*list) : std::span<const T>();
}

template <class T>
std::optional<T> single(const ir::Attribute& attribute) {
  const auto* value = attribute.as<T>();
  return value ? std::optional(*value) : std::nullopt;
}

ElementType known_type(std::optional<std::int32_t> number) {
  return number && is_known_element_type(*number) ? static_cast<ElementType>(*number) : ElementType::undefined;
}

}  // namespace

ValueKind TypeView::kind() const { return exec::kind_of(*type_); }

bool TypeView::is_sparse() const { return type_->kind == ir::DeclaredType::Kind::sparse_tensor; }

ElementType TypeView::element_type() const {
  return known_type(kind() == ValueKind::map ? type_->key_type : type_->elem_type);
}

std::optional<std::vector<DeclaredSize>> TypeView::shape() const {
  if (!type_->shape) return std::nullopt;
  std::vector<DeclaredSize> sizes;
  for (const ir::DeclaredDim& dim : type_->shape->dims) sizes.push_back({dim.value, dim.param.view()});
  return sizes;
}

std::optional<TypeView> TypeView::element() const {
  return type_->element ? std::optional(TypeView(*type_->element)) : std::nullopt;
}

std::string_view AttributeView::name() const { return attribute_->name.view(); }
AttributeKind AttributeView::kind() const { return static_cast<AttributeKind>(attribute_->payload.index()); }
std::string_view AttributeView::reference() const { return attribute_->ref_attr_name.view(); }
std::optional<float> AttributeView::real() const { return single<float>(*attribute_); }
std::optional<std::int64_t> AttributeView::integer() const { return single<std::int64_t>(*attribute_); }
std::optional<std::string_view> AttributeView::string() const {
  const auto text = single<Text>(*attribute_);
  return text ? std::optional(text->view()) : std::nullopt;
}
std::span<const float> AttributeView::reals() const { return elements<float>(*attribute_); }
std::span<const std::int64_t> AttributeView::integers() const { return elements<std::int64_t>(*attribute_); }
std::vector<std::string_view> AttributeView::strings() const {
  const auto texts = elements<Text>(*attribute_);
  return {texts.begin(), texts.end()};
}

Result<Tensor> AttributeView::tensor() const {
  const ir::Tensor* tensor = attribute_->tensor();
  if (!tensor) return make_error("usage", "attribute " + quote(name()) + " is not a tensor");
  return wire::tensor_of(*tensor);
}

std::vector<GraphView> AttributeView::graphs() const {
  std::vector<GraphView> views;
  if (const ir::Graph* graph = attribute_->graph()) views.emplace_back(*graph);
  for (const auto& graph : elements<std::unique_ptr<ir::Graph>>(*attribute_)) views.emplace_back(*graph);
  return views;
}

std::string_view NodeView::name() const { return node_->name.view(); }
std::string_view NodeView::op_type() const { return node_->op_type.view(); }
std::string_view NodeView::domain() const { return node_->domain == "ai.onnx" ? "" : node_->domain.view(); }
std::string_view NodeView::overload() const { return node_->overload.view(); }
std::size_t NodeView::input_count() const { return node_->inputs.size(); }
std::size_t NodeView::output_count() const { return node_->outputs.size(); }
ValueIndex NodeView::input(std::size_t index) const { return index_in(node_->inputs[index]); }
ValueIndex NodeView::output(std::size_t index) const { return index_in(node_->outputs[index]); }
std::size_t NodeView::attribute_count() const { return node_->attributes.size(); }
AttributeView NodeView::attribute(std::size_t index) const { return AttributeView(node_->attributes[index]); }
std::optional<AttributeView> NodeView::find_attribute(std::string_view name) const {
  const ir::Attribute* attribute = node_->find_attribute(name);
  return attribute ? std::optional(AttributeView(*attribute)) : std::nullopt;
}

std::string_view GraphView::name() const { return graph_->name.view(); }
std::size_t GraphView::node_count() const { return graph_->nodes.size(); }
NodeView GraphView::node(std::size_t index) const { return NodeView(graph_->nodes[index]); }
std::size_t GraphView::value_count() const { return graph_->values.size(); }
std::string_view GraphView::value_name(ValueIndex value) const {
  return graph_->name_of(static_cast<ir::ValueId>(value));
}
ValueIndex GraphView::find_value(std::string_view name) const { return index_in(graph_->find(name)); }
std::size_t GraphView::input_count() const { return graph_->inputs.size(); }
DeclaredValue GraphView::input(std::size_t index) const { return declared(*graph_, graph_->inputs[index]); }
std::size_t GraphView::output_count() const { return graph_->outputs.size(); }
DeclaredValue GraphView::output(std::size_t index) const { return declared(*graph_, graph_->outputs[index]); }
std::size_t GraphView::value_info_count() const { return graph_->value_infos.size(); }
DeclaredValue GraphView::value_info(std::size_t index) const { return declared(*graph_, graph_->value_infos[index]); }
std::size_t GraphView::initializer_count() const { return graph_->initializers.size(); }
std::string_view GraphView::initializer_name(std::size_t index) const {
  return graph_->initializers[index].name.view();
}
ElementType GraphView::initializer_type(std::size_t index) const {
  return ir::element_type_of(graph_->initializers[index]);
}
std::span<const std::int64_t> GraphView::initializer_dims(std::size_t index) const {
  return graph_->initializers[index].dims;
}
bool GraphView::initializer_is_external(std::size_t index) const { return graph_->initializers[index].is_external(); }
Result<Tensor> GraphView::initializer(std::size_t index) const { return wire::tensor_of(graph_->initializers[index]); }

std::optional<GraphView> main_graph(const Model& model) {
  return model.has_graph() ? std::optional(GraphView(*model.ir().graph)) : std::nullopt;
}

std::vector<FunctionView> functions(const Model& model) {
  std::vector<FunctionView> views;
  for (const ir::Function& function : model.ir().functions)
    views.push_back({function.domain.view(), function.name.view(), function.overload.view(), GraphView(function.body)});
  return views;
}

}  // namespace onnxkit
