// What is computed twice is computed once: nodes with the same operator, inputs and attributes, and small constants with the same content.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "libonnxkit/plan/draws.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

template <class T>
void append(std::string& key, const T& number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append_text(std::string& key, std::string_view text) {
  append(key, text.size());
  key += text;
}

template <class T>
bool append_list(std::string& key, const ir::Attribute& attribute) {
  const auto* list = attribute.as<std::vector<T>>();
  if (!list) return false;
  append(key, list->size());
  for (const T& element : *list) {
    if constexpr (std::is_same_v<T, Text>)
      append_text(key, element.view());
    else
      append(key, element);
  }
  return true;
}

/// False for attributes that are not compared: tensors, types.
bool append_attribute(std::string& key, const ir::Attribute& attribute) {
  append_text(key, attribute.name.view());
  append(key, attribute.payload.index());
  if (const auto* real = attribute.as<float>()) return append(key, *real), true;
  if (const auto* integer = attribute.as<std::int64_t>()) return append(key, *integer), true;
  if (const auto* text = attribute.as<Text>()) return append_text(key, text->view()), true;
  return append_list<float>(key, attribute) || append_list<std::int64_t>(key, attribute) ||
         append_list<Text>(key, attribute);
}

class Sharing {
 public:
  explicit Sharing(Subject& subject)
      : subject_(subject), graph_(subject.graph()), draws_(subject.model(), subject.table()), patch_(graph_) {
    now_.resize(graph_.values.size());
    for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = static_cast<ir::ValueId>(i);
  }

  bool run() {
    share_constants();
    for (const ir::Node& node : graph_.nodes) share(node);
    if (patch_.empty()) return false;
    subject_.splice(std::move(patch_));
    return true;
  }

 private:
  void replace(ir::ValueId old, ir::ValueId by) {
    now_[ir::index_of(old)] = by;
    patch_.replace_value(old, by);
  }

  void share_constants() {
    constexpr std::int64_t most_elements = 256;
    std::unordered_map<std::string, ir::ValueId> known;
    for (const ir::Tensor& tensor : graph_.initializers) {
      std::int64_t size = 1;
      for (const std::int64_t dim : tensor.dims)
        size = std::min(size, most_elements + 1) * std::min(dim, most_elements + 1);
      const ir::ValueId id = graph_.find(tensor.name.view());
      if (size > most_elements || id == ir::ValueId::none || subject_.uses().is_output(id)) continue;
      if (subject_.is_kept() && size > 1 && is_floating(subject_.type(id))) continue;
      const auto content = subject_.content(id);
      if (!content || content->type() == ElementType::string) continue;
      std::string key;
      append(key, content->type());
      append(key, content->dims().size());
      for (const std::int64_t dim : content->dims()) append(key, dim);
      key.append(reinterpret_cast<const char*>(content->bytes().data()), content->bytes().size());
      const auto [at, is_new] = known.emplace(std::move(key), id);
      if (!is_new && at->second != id) replace(id, at->second);
    }
  }

  bool is_comparable(const ir::Node& node) const {
    const std::string_view domain = ir::canonical_domain(node.domain);
    return (domain.empty() || domain == "ai.onnx.ml") && subject_.schema(node) && !draws_(node) && !has_body(node) &&
           !node.outputs.empty();
  }

  void share(const ir::Node& node) {
    if (!is_comparable(node)) return;
    std::string key;
    append_text(key, ir::canonical_domain(node.domain));
    append_text(key, node.op_type.view());
    append(key, node.inputs.size());
    for (const ir::ValueId id : node.inputs) append(key, id == ir::ValueId::none ? id : now_[ir::index_of(id)]);
    append(key, node.outputs.size());
    for (const ir::ValueId id : node.outputs) append(key, id == ir::ValueId::none);
    std::vector<const ir::Attribute*> attributes;
    for (const ir::Attribute& attribute : node.attributes) attributes.push_back(&attribute);
    std::sort(attributes.begin(), attributes.end(),
              [](const auto* a, const auto* b) { return a->name.view() < b->name.view(); });
    for (const ir::Attribute* attribute : attributes) {
      if (!append_attribute(key, *attribute)) return;
    }
    const auto [at, is_new] = known_.emplace(std::move(key), &node);
    if (is_new) return;
    const bool any_is_output = std::any_of(node.outputs.begin(), node.outputs.end(),
                                           [&](ir::ValueId id) { return subject_.uses().is_output(id); });
    if (any_is_output) return;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != ir::ValueId::none) replace(node.outputs[i], at->second->outputs[i]);
    }
  }

  Subject& subject_;
  const ir::Graph& graph_;
  Draws draws_;
  ir::Patch patch_;
  std::vector<ir::ValueId> now_;  ///< by ValueId: what stands for it
  std::unordered_map<std::string, const ir::Node*> known_;
};

}  // namespace

void register_common_subexpressions(PassRegistry& registry);
void register_common_subexpressions(PassRegistry& registry) {
  registry.add({.name = "common_subexpressions",
                .stage = Stage::clean,
                .run = [](Subject& subject) -> Result<bool> { return Sharing(subject).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
