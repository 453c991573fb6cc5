#include "libonnxkit/ir/extract.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "libonnxkit/ir/called_functions.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::ir {
namespace {

/// As declared_value, for many values: each list of the graph is gone through once.
class Declarations {
 public:
  Declarations(const Graph& graph, std::size_t wanted) : graph_(graph), is_indexed_(wanted > few) {
    if (!is_indexed_) return;
    for (const auto* infos : {&graph.value_infos, &graph.outputs, &graph.inputs})
      for (const ValueInfo& info : *infos)
        if (info.type) infos_.emplace(info.value, &info);
  }

  ValueInfo of(ValueId id) const {
    if (!is_indexed_) return declared_value(graph_, id);
    const auto known = infos_.find(id);
    if (known != infos_.end()) return clone(*known->second);
    ValueInfo unknown;
    unknown.value = id;
    return unknown;
  }

 private:
  static constexpr std::size_t few = 16;

  const Graph& graph_;
  bool is_indexed_;
  std::unordered_map<ValueId, const ValueInfo*> infos_;
};

/// Makes the graph of a part, whose values have other ids.
class Extractor {
 public:
  explicit Extractor(const Graph& from) : from_(from), ids_(from.values.size(), ValueId::none) {}

  std::unique_ptr<Graph> run(const Part& part, std::span<const ValueId> to) {
    made_->name = from_.name;
    made_->doc_string = from_.doc_string;
    made_->metadata_props = from_.metadata_props;
    made_->unknown_fields = from_.unknown_fields;
    const Declarations declared(from_, part.inputs.size() + to.size());
    for (const ValueId id : part.inputs) made_->inputs.push_back(moved(declared.of(id)));
    for (const std::size_t n : part.nodes) {
      Node& node = made_->nodes.emplace_back(clone(from_.nodes[n]));
      for (ValueId& id : node.inputs) id = new_id(id);
      for (ValueId& id : node.outputs) id = new_id(id);
    }
    for (const ValueId id : to) made_->outputs.push_back(moved(declared.of(id)));
    copy_stored(part, to);
    copy_declarations();
    return std::move(made_);
  }

 private:
  ValueId new_id(ValueId id) {
    if (id == ValueId::none) return id;
    ValueId& known = ids_[index_of(id)];
    if (known == ValueId::none) known = made_->intern(from_.values[index_of(id)].name);
    return known;
  }

  ValueInfo moved(ValueInfo info) {
    info.value = new_id(info.value);
    return info;
  }

  /// Scales and zero points that annotations of the part's values name.
  std::set<std::string_view> annotated_parameters() const {
    std::set<std::string_view> names;
    for (const TensorAnnotation& annotation : from_.quantization_annotations)
      if (made_->find(annotation.tensor_name) != ValueId::none)
        for (const auto& parameter : annotation.quant_parameter_tensor_names) names.insert(parameter.value.view());
    return names;
  }

  void copy_stored(const Part& part, std::span<const ValueId> to) {
    const std::set<std::string_view> annotated = annotated_parameters();
    const auto is_needed = [&](std::string_view name) {
      const ValueId id = from_.find(name);
      if (annotated.contains(name) && made_->find(name) == ValueId::none) return true;
      return id != ValueId::none && (part.reads[index_of(id)] || std::find(to.begin(), to.end(), id) != to.end());
    };
    for (const Tensor& tensor : from_.initializers) {
      if (is_needed(tensor.name)) made_->initializers.push_back(clone(tensor));
    }
    for (const SparseTensor& sparse : from_.sparse_initializers) {
      if (sparse.values && is_needed(sparse.values->name)) made_->sparse_initializers.push_back(clone(sparse));
    }
    made_->intern_initializers();
  }

  void copy_declarations() {
    std::set<ValueId> declared;
    for (const auto* infos : {&made_->inputs, &made_->outputs}) {
      for (const ValueInfo& info : *infos) declared.insert(info.value);
    }
    for (const auto* infos : {&from_.value_infos, &from_.outputs}) {
      for (const ValueInfo& info : *infos) {
        if (info.value == ValueId::none || ids_[index_of(info.value)] == ValueId::none) continue;
        if (declared.insert(ids_[index_of(info.value)]).second) made_->value_infos.push_back(moved(clone(info)));
      }
    }
    for (const TensorAnnotation& annotation : from_.quantization_annotations) {
      if (made_->find(annotation.tensor_name) != ValueId::none) made_->quantization_annotations.push_back(annotation);
    }
  }

  const Graph& from_;
  std::vector<ValueId> ids_;  ///< by the value's id before
  std::unique_ptr<Graph> made_ = std::make_unique<Graph>();
};

}  // namespace

Part part_between(const Graph& graph, const Uses& uses, std::span<const ValueId> from, std::span<const ValueId> to) {
  Part part;
  part.reads.assign(graph.values.size(), false);
  std::vector<bool> is_given(graph.values.size(), false), is_wanted(graph.values.size(), false),
      is_kept(graph.nodes.size(), false);
  for (const ValueId id : from) is_given[index_of(id)] = true;
  std::vector<std::size_t> open;
  const auto want = [&](ValueId id) {
    const std::int32_t producer = uses.producer(id);
    if (producer < 0 || is_kept[static_cast<std::size_t>(producer)]) return;
    is_kept[static_cast<std::size_t>(producer)] = true;
    open.push_back(static_cast<std::size_t>(producer));
  };
  for (const ValueId id : to) {
    is_wanted[index_of(id)] = true;
    want(id);
  }
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    for (const ValueId id : uses.reads(node)) {
      part.reads[index_of(id)] = true;
      if (!is_given[index_of(id)]) want(id);
    }
  }
  for (std::size_t n = 0; n < is_kept.size(); ++n) {
    if (is_kept[n]) part.nodes.push_back(n);
  }
  std::vector<bool> is_input(graph.values.size(), false);
  for (const ValueInfo& input : graph.inputs) {
    if (input.value != ValueId::none) is_input[index_of(input.value)] = true;
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const std::int32_t producer = uses.producer(static_cast<ValueId>(i));
    const bool is_cut = is_given[i] && producer >= 0 && !is_kept[static_cast<std::size_t>(producer)];
    if ((part.reads[i] || is_wanted[i]) && (is_input[i] || is_cut)) part.inputs.push_back(static_cast<ValueId>(i));
  }
  return part;
}

ValueInfo declared_value(const Graph& graph, ValueId id) {
  for (const auto* infos : {&graph.value_infos, &graph.outputs, &graph.inputs}) {
    for (const ValueInfo& info : *infos) {
      if (info.value == id && info.type) return clone(info);
    }
  }
  ValueInfo unknown;
  unknown.value = id;
  return unknown;
}

Model extract(const Model& model, const Part& part, std::span<const ValueId> to) {
  Model made;
  share_storage(made, model);
  made.ir_version = model.ir_version;
  made.model_version = model.model_version;
  made.producer_name = model.producer_name;
  made.producer_version = model.producer_version;
  made.domain = model.domain;
  made.doc_string = model.doc_string;
  made.metadata_props = model.metadata_props;
  made.configurations = model.configurations;
  made.unknown_fields = model.unknown_fields;
  made.opset_imports = model.opset_imports;
  made.path = model.path;
  made.graph = Extractor(*model.graph).run(part, to);
  const std::vector<bool> called = called_functions(model, *made.graph);
  for (std::size_t i = 0; i < called.size(); ++i) {
    if (called[i]) made.functions.push_back(clone(model.functions[i]));
  }
  return made;
}

Result<Model> extract(const Model& model, std::span<const std::string> from, std::span<const std::string> to) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  std::vector<ValueId> given, wanted;
  for (const auto& [names, ids] : {std::tuple(from, &given), std::tuple(to, &wanted)}) {
    for (const std::string& name : names) {
      const ValueId id = model.graph->find(name);
      if (id == ValueId::none) return make_error("unknown-value", "the main graph has no value " + quote(name));
      ids->push_back(id);
    }
  }
  return extract(model, part_between(*model.graph, Uses(*model.graph), given, wanted), wanted);
}

}  // namespace onnxkit::ir
