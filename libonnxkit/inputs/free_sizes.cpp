#include "libonnxkit/inputs/free_sizes.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "checker/collector.h"
#include "checker/infer/cost.h"
#include "checker/infer/infer_registry.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/inputs/size_solver.h"

namespace onnxkit::inputs {
namespace {

using checker::Dim;
using checker::Shape;
using checker::Type;

/// Multiplications for which sizes are made smaller; the reference does them in some seconds.
constexpr double most_work = 5e8;
/// The reference takes a transposed convolution apart into ordinary ones that also multiply much padding.
constexpr std::int64_t work_of_transposed = 4;
/// What an element of a tensor costs beside a multiplication.
constexpr std::int64_t work_of_element = 16;

bool is_cache(std::string_view name) { return mentions(name, {"past", "cache"}); }
bool is_mask(std::string_view input, std::size_t rank) { return rank == 2 && mentions(input, {"mask"}); }

/// The usual sizes of the symbols in the inputs' shapes.
class UsualSizes {
 public:
  UsualSizes(const ir::DimPool& pool, std::map<std::string, std::int64_t> fixed)
      : pool_(pool), by_name_(std::move(fixed)) {}

  std::vector<FreeSize> take() { return std::move(free_); }

  void add(std::string_view input, const Shape& shape) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      for (const std::size_t index : pool_.symbols_in(shape[axis])) add(pool_.symbol(index), input, axis, shape.size());
      const bool is_length = axis > 0 && (is_cache(input) ? axis == 2 : shape.size() == 2);
      std::optional<std::int64_t>& length = is_cache(input) ? cached_ : fresh_;
      has_window_ = has_window_ || (is_length && !length && is_cache(input) && shape[axis].is_constant());
      if (is_length && !length) {
        length = pool_.evaluate(shape[axis], [&](std::string_view name) {
          const auto found = by_name_.find(std::string(name));
          return found == by_name_.end() ? std::nullopt : std::optional(found->second);
        });
      }
    }
  }

 private:
  void add(const ir::Symbol& symbol, std::string_view input, std::size_t axis, std::size_t rank) {
    const bool is_named = symbol.origin == ir::SymbolOrigin::named;
    const std::string_view name = is_named ? std::string_view(symbol.name) : std::string_view();
    const bool covers_both = cached_ && fresh_ && axis == 1 && is_mask(input, rank);
    const bool is_length = is_cache(input) && axis == 2;
    const std::int64_t size = covers_both                           ? *cached_ + *fresh_
                              : is_length && has_window_ && cached_ ? *cached_
                                                                    : usual_size(name, input, axis, rank);
    if (!by_name_.emplace(symbol.name, size).second) return;
    const bool is_hinted = covers_both || usual_size(name, "", 1, 4) != usual_size("", "", 1, 4);
    free_.push_back({symbol.name, size, is_named, is_hinted});
  }

  const ir::DimPool& pool_;
  std::map<std::string, std::int64_t> by_name_;
  std::vector<FreeSize> free_;
  std::optional<std::int64_t> cached_, fresh_;  ///< tokens whose keys are given, and new ones
  bool has_window_ = false;                     ///< the first cache has a size of its own, which the others take over
};

class SizeChooser {
 public:
  SizeChooser(const ir::Model& model, const spec::OpTable& table, std::span<const Value> given,
              const std::map<std::string, std::int64_t>& fixed, const std::function<bool()>& goes_on)
      : model_(model),
        table_(table),
        graph_(*model.graph),
        given_(given),
        fixed_(fixed),
        bound_(fixed),
        defaults_(exec::default_names(graph_)),
        settled_types_(graph_.inputs.size()),
        goes_on_(goes_on) {}

  ChosenSizes choose() {
    std::optional<SizeSolver> solver;
    // With the sizes that have one answer inference may see further.
    constexpr int most_rounds = 3;
    for (int round = 0; round < most_rounds; ++round) {
      checker::Collector unused;
      inferred_ = checker::infer_types(model_, table_, options(), unused);
      solver.emplace(inferred_.dims, free_sizes(), goes_on_);
      pose(*solver);
      solver->solve();
      // In the next round these are comparisons of constants.
      for (const std::size_t demand : solver->contradicted()) note_unmet(inferred_.demands[demand]);
      if (!take_settled(*solver) || is_over()) break;
    }
    for (const std::size_t demand : solver->unmet()) note_unmet(inferred_.demands[demand]);
    solver->shrink(work(), most_work);
    return grown(*solver);
  }

 private:
  bool is_over() const { return goes_on_ && !goes_on_(); }

  /// Null where the input is no tensor of known rank.
  const Type* type_of(const ir::ValueInfo& input) const {
    if (input.value == ir::ValueId::none) return nullptr;
    const checker::ValueInfo* info = inferred_.find(graph_, input.value);
    return info && info->type.is_tensor() && info->type.shape ? &info->type : nullptr;
  }

  std::vector<FreeSize> free_sizes() {
    UsualSizes usual(inferred_.dims, bound_);
    // A mask over what is cached and what is new is as long as both, whatever its size is called.
    for (const bool masks : {false, true}) {
      for (const ir::ValueInfo& input : graph_.inputs) {
        const Type* type = type_of(input);
        const std::string_view name = graph_.name_of(input.value);
        if (type && is_mask(name, type->shape->size()) == masks) usual.add(name, *type->shape);
      }
    }
    std::vector<FreeSize> free = usual.take();
    for (const FreeSize& size : free) {
      if (size.is_named) named_.insert(size.name);
    }
    return free;
  }

  /// Binds them for the next round; false when there are none.
  bool take_settled(const SizeSolver& solver) {
    const auto settled = solver.settled();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Type* type = type_of(graph_.inputs[i]);
      if (!type) continue;
      settled_types_[i] = Type::tensor(type->elem, *type->shape);
      for (Dim& dim : *settled_types_[i].shape) {
        if (dim.is_expression()) dim = size_in(settled, dim);
      }
    }
    for (const auto& [name, size] : settled) {
      if (named_.contains(name)) bound_.emplace(name, size);
    }
    return !settled.empty();
  }

  void note_unmet(const checker::SizeDemand& demand) {
    const char* relation = demand.relation == checker::SizeRelation::at_most ? "<=" : "=";
    std::string text = fmt::format("{} needs {} {} {}", demand.at.path(), inferred_.dims.to_string(demand.a), relation,
                                   inferred_.dims.to_string(demand.b));
    if (std::find(unmet_.begin(), unmet_.end(), text) == unmet_.end()) unmet_.push_back(std::move(text));
  }

  /// Unknown where the sizes do not tell it.
  Dim size_in(const std::map<std::string, std::int64_t>& sizes, Dim dim) const {
    const auto size = inferred_.dims.evaluate(dim, [&](std::string_view name) {
      const auto found = sizes.find(std::string(name));
      return found == sizes.end() ? std::nullopt : std::optional(found->second);
    });
    return size ? Dim(*size) : Dim();
  }

  /// What was given and what has a default have sizes already.
  checker::InferenceOptions options() const {
    checker::InferenceOptions options{.dim_values = bound_, .external_bytes = {}};
    options.demands = true;
    options.assume_defaults = true;
    options.input_types = settled_types_;
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      const bool is_given = i < given_.size() && given_[i].kind != ValueKind::none;
      const std::string_view name = graph_.name_of(graph_.inputs[i].value);
      if (is_given && given_[i].is_tensor()) {
        const Tensor& tensor = given_[i].tensor;
        options.input_types[i] = Type::tensor(tensor.type(), Shape(tensor.dims().begin(), tensor.dims().end()));
      }
      if (is_given && defaults_.contains(name)) options.assume_defaults = false;
      if (!is_given && defaults_.contains(name)) options.input_types[i] = default_type(name);
    }
    return options;
  }

  Type default_type(std::string_view name) const {
    for (const ir::Tensor& tensor : graph_.initializers) {
      const bool is_sound = std::all_of(tensor.dims.begin(), tensor.dims.end(), [](std::int64_t d) { return d >= 0; });
      if (tensor.name == name && is_sound && is_known_element_type(tensor.data_type.value_or(0)))
        return Type::tensor(static_cast<ElementType>(*tensor.data_type), Shape(tensor.dims.begin(), tensor.dims.end()));
    }
    return {};
  }

  void pose(SizeSolver& solver) const {
    using Weight = SizeSolver::Weight;
    for (std::size_t i = 0; i < inferred_.demands.size(); ++i) {
      const checker::SizeDemand& demand = inferred_.demands[i];
      const bool is_certain = !demand.in_body && demand.at.node;
      solver.demand(demand.relation, demand.a, demand.b, is_certain ? Weight::must : Weight::perhaps, i);
    }
    std::set<std::string> posed;
    for (const auto& [graph, info] : inferred_.graphs) {
      for (const checker::ValueInfo& value : info.values) {
        if (!value.type.shape) continue;
        for (const Dim size : *value.type.shape) {
          if (!size.is_expression() || inferred_.dims.lower_bound(size).value_or(0) >= 1) continue;
          if (posed.insert(inferred_.dims.to_string(size)).second)
            solver.demand(checker::SizeRelation::at_most, 1, size, Weight::wish, 0);
        }
      }
    }
  }

  /// Of each node of the main graph.
  std::vector<Dim> work() {
    const auto info = inferred_.graphs.find(&graph_);
    std::vector<Dim> work;
    if (info == inferred_.graphs.end()) return work;
    ir::DimPool& dims = inferred_.dims;
    for (const ir::Node& node : graph_.nodes) {
      const checker::NodeShapes shapes(node, info->second, dims);
      const auto& traits = checker::traits_of(node, model_.opset_imports, table_);
      const bool is_transposed = traits.cost == &checker::cost::transposed_convolution;
      work.push_back(
          dims.mul(checker::multiply_adds(traits, node, info->second, dims), is_transposed ? work_of_transposed : 1));
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        work.push_back(dims.mul(shapes.elements(shapes.output(i)), work_of_element));
    }
    std::erase_if(work, [](Dim part) { return !part.is_expression(); });
    return work;
  }

  bool is_open_axis(const ir::ValueInfo& input, std::size_t axis) const {
    const bool is_declared = input.type && input.type->shape && axis < input.type->shape->dims.size();
    if (!is_declared || defaults_.contains(graph_.name_of(input.value))) return false;
    const auto index = static_cast<std::size_t>(&input - graph_.inputs.data());
    if (index < given_.size() && given_[index].kind != ValueKind::none) return false;
    const ir::DeclaredDim& dim = input.type->shape->dims[axis];
    return !dim.size() && (dim.param.empty() || dim.param.view() == "?");
  }

  /// Greater sizes where with these a node fails or a tensor is empty, which symbols do not always tell.
  ChosenSizes grown(SizeSolver& solver) {
    constexpr int most_steps = 6;
    ChosenSizes best = result(solver);
    if (solver.sizes().empty() || is_over()) return best;
    std::size_t least = faults(best);
    for (int step = 0; least > 0 && step < most_steps && !is_over(); ++step) {
      const auto before = solver.sizes();
      solver.grow();
      if (solver.sizes() == before) break;
      ChosenSizes next = result(solver);
      const std::size_t found = faults(next);
      if (found >= least) continue;
      least = found;
      best = std::move(next);
    }
    return best;
  }

  /// Errors that inference finds with these sizes, and axes of size 0.
  std::size_t faults(const ChosenSizes& sizes) const {
    checker::Collector findings;
    checker::InferenceOptions options = this->options();
    options.demands = false;
    options.dim_values = sizes.by_name;
    options.input_types = sizes.input_types;
    const checker::InferredModel model = checker::infer_types(model_, table_, options, findings);
    std::size_t count = findings.error_count();
    const auto info = model.graphs.find(&graph_);
    if (info == model.graphs.end()) return count;
    for (const checker::ValueInfo& value : info->second.values) {
      if (!value.type.shape) continue;
      count += static_cast<std::size_t>(
          std::count_if(value.type.shape->begin(), value.type.shape->end(), [](Dim size) { return size.is(0); }));
    }
    return count;
  }

  ChosenSizes result(const SizeSolver& solver) {
    ChosenSizes chosen{.by_name = fixed_, .input_types = {}, .chosen = {}, .chose_named = !named_.empty(), .unmet = {}};
    const auto sizes = solver.sizes();
    chosen.by_name.insert(bound_.begin(), bound_.end());
    chosen.by_name.insert(sizes.begin(), sizes.end());
    for (const auto& [name, size] : chosen.by_name) {
      if (named_.contains(name)) chosen.chosen.push_back(fmt::format("{} = {}", name, size));
    }
    for (const ir::ValueInfo& input : graph_.inputs) {
      const Type* type = type_of(input);
      Type& concrete = chosen.input_types.emplace_back(type ? *type : Type());
      for (std::size_t axis = 0; concrete.shape && axis < concrete.shape->size(); ++axis) {
        Dim& dim = (*concrete.shape)[axis];
        if (dim.is_expression()) dim = size_in(chosen.by_name, dim);
        if (is_open_axis(input, axis) && dim.is_constant())
          chosen.chosen.push_back(
              fmt::format("axis {} of input {} = {}", axis, quote(graph_.name_of(input.value)), dim.constant()));
      }
    }
    chosen.unmet = unmet_;
    return chosen;
  }

  const ir::Model& model_;
  const spec::OpTable& table_;
  const ir::Graph& graph_;
  const std::span<const Value> given_;
  const std::map<std::string, std::int64_t>& fixed_;
  std::map<std::string, std::int64_t> bound_;  ///< fixed ones, and named ones that have one answer
  const std::set<std::string_view> defaults_;
  std::vector<Type> settled_types_;  ///< of inputs, as far as their sizes have one answer; else with unknown sizes
  checker::InferredModel inferred_;
  std::set<std::string> named_;  ///< free sizes that the model names
  std::vector<std::string> unmet_;
  const std::function<bool()>& goes_on_;
};

}  // namespace

bool mentions(std::string_view name, std::initializer_list<std::string_view> words) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return lower.find(w) != std::string::npos; });
}

namespace {

/// [layers and directions, batch, hidden size] of a recurrent network, not the hidden states of a transformer.
bool is_recurrent_state(std::string_view input, std::size_t rank) {
  if (rank != 3 || mentions(input, {"states", "encoder"})) return false;
  return input == "h" || input == "c" || mentions(input, {"state", "hidden", "h0", "c0", "h_0", "c_0"});
}

}  // namespace

std::int64_t usual_size(std::string_view name, std::string_view input, std::size_t axis, std::size_t rank) {
  if (mentions(name, {"batch"})) return 1;
  if (is_cache(name)) return 4;
  if (mentions(name, {"seq", "len", "time", "token"})) return 8;
  if (mentions(name, {"height", "width"})) return 64;
  if (axis == 0 || (axis == 1 && is_recurrent_state(input, rank))) return 1;
  if (is_cache(input)) return 4;
  return rank >= 4 && axis >= 2 ? 64 : rank == 3 || rank == 2 ? 8 : 3;
}

ChosenSizes choose_sizes(const ir::Model& model, const spec::OpTable& table, std::span<const Value> given,
                         const std::map<std::string, std::int64_t>& fixed, const std::function<bool()>& goes_on) {
  return SizeChooser(model, table, given, fixed, goes_on).choose();
}

}  // namespace onnxkit::inputs
