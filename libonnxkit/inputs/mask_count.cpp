#include "libonnxkit/inputs/mask_count.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/inputs/readers.h"
#include "libonnxkit/inputs/size_solver.h"

namespace onnxkit::inputs {
namespace {

using checker::Dim;
using checker::InputRole;
using checker::Role;
using checker::SizeDemand;
using ir::ValueId;

/// Beyond it not every number is tried.
constexpr std::int64_t most_elements = 1 << 12;

class MaskCounter {
 public:
  MaskCounter(const ir::Model& model, const spec::OpTable& table, const checker::InferredModel& inferred)
      : model_(model),
        table_(table),
        inferred_(inferred),
        readers_(model, [this](const Reader& reader) { read(reader); }) {}

  std::optional<MaskCount> count(ValueId input) {
    const auto elements = elements_of(*model_.graph, input);
    if (!elements || *elements < 1 || *elements > most_elements) return std::nullopt;
    elements_ = *elements;
    readers_.follow(*model_.graph, model_.opset_imports, input, "main");
    if (times_.empty()) return std::nullopt;
    for (const SizeDemand& demand : inferred_.demands) {
      if (!demand.in_body && demand.at.node) choose_among(demand);
    }
    return first_ && !allowed_.empty() ? std::optional(MaskCount{allowed_.back(), first_->at.path()}) : std::nullopt;
  }

 private:
  void read(const Reader& reader) {
    for (const InputRole& role : checker::traits_of(reader.node, reader.opsets, table_).inputs) {
      if (role.input != reader.input) continue;
      if (role.role == Role::moved) {
        for (const ValueId output : reader.node.outputs)
          readers_.follow(reader.graph, reader.opsets, output, reader.where);
      }
      if (role.role == Role::counted) take(reader);
    }
  }

  std::optional<std::int64_t> elements_of(const ir::Graph& graph, ValueId id) const {
    const checker::ValueInfo* info = id == ValueId::none ? nullptr : inferred_.find(graph, id);
    if (!info || !info->type.shape) return std::nullopt;
    std::vector<std::int64_t> sizes;
    for (const Dim size : *info->type.shape) {
      if (!size.is_constant()) return std::nullopt;
      sizes.push_back(size.constant());
    }
    return checked_element_count(sizes);
  }

  /// On the way a mask may have been stretched.
  void take(const Reader& reader) {
    const auto elements = elements_of(reader.graph, reader.node.inputs[reader.input]);
    if (!elements || *elements % elements_ != 0 || reader.node.outputs.empty()) return;
    const checker::ValueInfo* found = inferred_.find(reader.graph, reader.node.outputs[0]);
    if (!found || !found->type.shape) return;
    for (const Dim size : *found->type.shape) {
      const auto symbols = inferred_.dims.symbols_in(size);
      if (symbols.size() == 1) times_.emplace(inferred_.dims.symbol(symbols.front()).name, *elements / elements_);
    }
  }

  std::optional<std::int64_t> size(Dim dim, std::int64_t count) const {
    return inferred_.dims.evaluate(dim, [&](std::string_view name) {
      const auto found = times_.find(std::string(name));
      return found == times_.end() ? std::nullopt : std::optional(count * found->second);
    });
  }

  /// Keeps the numbers that meet the demand; one that none of them meets is ignored.
  void choose_among(const SizeDemand& demand) {
    std::vector<std::int64_t> meet;
    for (std::int64_t count = 0; count <= elements_; ++count) {
      const auto a = size(demand.a, count), b = size(demand.b, count);
      if (!a || !b) return;
      if (holds(demand.relation, *a, *b)) meet.push_back(count);
    }
    if (meet.empty() || std::cmp_greater(meet.size(), elements_)) return;
    if (!first_) {
      first_ = &demand;
      allowed_ = std::move(meet);
      return;
    }
    std::vector<std::int64_t> both;
    std::set_intersection(allowed_.begin(), allowed_.end(), meet.begin(), meet.end(), std::back_inserter(both));
    if (!both.empty()) allowed_ = std::move(both);
  }

  const ir::Model& model_;
  const spec::OpTable& table_;
  const checker::InferredModel& inferred_;
  Readers readers_;
  std::int64_t elements_ = 1;
  std::map<std::string, std::int64_t> times_;  ///< symbols of sizes, in true elements of the mask
  const SizeDemand* first_ = nullptr;          ///< that not every number meets
  std::vector<std::int64_t> allowed_;          ///< ascending
};

}  // namespace

std::optional<MaskCount> mask_count(const ir::Model& model, const spec::OpTable& table,
                                    const checker::InferredModel& inferred, ValueId input) {
  return MaskCounter(model, table, inferred).count(input);
}

}  // namespace onnxkit::inputs
