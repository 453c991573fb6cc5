#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/plan/dequantized_matrix.h"
#include "libonnxkit/plan/draws.h"
#include "libonnxkit/plan/lowering.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/precision.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

/// Of all that one round makes.
std::int64_t most_bytes_of(const Subject& subject) {
  constexpr std::int64_t most = std::int64_t{256} << 20;
  const std::uint64_t limit = subject.memory_limit();
  return limit == 0 ? most : static_cast<std::int64_t>(std::min<std::uint64_t>(limit, most));
}

/// Of a small tensor whose content inference knows, as shape arithmetic has it.
std::optional<std::vector<std::int64_t>> known_integers(const checker::ValueInfo& info) {
  return info.value && info.type.elem == ElementType::int64 ? info.value->constants() : std::nullopt;
}

std::optional<Tensor> known_content(const checker::ValueInfo& info) {
  const auto numbers = known_integers(info);
  if (!numbers) return std::nullopt;
  std::vector<std::byte> bytes(numbers->size() * sizeof(std::int64_t));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers->data(), bytes.size());
  auto tensor = Tensor::from_bytes(ElementType::int64, info.value->shape, std::move(bytes));
  return tensor ? std::optional(*std::move(tensor)) : std::nullopt;
}

/// Operators whose results are elements of their inputs, or numbers that the node holds.
bool moves_elements(const ir::Node& node) {
  static const std::set<std::string_view> names = {"Concat",  "Constant", "ConstantOfShape", "Expand",   "Flatten",
                                                   "Gather",  "Identity", "Reshape",         "Slice",    "Split",
                                                   "Squeeze", "Tile",     "Transpose",       "Unsqueeze"};
  return ir::canonical_domain(node.domain).empty() && names.contains(node.op_type.view());
}

/// Operators that have no steps since their values are made here.
bool makes_values(const ir::Node& node) {
  return ir::canonical_domain(node.domain).empty() && lowering_registry().traits("", node.op_type, 1).makes_values;
}

class Folding {
 public:
  explicit Folding(Subject& subject, bool keeps_integers)
      : subject_(subject),
        graph_(subject.graph()),
        keeps_integers_(keeps_integers),
        draws_(subject.model(), subject.table()),
        known_(graph_.values.size(), false),
        constant_(graph_.values.size(), false),
        patch_(graph_),
        most_bytes_(most_bytes_of(subject)) {}

  Result<bool> run() {
    find_known();
    find_constants();
    take_known();
    if (auto evaluated = take_evaluated(); !evaluated) return evaluated.error();
    if (patch_.empty()) return false;
    subject_.splice(std::move(patch_));
    return true;
  }

 private:
  void find_known() {
    for (const ir::Node& node : graph_.nodes) {
      for (const ir::ValueId id : node.outputs) {
        if (id == ir::ValueId::none || subject_.uses().is_output(id) || !subject_.uses().is_used(id)) continue;
        known_[ir::index_of(id)] = known_integers(subject_.info(id)).has_value();
      }
    }
  }

  /// Whatever reads its results reads contents that are known instead.
  bool is_known_node(const ir::Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
      return id == ir::ValueId::none || known_[ir::index_of(id)] ||
             (!subject_.uses().is_used(id) && !subject_.uses().is_output(id));
    });
  }

  void find_constants() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const ir::Node& node = graph_.nodes[at];
      bool all =
          !draws_(node) && !may_loop(node) && !widens_weights(node) && !is_kept_integer(node) && !stays_packed(node);
      for (const ir::ValueId id : node.inputs)
        all = all && (id == ir::ValueId::none || subject_.is_constant(id) || constant_[ir::index_of(id)] ||
                      known_[ir::index_of(id)]);
      all = all && fits(node);
      for (const ir::ValueId id : node.outputs) {
        if (all && id != ir::ValueId::none) constant_[ir::index_of(id)] = !known_[ir::index_of(id)];
      }
    }
  }

  /// How long it takes is not known. Calls of functions in a file become their nodes first, where that is asked for.
  bool may_loop(const ir::Node& node) const { return has_body(node) || (subject_.is_kept() && !subject_.schema(node)); }

  /// Weights and biases that are stored as integers, which operators on integers may read, and all where the model is kept.
  bool is_kept_integer(const ir::Node& node) const {
    if (subject_.is_kept() && Subject::is_op(node, "DequantizeLinear")) return true;
    if (!keeps_integers_ || !Subject::is_op(node, "DequantizeLinear") || node.outputs.size() != 1) return false;
    const ElementType type = subject_.type(node.inputs[0]);
    if (type != ElementType::int8 && type != ElementType::uint8 && type != ElementType::int32) return false;
    const auto readers = subject_.uses().consumers(node.outputs[0]);
    return std::all_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
      const ir::Node& of = graph_.nodes[reader];
      return (Subject::is_op(of, "Conv") || Subject::is_op(of, "MatMul") || Subject::is_op(of, "Gemm")) &&
             !subject_.is_constant(of.inputs[0]) && subject_.writer(of.inputs[0], "DequantizeLinear");
    });
  }

  /// Weights of a few bits, which products read so.
  bool stays_packed(const ir::Node& node) const {
    return subject_.packs_weights() && Subject::is_op(node, "DequantizeLinear") && node.outputs.size() == 1 &&
           is_read_in_blocks(subject_, node.outputs[0]);
  }

  /// A large constant that products and gathers read in its narrow type.
  bool widens_weights(const ir::Node& node) const {
    constexpr std::int64_t few_elements = 1 << 16;
    if (!Subject::is_op(node, "Cast") || node.inputs.size() != 1 || node.outputs.size() != 1) return false;
    const ElementType from = subject_.type(node.inputs[0]);
    if (from != ElementType::bfloat16 && from != ElementType::float16) return false;
    const auto dims = subject_.dims(node.outputs[0]);
    return dims && element_count(*dims) > few_elements && subject_.type(node.outputs[0]) == ElementType::float32 &&
           is_read_narrow(node.outputs[0], most_transposes);
  }

  bool is_read_narrow(ir::ValueId id, int transposes) const {
    const auto readers = subject_.uses().consumers(id);
    return std::all_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
      const ir::Node& node = graph_.nodes[reader];
      if (Subject::is_op(node, "Transpose") && node.outputs.size() == 1)
        return transposes > 0 && is_read_narrow(node.outputs[0], transposes - 1);
      const std::size_t at = Subject::is_op(node, "Gather") ? 0 : 1;
      return (at == 0 || Subject::is_op(node, "MatMul") || Subject::is_op(node, "Gemm")) &&
             std::count(node.inputs.begin(), node.inputs.end(), id) == 1 && input_of(node, at) == id;
    });
  }

  std::uint64_t stored_bytes(const std::vector<ir::ValueId>& ids) const {
    std::uint64_t bytes = 0;
    for (const ir::ValueId id : ids) {
      const auto dims = id == ir::ValueId::none ? std::nullopt : subject_.dims(id);
      if (dims) bytes += static_cast<std::uint64_t>(element_count(*dims)) * storage_bits(subject_.type(id)) / 8;
    }
    return bytes;
  }

  /// The file would become larger, by more than it may.
  bool grows(const ir::Node& node) const {
    if (!subject_.is_kept()) return false;
    const std::uint64_t made = stored_bytes(node.outputs);
    return made > *subject_.most_growth() && made > stored_bytes(node.inputs);
  }

  /// All outputs are tensors of numbers, of known size and few bytes.
  bool fits(const ir::Node& node) {
    std::int64_t bytes = 0;  // at most `most_bytes_`, however large the outputs are
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::ValueId::none) continue;
      const auto dims = subject_.dims(id);
      const ElementType type = subject_.type(id);
      if (subject_.is_exact() && is_floating(type) && !moves_elements(node)) return false;
      if (!dims || type == ElementType::undefined || type == ElementType::string) return false;
      bytes = std::min(bytes + element_count(*dims) * 8, most_bytes_);
    }
    if (grows(node)) return false;
    if (bytes_ + bytes >= most_bytes_) return false;
    bytes_ += bytes;
    return true;
  }

  void take_known() {
    for (std::size_t at = 0; at < known_.size(); ++at) {
      const auto id = static_cast<ir::ValueId>(at);
      if (!known_[at]) continue;
      const auto readers = subject_.uses().consumers(id);
      if (std::all_of(readers.begin(), readers.end(),
                      [&](std::uint32_t reader) { return is_known_node(graph_.nodes[reader]); }))
        continue;
      if (const auto content = known_content(subject_.info(id))) put(id, *content);
    }
  }

  /// The content in place of what a node writes. The value keeps its name where the node can go without it, as an output must.
  void put(ir::ValueId id, const Tensor& content) {
    const std::size_t writer = subject_.writer_index(id);
    if (!subject_.uses().is_output(id) && graph_.nodes[writer].outputs.size() > 1)
      return patch_.replace_value(id, subject_.add_constant(patch_, graph_.name_of(id), content));
    auto& outputs = outputs_.try_emplace(writer, graph_.nodes[writer].outputs).first->second;
    std::replace(outputs.begin(), outputs.end(), id, ir::ValueId::none);
    patch_.set_outputs(writer, outputs);
    subject_.set_constant(patch_, id, content);
  }

  bool is_constant_node(const ir::Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ir::ValueId id) { return id != ir::ValueId::none && constant_[ir::index_of(id)]; });
  }

  /// Nodes that are constant and are computed in every run all the same: steps compute an output of the model, and what only leads to it. In a file
  /// outputs are constants, too.
  std::vector<bool> staying() const {
    std::vector<bool> stays(graph_.nodes.size(), false);
    if (subject_.is_kept()) return stays;
    for (std::size_t at = stays.size(); at-- > 0;) {
      const ir::Node& node = graph_.nodes[at];
      if (!is_constant_node(node) || makes_values(node)) continue;
      stays[at] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
        if (id == ir::ValueId::none) return false;
        const auto readers = subject_.uses().consumers(id);
        return subject_.uses().is_output(id) ||
               std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) { return stays[reader]; });
      });
    }
    return stays;
  }

  /// Constant values that a node reads which is not constant, and those that no step makes and that are read in every run or given out. The others are
  /// computed on the way to them.
  std::vector<ir::ValueId> wanted() const {
    const std::vector<bool> stays = staying();
    std::vector<ir::ValueId> ids;
    for (std::size_t at = 0; at < constant_.size(); ++at) {
      const auto id = static_cast<ir::ValueId>(at);
      if (!constant_[at]) continue;
      const bool is_made = subject_.is_kept() || makes_values(graph_.nodes[subject_.writer_index(id)]);
      if (subject_.uses().is_output(id) && !is_made) continue;
      const auto readers = subject_.uses().consumers(id);
      if (subject_.uses().is_output(id) || std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) {
            const ir::Node& node = graph_.nodes[reader];
            return (!is_constant_node(node) && !is_known_node(node)) || (is_made && stays[reader]);
          }))
        ids.push_back(id);
    }
    return ids;
  }

  /// What computes these values, with contents that are known in place of the nodes that lead to them.
  ir::Model model_of(const std::vector<ir::ValueId>& ids) const {
    std::vector<ir::ValueId> known;
    for (std::size_t at = 0; at < known_.size(); ++at)
      if (known_[at]) known.push_back(static_cast<ir::ValueId>(at));
    ir::Model part = ir::extract(subject_.model(), ir::part_between(graph_, subject_.uses(), known, ids), ids);
    for (const ir::ValueInfo& input : part.graph->inputs) {
      const std::string_view name = part.graph->name_of(input.value);
      if (const auto content = known_content(subject_.info(graph_.find(name)))) {
        part.graph->initializers.push_back(ir::make_tensor(part, content->type(), content->dims(), content->bytes()));
        part.graph->initializers.back().name = part.graph->values[ir::index_of(input.value)].name;
      }
    }
    part.graph->inputs.clear();
    return part;
  }

  /// The constant that nodes Identity pass on.
  ir::ValueId passed_on(ir::ValueId id) const {
    while (const ir::Node* writer = subject_.writer(id, "Identity")) id = input_of(*writer, 0);
    return id != ir::ValueId::none && subject_.is_constant(id) ? id : ir::ValueId::none;
  }

  /// Of several names for one constant none takes memory.
  void take_passed_on(std::vector<ir::ValueId>& ids) {
    std::erase_if(ids, [&](ir::ValueId id) {
      const ir::ValueId source = subject_.uses().is_output(id) ? ir::ValueId::none : passed_on(id);
      if (source != ir::ValueId::none) patch_.replace_value(id, source);
      return source != ir::ValueId::none;
    });
  }

  Result<void> take_evaluated() {
    std::vector<ir::ValueId> ids = wanted();
    take_passed_on(ids);
    if (ids.empty()) return {};
    auto outputs = subject_.evaluate()(model_of(ids));
    if (!outputs) return {};  // what cannot be computed now says so when the plan runs
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (!(*outputs)[i].value.is_tensor()) continue;
      Tensor tensor = (*outputs)[i].value.tensor;
      const ElementType declared = subject_.type(ids[i]);
      if (subject_.is_exact() && is_floating(declared) && tensor.type() != declared) {
        auto converted = in_type(tensor, declared);  // unrounded runs have float64, of which nothing is used here
        if (!converted) return converted.error();
        tensor = *std::move(converted);
      }
      put(ids[i], tensor);
    }
    return {};
  }

  Subject& subject_;
  const ir::Graph& graph_;
  bool keeps_integers_;
  Draws draws_;
  std::vector<bool> known_;     ///< by value: integers that inference knows
  std::vector<bool> constant_;  ///< others that follow from constants
  ir::Patch patch_;
  std::map<std::size_t, std::vector<ir::ValueId>> outputs_;  ///< of nodes that no longer write some of them
  std::int64_t bytes_ = 0;
  const std::int64_t most_bytes_;
};

}  // namespace

void register_fold_constants(PassRegistry& registry);
void register_fold_constants(PassRegistry& registry) {
  registry.add({.name = "fold_constants",
                .stage = Stage::fold,
                .run = [](Subject& subject) { return Folding(subject, true).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
  // What the passes over integers left.
  registry.add({.name = "fold_dequantized",
                .stage = Stage::combine,
                .run = [](Subject& subject) { return Folding(subject, false).run(); },
                .is_exact = true});
}

}  // namespace onnxkit::plan
