#include "converters/foreign/onnx_builder.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::foreign {
namespace {

/// The nearest number of 64 bits, 0 for NaN.
std::int64_t to_integer(double value) {
  constexpr double limit = 9223372036854775808.0;
  if (!(value > -limit)) return value <= -limit ? std::numeric_limits<std::int64_t>::min() : 0;
  return value < limit ? static_cast<std::int64_t>(value) : std::numeric_limits<std::int64_t>::max();
}

std::vector<std::byte> encoded(ElementType type, double value) {
  std::vector<std::byte> bytes(packed_size(type, 1).value_or(0));
  if (bytes.empty()) return bytes;
  const std::int64_t integer = to_integer(value);
  const auto natural = static_cast<std::uint64_t>(integer);
  const bool flag = value != 0;
  switch (domain_of(type)) {
    case Domain::real:
      encode(type, std::span(&value, 1), bytes);
      break;
    case Domain::integer:
      encode(type, std::span(&integer, 1), bytes);
      break;
    case Domain::natural:
      encode(type, std::span(&natural, 1), bytes);
      break;
    case Domain::boolean:
      encode(type, std::span(&flag, 1), bytes);
      break;
    default:
      break;
  }
  return bytes;
}

/// Removes nodes and initializers that the graph's outputs do not need, those of bodies first.
void remove_unused_from(ir::Graph& graph) {
  for (ir::Node& node : graph.nodes)
    for (ir::Attribute& attribute : node.attributes)
      if (auto* body = std::get_if<std::unique_ptr<ir::Graph>>(&attribute.payload)) remove_unused_from(**body);
  std::vector<bool> needed(graph.values.size(), false);
  for (const ir::ValueInfo& output : graph.outputs) needed[ir::index_of(output.value)] = true;
  std::vector<bool> kept(graph.nodes.size(), false);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph.nodes[n];
    kept[n] = std::any_of(node.outputs.begin(), node.outputs.end(),
                          [&](ir::ValueId id) { return id != ir::ValueId::none && needed[ir::index_of(id)]; });
    if (!kept[n]) continue;
    for (const ir::ValueId input : node.inputs)
      if (input != ir::ValueId::none) needed[ir::index_of(input)] = true;
    for (const ir::ValueId captured : ir::captured_values(graph, node)) needed[ir::index_of(captured)] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph.nodes, [&](const ir::Node&) { return !kept[n++]; });
  std::erase_if(graph.initializers, [&](const ir::Tensor& tensor) {
    const ir::ValueId id = graph.find(tensor.name);
    return id == ir::ValueId::none || !needed[ir::index_of(id)];
  });
}

}  // namespace

OnnxBuilder::OnnxBuilder(ir::Model& model, const spec::OpTable& table)
    : model_(model), inference_(model, table), graphs_{model.graph.get()}, constants_(1) {
  for (const ir::Value& value : model.graph->values) names_.emplace(value.name.view(), 1);
}

// ---- names

std::string_view OnnxBuilder::unique(std::string_view stem) {
  std::string name(stem.empty() ? "value" : stem);
  while (!names_.emplace(name, 1).second) {
    std::size_t& used = names_[std::string(stem)];
    name = fmt::format("{}_{}", stem, ++used);
  }
  return model_.keep(name);
}

Val OnnxBuilder::new_value(std::string_view stem) {
  return {graphs_.back(), graphs_.back()->intern(Text(unique(stem)))};
}

ir::ValueId OnnxBuilder::here(Val value) {
  if (!value || value.graph == graphs_.back()) return value.id;
  return graphs_.back()->intern(Text(value.graph->name_of(value.id)));
}

void OnnxBuilder::name_value(Val value, std::string_view name) {
  const auto graph = std::find(graphs_.begin(), graphs_.end(), value.graph);
  if (graph == graphs_.end()) return;
  ir::Graph& owner = **graph;
  const std::string old(owner.name_of(value.id));
  if (name.empty() || !own_names_.contains(old) || !names_.emplace(name, 1).second) return;
  owner.rename(value.id, model_.keep(name));
  own_names_.erase(old);
}

void OnnxBuilder::set_origin(std::string_view name, std::string_view scope, std::string_view source) {
  origin_name_ = scope;
  std::replace(origin_name_.begin(), origin_name_.end(), '.', '/');
  if (!origin_name_.empty()) origin_name_ += '/';
  origin_name_ += name;
  origin_stem_ = std::string(name) + "/";
  origin_source_ = source;
  origin_nodes_ = 0;
}

void OnnxBuilder::annotate(std::string_view key, std::string_view text) {
  ir::StringEntry& entry = graphs_.back()->nodes.back().metadata_props.emplace_back();
  entry.key = model_.keep(key);
  entry.value = model_.keep(text);
}

// ---- nodes

std::vector<Val> OnnxBuilder::emit_with_bodies(std::size_t outputs, std::string_view op, const std::vector<Val>& inputs,
                                               std::vector<Body> bodies, const std::vector<ir::Attr>& attributes) {
  std::vector<ir::ValueId> read, written;
  for (const Val input : inputs) read.push_back(here(input));
  while (!read.empty() && read.back() == ir::ValueId::none) read.pop_back();
  std::vector<Val> results;
  const std::string stem = origin_stem_ + std::string(op);
  for (std::size_t i = 0; i < outputs; ++i) {
    results.push_back(new_value(stem));
    own_names_.emplace(results.back().graph->name_of(results.back().id));
    written.push_back(results.back().id);
  }
  ir::Node node = ir::make_node(model_, op, std::move(read), std::move(written), attributes);
  for (Body& body : bodies) node.attributes.push_back(ir::make_attribute(model_, body.first, std::move(body.second)));
  if (!origin_name_.empty()) {
    std::string name = origin_nodes_ == 0 ? origin_name_ : fmt::format("{}_{}", origin_name_, origin_nodes_);
    while (!node_names_.insert(name).second) name = fmt::format("{}_{}", origin_name_, ++origin_nodes_);
    node.name = model_.keep(name);
  }
  ++origin_nodes_;
  graphs_.back()->nodes.push_back(std::move(node));
  if (!origin_source_.empty()) annotate("pkg.torch.onnx.stack_trace", origin_source_);
  inference_.advance(*graphs_.back());
  return results;
}

std::vector<Val> OnnxBuilder::emit_many(std::size_t outputs, std::string_view op, const std::vector<Val>& inputs,
                                        const std::vector<ir::Attr>& attributes) {
  return emit_with_bodies(outputs, op, inputs, {}, attributes);
}

Val OnnxBuilder::emit(std::string_view op, const std::vector<Val>& inputs, const std::vector<ir::Attr>& attributes) {
  return emit_many(1, op, inputs, attributes).front();
}

Val OnnxBuilder::placeholder(const checker::Type& type) {
  const Val value = new_value("refused");
  inference_.advance(*graphs_.back());
  inference_.assume(*graphs_.back(), value.id, type);
  return value;
}

// ---- constants

Val OnnxBuilder::constant(std::string key, ir::Tensor tensor, std::string_view stem) {
  for (const auto& known : constants_)
    if (const auto found = known.find(key); found != known.end()) return found->second;
  const Val value = new_value(stem);
  tensor.name = graphs_.back()->values[ir::index_of(value.id)].name;
  graphs_.back()->initializers.push_back(std::move(tensor));
  inference_.advance(*graphs_.back());
  constants_.back().emplace(std::move(key), value);
  return value;
}

Val OnnxBuilder::integers(std::span<const std::int64_t> values) {
  return constant(fmt::format("i[{}]", fmt::join(values, ",")), ir::make_tensor(model_, values), "const");
}

Val OnnxBuilder::integers(ElementType type, std::span<const std::int64_t> values) {
  std::vector<std::byte> bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value_or(0));
  if (!bytes.empty()) encode(type, values, bytes);
  const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(values.size())};
  return constant(fmt::format("i{}[{}]", static_cast<int>(type), fmt::join(values, ",")),
                  ir::make_tensor(model_, type, dims, bytes), "const");
}

Val OnnxBuilder::scalar(ElementType type, double value) {
  const std::vector<std::byte> bytes = encoded(type, value);
  std::string key = fmt::format("s{}:", static_cast<int>(type));
  for (const std::byte b : bytes) key += fmt::format("{:02x}", static_cast<int>(b));
  return constant(std::move(key), ir::make_tensor(model_, type, {}, bytes), "const");
}

Val OnnxBuilder::reals(ElementType type, std::vector<std::int64_t> dims, std::span<const double> values) {
  std::vector<std::byte> bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value_or(0));
  if (!bytes.empty()) encode(type, values, bytes);
  return constant(fmt::format("r{}[{}]:{}", static_cast<int>(type), fmt::join(dims, ","), fmt::join(values, ",")),
                  ir::make_tensor(model_, type, dims, bytes), "const");
}

Val OnnxBuilder::scalar_integer(ElementType type, std::int64_t value) {
  if (type != ElementType::int64) return scalar(type, static_cast<double>(value));
  return constant(fmt::format("n{}", value), ir::make_tensor(model_, type, {}, std::as_bytes(std::span(&value, 1))),
                  "const");
}

Val OnnxBuilder::initializer(std::string_view name, ElementType type, std::vector<std::int64_t> dims,
                             std::span<const std::byte> bytes) {
  const Val value = new_value(name);
  ir::Tensor tensor;
  tensor.dims = std::move(dims);
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.raw_data = Text(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  tensor.name = graphs_.back()->values[ir::index_of(value.id)].name;
  graphs_.back()->initializers.push_back(std::move(tensor));
  inference_.advance(*graphs_.back());
  return value;
}

Val OnnxBuilder::owned_initializer(std::string_view name, ElementType type, std::vector<std::int64_t> dims,
                                   std::string bytes) {
  model_.files.push_back(MappedFile::from_bytes(std::move(bytes)));
  return initializer(name, type, std::move(dims), model_.files.back()->bytes());
}

std::optional<std::span<const std::byte>> OnnxBuilder::initializer_bytes(Val value) const {
  if (!value) return std::nullopt;
  const std::string_view name = value.graph->name_of(value.id);
  for (const ir::Tensor& tensor : value.graph->initializers)
    if (tensor.name == name && tensor.raw_data.present()) return std::as_bytes(std::span(tensor.raw_data.view()));
  return std::nullopt;
}

// ---- what is known

const checker::Type& OnnxBuilder::type(Val value) {
  static const checker::Type unknown;
  return value ? inference_.type(*value.graph, value.id) : unknown;
}

const Shape* OnnxBuilder::shape(Val value) {
  const checker::Type& known = type(value);
  return known.is_tensor() && known.shape ? &*known.shape : nullptr;
}

std::optional<std::size_t> OnnxBuilder::rank(Val value) {
  const Shape* sizes = shape(value);
  return sizes ? std::optional(sizes->size()) : std::nullopt;
}

std::optional<std::int64_t> OnnxBuilder::size(Val value, std::size_t axis) {
  const Shape* sizes = shape(value);
  if (!sizes || axis >= sizes->size() || !(*sizes)[axis].is_constant()) return std::nullopt;
  return (*sizes)[axis].constant();
}

std::optional<std::int64_t> OnnxBuilder::element_count(Val value) {
  const Shape* sizes = shape(value);
  if (!sizes) return std::nullopt;
  std::vector<std::int64_t> known;
  for (const Dim d : *sizes) {
    if (!d.is_constant()) return std::nullopt;
    known.push_back(d.constant());
  }
  return checked_element_count(known);
}

std::optional<std::vector<std::int64_t>> OnnxBuilder::constant_integers(Val value) {
  const checker::Constant* content = value ? inference_.content(*value.graph, value.id) : nullptr;
  return content ? content->constants() : std::nullopt;
}

Shape OnnxBuilder::symbolic_integers(Val value) {
  const checker::Constant* content = value ? inference_.content(*value.graph, value.id) : nullptr;
  return content ? content->dims() : Shape();
}

// ---- common compositions

Val OnnxBuilder::cast(Val value, ElementType to) {
  if (elem(value) == to) return value;
  return emit("Cast", {value}, {{"to", static_cast<std::int64_t>(to)}});
}

Val OnnxBuilder::reshape(Val value, std::span<const std::int64_t> sizes) {
  return emit("Reshape", {value, integers(sizes)});
}

Val OnnxBuilder::transpose(Val value, std::vector<std::int64_t> permutation) {
  std::vector<std::int64_t> same(permutation.size());
  std::iota(same.begin(), same.end(), 0);
  if (permutation == same) return value;
  return emit("Transpose", {value}, {{"perm", std::move(permutation)}});
}

Val OnnxBuilder::unsqueeze(Val value, std::vector<std::int64_t> axes) {
  return axes.empty() ? value : emit("Unsqueeze", {value, integers(axes)});
}

Val OnnxBuilder::squeeze(Val value, std::vector<std::int64_t> axes) {
  return axes.empty() ? value : emit("Squeeze", {value, integers(axes)});
}

Val OnnxBuilder::size_of(Val value, std::int64_t axis) {
  if (const auto known = size(value, static_cast<std::size_t>(axis))) return integers({*known});
  return emit("Shape", {value}, {{"start", axis}, {"end", axis + 1}});
}

Val OnnxBuilder::joined(const std::vector<Val>& vectors) {
  std::vector<std::int64_t> all;
  for (const Val vector : vectors) {
    const auto known = constant_integers(vector);
    if (!known) return vectors.size() == 1 ? vector : emit("Concat", vectors, {{"axis", std::int64_t{0}}});
    all.insert(all.end(), known->begin(), known->end());
  }
  return integers(all);
}

// ---- bodies

ir::DeclaredType OnnxBuilder::declared(const checker::Type& type) {
  return checker::to_declared(type, inference_.dims(), [this](const std::string& text) { return model_.keep(text); });
}

std::vector<Val> OnnxBuilder::open_body(std::string_view name, std::span<const BodyInput> inputs) {
  bodies_.push_back(std::make_unique<ir::Graph>());
  ir::Graph& body = *bodies_.back();
  const ir::Graph* outer = graphs_.back();
  body.name = model_.keep(name);
  graphs_.push_back(&body);
  constants_.emplace_back();
  std::vector<Val> values;
  for (const BodyInput& input : inputs) {
    values.push_back(new_value(input.stem));
    ir::ValueInfo& info = body.inputs.emplace_back();
    info.value = values.back().id;
    info.type = declared(input.type);
  }
  inference_.open(body, outer);
  return values;
}

std::unique_ptr<ir::Graph> OnnxBuilder::close_body(const std::vector<Val>& outputs) {
  std::unordered_set<std::uint32_t> taken;
  const ir::Graph& body = *graphs_.back();
  for (const ir::ValueInfo& input : body.inputs) taken.insert(static_cast<std::uint32_t>(input.value));
  std::vector<Val> own;
  for (const Val output : outputs) {
    // A body returns values of its own, each once.
    const bool is_own = output.graph == &body && taken.insert(static_cast<std::uint32_t>(output.id)).second;
    own.push_back(is_own ? output : emit("Identity", {output}));
  }
  for (const Val output : own) {
    ir::ValueInfo& info = graphs_.back()->outputs.emplace_back();
    info.value = output.id;
    info.type = declared(type(output));
  }
  inference_.close(body);
  graphs_.pop_back();
  constants_.pop_back();
  std::unique_ptr<ir::Graph> closed = std::move(bodies_.back());
  bodies_.pop_back();
  return closed;
}

// ---- the result

void OnnxBuilder::add_output(Val value, std::string_view name) {
  ir::Graph& main = *model_.graph;
  name_value(value, name);
  const bool is_taken = std::any_of(main.outputs.begin(), main.outputs.end(),
                                    [&](const ir::ValueInfo& output) { return output.value == value.id; });
  if (is_taken || main.name_of(value.id) != name) {
    value = emit("Identity", {value});
    name_value(value, name);
  }
  ir::ValueInfo& output = main.outputs.emplace_back();
  output.value = value.id;
  output.type = declared(type(value));
}

void OnnxBuilder::remove_unused() { remove_unused_from(*model_.graph); }

}  // namespace onnxkit::foreign
