#include "libonnxkit/plan/subject.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/collector.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/plan/validity.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::plan {

std::string node_title(const ir::Graph& graph, const ir::Node& node) { return std::string(ir::title_of(graph, node)); }

bool has_body(const ir::Node& node) {
  bool found = false;
  ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { found = true; });
  return found;
}

std::shared_ptr<wire::ExternalData> external_data(const ir::Model& model, bool allow_outside) {
  return std::make_shared<wire::ExternalData>(
      model.path, wire::ExternalDataOptions{.allow_outside = allow_outside, .verify_checksums = false});
}

Subject::Subject(ir::Model model, std::shared_ptr<const spec::OpTable> table, Evaluate evaluate, const Options& options)
    : model_(std::move(model)),
      table_(std::move(table)),
      evaluate_(std::move(evaluate)),
      options_(options),
      external_(options.external ? options.external : external_data(model_, options.allow_outside_data)),
      names_(model_) {
  refresh();
}

void Subject::refresh() {
  uses_.emplace(*model_.graph);
  checker::Collector collector;
  checker::InferenceOptions options;
  options.assume_defaults = true;
  options.external_bytes = [this](const ir::Tensor& tensor) { return external_->bytes(tensor); };
  inferred_.emplace(checker::infer_types(model_, *table_, options, collector));
  fault_ = first_fault(collector);
  info_ = &inferred_->graphs.at(model_.graph.get());
}

std::int64_t Subject::opset() const { return ir::opset_of(model_.opset_imports, "").value_or(0); }

bool Subject::is_op(const ir::Node& node, std::string_view op) {
  return node.op_type == op && ir::canonical_domain(node.domain).empty();
}

const ir::Node* Subject::writer(ir::ValueId id, std::string_view op) const {
  const std::int32_t at = uses_->producer(id);
  if (at < 0) return nullptr;
  const ir::Node& node = graph().nodes[static_cast<std::size_t>(at)];
  return is_op(node, op) ? &node : nullptr;
}

bool Subject::has_one_reader(ir::ValueId id) const { return !uses_->is_output(id) && uses_->consumers(id).size() == 1; }

const spec::OpSchema* Subject::schema(const ir::Node& node) const {
  const std::string_view domain = ir::canonical_domain(node.domain);
  const auto opset = ir::opset_of(model_.opset_imports, domain);
  return opset ? table_->find_with_additions(domain, node.op_type, *opset) : nullptr;
}

ElementType Subject::type(ir::ValueId id) const {
  if (id == ir::ValueId::none) return ElementType::undefined;
  const checker::Type& type = info(id).type;
  return type.is_tensor() ? type.elem : ElementType::undefined;
}

const checker::Shape* Subject::shape(ir::ValueId id) const {
  if (id == ir::ValueId::none) return nullptr;
  const checker::Type& type = info(id).type;
  return type.is_tensor() && type.shape ? &*type.shape : nullptr;
}

bool Subject::same_shape(ir::ValueId a, ir::ValueId b) const {
  const checker::Shape* const left = shape(a);
  const checker::Shape* const right = shape(b);
  return left && right && *left == *right;  // unknown sizes equal nothing
}

bool Subject::has_elements(ir::ValueId id) const {
  const checker::Shape* const sizes = shape(id);
  return sizes && std::all_of(sizes->begin(), sizes->end(),
                              [&](ir::Dim size) { return dim_pool().lower_bound(size).value_or(0) > 0; });
}

std::optional<Dims> Subject::dims(ir::ValueId id) const {
  const checker::Shape* const sizes = shape(id);
  return sizes ? constant_sizes(*sizes) : std::nullopt;
}

std::optional<Dims> Subject::constant_sizes(std::span<const ir::Dim> sizes) {
  Dims dims;
  std::int64_t left = std::int64_t{1} << 44;  // what is larger fits no memory, and strides must not overflow
  for (const ir::Dim size : sizes) {
    if (!size.is_constant() || size.constant() < 0) return std::nullopt;
    dims.push_back(size.constant());
    left /= std::max<std::int64_t>(size.constant(), 1);
    if (left == 0) return std::nullopt;
  }
  return dims;
}

std::optional<Tensor> Subject::content(ir::ValueId id) const {
  const ir::Tensor* stored = id == ir::ValueId::none ? nullptr : uses_->initializers().find(id);
  if (!stored) return std::nullopt;
  if (const Tensor* const known = added(stored->raw_data.view().data()); known && known->dims() == stored->dims)
    return *known;
  wire::TensorSource source;
  source.external = [this](const ir::Tensor& tensor) { return external_->bytes(tensor); };
  source.owner = wire::unowned(stored);
  auto content = wire::tensor_of(*stored, source);
  if (!content) return std::nullopt;
  return *std::move(content);
}

std::optional<double> Subject::scalar(ir::ValueId id) const {
  const ir::Tensor* stored = id == ir::ValueId::none ? nullptr : uses_->initializers().find(id);
  if (!stored || !std::all_of(stored->dims.begin(), stored->dims.end(), [](std::int64_t size) { return size == 1; }))
    return std::nullopt;
  const auto held = content(id);
  if (!held) return std::nullopt;
  const auto reals = to_reals(*held);
  return reals.size() == 1 ? std::optional(reals[0]) : std::nullopt;
}

std::optional<std::vector<double>> Subject::reals(ir::ValueId id) const {
  if (!is_floating(type(id))) return std::nullopt;
  const auto held = content(id);
  return held ? std::optional(to_reals(*held)) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> Subject::integers(ir::ValueId id) const {
  const auto held = content(id);
  if (!held || (held->type() != ElementType::int64 && held->type() != ElementType::int32)) return std::nullopt;
  std::vector<std::int64_t> all;
  const std::size_t width = held->type() == ElementType::int64 ? 8 : 4;
  for (std::size_t at = 0; at + width <= held->bytes().size(); at += width) {
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    std::memcpy(width == 8 ? static_cast<void*>(&wide) : static_cast<void*>(&narrow), held->bytes().data() + at, width);
    all.push_back(width == 8 ? wide : narrow);
  }
  return all;
}

ir::ValueId Subject::add_constant(ir::Patch& patch, std::string_view stem, const Tensor& content) {
  const ir::ValueId id = patch.value(fresh_name(stem));
  set_constant(patch, id, content);
  return id;
}

void Subject::set_constant(ir::Patch& patch, ir::ValueId id, const Tensor& content) {
  ir::Tensor tensor;
  tensor.dims = content.dims();
  tensor.data_type = static_cast<std::int32_t>(content.type());
  const auto bytes = content.bytes();
  const std::string_view raw =
      bytes.empty() ? "" : std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  tensor.raw_data = Text(raw);
  if (!bytes.empty()) added_.emplace(raw.data(), content);
  patch.add_initializer(id, std::move(tensor));
}

std::shared_ptr<const ir::Model> Subject::shared_part(ir::Model part) const {
  struct Held {
    ir::Model model;
    std::vector<Tensor> constants = {};
  };
  auto held = std::make_shared<Held>(Held{.model = std::move(part)});
  ir::each_tensor(held->model, [&](const ir::Tensor& tensor, ir::TensorRole) {
    if (const Tensor* const known = added(tensor.raw_data.view().data())) held->constants.push_back(*known);
  });
  return {held, &held->model};
}

void Subject::adopt_additions(std::shared_ptr<const Subject> other) {
  if (!other->is_generic()) origins_.insert(other->origins_.begin(), other->origins_.end());
  adopted_ = std::move(other);
}

const Tensor* Subject::added(const char* bytes) const {
  const auto known = added_.find(bytes);
  if (known != added_.end()) return &known->second;
  return adopted_ ? adopted_->added(bytes) : nullptr;
}

const std::string* Subject::origin(std::string_view title) const {
  const auto made = origins_.find(title);
  if (made != origins_.end()) return &made->second;
  return adopted_ ? adopted_->origin(title) : nullptr;
}

Text Subject::name_beside(std::size_t at, std::string_view written) {
  return model_.keep(fmt::format("{} ({})", origin_of(node_title(graph(), graph().nodes[at])), written));
}

std::vector<std::shared_ptr<const MappedFile>> Subject::files() const {
  std::vector<std::shared_ptr<const MappedFile>> files = model_.files;
  const auto outside = external_->files();
  files.insert(files.end(), outside.begin(), outside.end());
  return files;
}

void Subject::splice(ir::Patch patch) {
  std::vector<std::string_view> titles;
  for (const ir::Node& node : graph().nodes) titles.push_back(ir::title_of(graph(), node));
  const ir::Splice done = ir::splice(*model_.graph, std::move(patch));
  bool has_new_bodies = false;
  for (const std::size_t at : done.changed) {
    const ir::Node& node = graph().nodes[at];
    has_new_bodies = has_new_bodies || has_body(node);
    if (done.origin[at] >= titles.size()) continue;
    const std::string_view before = titles[done.origin[at]], now = ir::title_of(graph(), node);
    if (now != before) origins_.try_emplace(std::string(now), origin_of(std::string(before)));
  }
  if (has_new_bodies) names_.emplace(model_);  // their values have names that fresh_name() has not seen
  drop_unused();
  refresh();
}

bool names_values(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const ir::Node& node) { return node.op_type == "Gradient"; });
}

ir::ValueId traced_target(const ir::Graph& graph, const ir::Node& node) {
  if (node.op_type != "Gradient") return ir::ValueId::none;
  const ir::Attribute* target = node.find_attribute("y");
  const auto* name = target ? target->as<Text>() : nullptr;
  return name ? graph.find(name->view()) : ir::ValueId::none;
}

void Subject::drop_unused() {
  ir::Graph& graph = *model_.graph;
  const ir::Uses uses(graph);
  std::vector<bool> is_read(graph.values.size(), false), is_kept(graph.nodes.size(), false);
  for (const ir::ValueInfo& output : graph.outputs) {
    if (output.value != ir::ValueId::none) is_read[ir::index_of(output.value)] = true;
  }
  for (std::size_t at = graph.nodes.size(); at-- > 0;) {
    const ir::Node& node = graph.nodes[at];
    is_kept[at] = std::any_of(node.outputs.begin(), node.outputs.end(),
                              [&](ir::ValueId id) { return id != ir::ValueId::none && is_read[ir::index_of(id)]; });
    if (!is_kept[at]) continue;
    for (const ir::ValueId id : uses.reads(at)) is_read[ir::index_of(id)] = true;
    if (const ir::ValueId id = traced_target(graph, node); id != ir::ValueId::none) is_read[ir::index_of(id)] = true;
  }
  ir::Patch patch(graph);
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    if (!is_kept[at]) patch.remove(at);
  }
  for (std::size_t at = 0; at < graph.values.size(); ++at) {
    const auto id = static_cast<ir::ValueId>(at);
    if (!is_read[at] && uses.initializers().contains(id)) patch.drop_initializer(id);
  }
  if (!patch.empty()) ir::splice(graph, std::move(patch));
}

}  // namespace onnxkit::plan
