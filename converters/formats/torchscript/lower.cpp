#include "converters/formats/torchscript/lower.h"

#include <algorithm>
#include <map>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "converters/formats/torchscript/follower.h"
#include "converters/formats/torchscript/inputs.h"

namespace onnxkit::torchscript {
namespace {

using foreign::ValueId;
using Kind = Item::Kind;

/// Whether nothing in it is computed by the graph.
bool is_known(const Item& item, int depth = 0) {
  constexpr int deepest = 16;
  if (depth > deepest || !item.is_known()) return false;
  return !item.items || std::all_of(item.items->begin(), item.items->end(),
                                    [&](const Item& part) { return is_known(part, depth + 1); });
}

void add_values(const foreign::Argument& argument, std::set<ValueId>& values) {
  if (const auto* id = argument.as<ValueId>()) values.insert(*id);
  if (const auto* list = argument.as<foreign::Argument::List>())
    for (const foreign::Argument& each : *list) add_values(each, values);
}

class Lowering {
 public:
  Lowering(Module& module, const Settings& settings)
      : module_(module),
        settings_(settings),
        follower_(module, model_),
        inputs_(module, settings, model_, follower_.writer()) {}

  Result<Lowered> run() {
    model_.framework = "PyTorch";
    Item root = Item::of_kind(Kind::object);
    root.object = module_.root();
    const Function* forward = follower_.method_of(root, "forward");
    // One for each overload, the first of tensors: recurrent layers have another for packed sequences.
    if (!forward) forward = follower_.method_of(root, "forward__0");
    if (!forward) return make_error("malformed-model", "the module has no method forward");
    const auto arguments = inputs_.read(*forward);
    if (!arguments) return arguments.error();
    std::map<std::string, Item> given = inputs_.attributes();
    given.insert(kept_.begin(), kept_.end());
    follower_.give(std::move(given));
    const Item result = follower_.call_method(root, forward->name, *arguments);
    if (follower_.fault()) return *follower_.fault();
    if (auto added = add_outputs(result); !added) return std::move(added).error();
    add_rebound();
    if (auto settled = settle(); !settled) return std::move(settled).error();
    if (model_.graph.outputs.empty()) return make_error("not-supported", "the module returns no tensor");
    add_metadata("source_sizes", inputs_.traced_sizes());
    add_metadata("source_inputs", inputs_.structure());
    add_metadata("source_attributes", inputs_.attribute_structure());
    if (is_nested(result)) add_metadata("source_outputs", structure_.text());
    for (const auto& file : module_.archive.files()) model_.files.push_back(file);
    return Lowered{std::move(model_), std::move(rebound_), inputs_.state()};
  }

 private:
  static Error not_kept(const std::string& attribute) {
    Error error = make_error(
        "not-supported",
        fmt::format("the module changes attribute {}, which is no tensor, for its next call", quote(attribute)));
    error.diagnostic.help = fmt::format("onnxkit convert --set {}=VALUE converts the module with a value that stays",
                                        without_controls(attribute));
    return error;
  }

  void add_metadata(std::string_view key, const std::string& text) {
    if (!text.empty()) model_.metadata.emplace_back(key, follower_.writer().keep(text));
  }

  /// Whether results are in anything else than one tuple of tensors, which needs no telling.
  static bool is_nested(const Item& item) {
    if (item.kind == Kind::list || item.kind == Kind::dict) return true;
    return item.kind == Kind::tuple && std::any_of(item.items->begin(), item.items->end(), [](const Item& part) {
             return part.items != nullptr || part.kind == Kind::none;
           });
  }

  Result<void> add_outputs(const Item& item, int depth = 0) {
    constexpr int deepest = 100;  // a list may hold itself
    if (depth > deepest) return make_error("nesting-depth", "the module returns containers that are nested too deeply");
    constexpr std::size_t most =
        10'000;  // lists that hold one list twice have a number of parts that grows without bound
    if (++parts_ > most) return make_error("memory-limit", "the module returns too many tensors");
    if (item.kind == Kind::tensor) {
      const ValueId id = follower_.writer().here(item);
      const std::string_view name = follower_.writer().keep(fmt::format("output_{}", model_.graph.outputs.size()));
      // Inputs and weights keep their names.
      const bool is_computed = std::any_of(model_.graph.nodes.begin(), model_.graph.nodes.end(), [&](const auto& node) {
        return std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end();
      });
      const bool is_output = std::any_of(model_.graph.outputs.begin(), model_.graph.outputs.end(),
                                         [&](const foreign::Output& output) { return output.value == id; });
      if (is_computed && !is_output) model_.graph.values[foreign::index_of(id)].name = name;
      model_.graph.outputs.push_back({id, name});
      structure_.value(name);
      return {};
    }
    if (item.kind == Kind::none) {
      structure_.null();
      return {};
    }
    if (item.is_number()) return add_outputs(follower_.tensor_of(item), depth + 1);
    if (item.kind != Kind::list && item.kind != Kind::tuple && item.kind != Kind::dict)
      return make_error("not-supported", "the module returns something that is not a tensor");
    const bool is_dict = item.kind == Kind::dict;
    is_dict ? structure_.open_object() : structure_.open_array();
    for (std::size_t i = 0; i + (is_dict ? 1 : 0) < item.items->size(); ++i) {
      if (is_dict) structure_.key((*item.items)[i++].text);
      if (auto added = add_outputs((*item.items)[i], depth + 1); !added) return added;
    }
    is_dict ? structure_.close_object() : structure_.close_array();
    return {};
  }

  /// Further outputs, which hold what the module's buffers are given.
  void add_rebound() {
    for (const auto& [stored, now] : follower_.rebound()) {
      model_.graph.outputs.push_back({follower_.writer().here(now), {}});
      rebound_.push_back(stored.id);
    }
  }

  /// Attributes that are no tensors may change in the first call when the next one leaves them, and computes the same: caches, warnings that come once.
  Result<void> settle();

  Module& module_;
  const Settings& settings_;
  foreign::Model model_;
  Follower follower_;
  Inputs inputs_;
  containers::JsonWriter structure_;
  std::size_t parts_ = 0;
  std::vector<ValueId> rebound_;
  std::map<std::string, Item> kept_;  ///< attributes that the call before has changed
};

/// The nodes that the outputs need, and those that write, last first.
std::vector<const foreign::Node*> needed_nodes(const foreign::Graph& graph) {
  std::vector<const foreign::Node*> nodes;
  std::set<ValueId> needed;
  for (const foreign::Output& output : graph.outputs) needed.insert(output.value);
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_needed =
        std::any_of(node->outputs.begin(), node->outputs.end(), [&](ValueId id) { return needed.contains(id); });
    if (!is_needed && !KnownTypes::is_in_place(node->op)) continue;
    nodes.push_back(&*node);
    for (const foreign::Argument& argument : node->arguments) add_values(argument, needed);
  }
  return nodes;
}

bool is_same_tensor(const foreign::Tensor& a, const foreign::Tensor& b) {
  const bool is_same_place = a.bytes.data() == b.bytes.data() && a.bytes.size() == b.bytes.size();
  return a.elem == b.elem && a.dims == b.dims && a.stored_dims == b.stored_dims && a.order == b.order &&
         (is_same_place || std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end()));
}

/// Finds whether two graphs compute the same, node by node, with the same constants.
class Comparison {
 public:
  Comparison(const foreign::Graph& a, const foreign::Graph& b) : a_(a), b_(b) {}

  bool is_alike() {
    const auto of_a = needed_nodes(a_), of_b = needed_nodes(b_);
    const auto same_result = [&](const auto& x, const auto& y) { return pair(x.value, y.value); };
    const auto same_node = [&](const foreign::Node* x, const foreign::Node* y) {
      return x->op == y->op && same_values(x->outputs, y->outputs) && same_arguments(x->arguments, y->arguments);
    };
    return same_values(a_.inputs, b_.inputs) &&
           std::equal(a_.outputs.begin(), a_.outputs.end(), b_.outputs.begin(), b_.outputs.end(), same_result) &&
           std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), same_node) && have_same_tensors();
  }

 private:
  /// Whether two values may be the same, which they then are everywhere.
  bool pair(ValueId x, ValueId y) {
    return to_b_.try_emplace(x, y).first->second == y && to_a_.try_emplace(y, x).first->second == x;
  }

  bool same_values(const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](ValueId one, ValueId other) { return pair(one, other); });
  }

  bool same_arguments(const foreign::Argument::List& x, const foreign::Argument::List& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [&](const auto& one, const auto& other) {
      return one.name == other.name && one.content.index() == other.content.index() && same_content(one, other);
    });
  }

  bool same_content(const foreign::Argument& x, const foreign::Argument& y) {
    return std::visit(
        [&]<typename Content>(const Content& content) {
          const Content& other = std::get<Content>(y.content);
          if constexpr (std::is_same_v<Content, ValueId>)
            return pair(content, other);
          else if constexpr (std::is_same_v<Content, foreign::Argument::List>)
            return same_arguments(content, other);
          else if constexpr (std::is_same_v<Content, std::unique_ptr<foreign::Graph>>)
            return Comparison(*content, *other).is_alike();
          else
            return content == other;
        },
        x.content);
  }

  bool have_same_tensors() const {
    std::map<ValueId, const foreign::Tensor*> of_b;
    for (const foreign::Tensor& tensor : b_.tensors) of_b.emplace(tensor.value, &tensor);
    return std::all_of(a_.tensors.begin(), a_.tensors.end(), [&](const foreign::Tensor& tensor) {
      const auto other = to_b_.find(tensor.value);
      if (other == to_b_.end()) return true;
      const auto found = of_b.find(other->second);
      return found != of_b.end() && is_same_tensor(tensor, *found->second);
    });
  }

  const foreign::Graph &a_, &b_;
  std::map<ValueId, ValueId> to_b_, to_a_;
};

Result<void> Lowering::settle() {
  const std::map<std::string, Item> changes = follower_.changed_attributes();
  if (changes.empty()) return {};
  const std::string& first = changes.begin()->first;
  if (!kept_.empty() ||
      !std::all_of(changes.begin(), changes.end(), [](const auto& change) { return is_known(change.second); }))
    return not_kept(first);
  Lowering next(module_, settings_);
  next.kept_ = changes;
  const auto lowered = next.run();
  const bool is_alike = lowered && Comparison(model_.graph, lowered->model.graph).is_alike();
  return is_alike ? Result<void>() : not_kept(first);
}

}  // namespace

Result<Lowered> lower(Module& module, const Settings& settings) { return Lowering(module, settings).run(); }

}  // namespace onnxkit::torchscript
