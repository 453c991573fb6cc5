#include "converters/formats/aten/older_calls.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::aten {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::TensorType;
using foreign::ValueId;

using GivenText = std::function<std::string(std::string_view)>;

/// Null where it is not declared.
const TensorType* type_of(const Graph& graph, const Node& node, std::string_view name) {
  const Argument* argument = node.find(name);
  const auto* id = argument ? argument->as<ValueId>() : nullptr;
  if (!id || *id == ValueId::none) return nullptr;
  const auto& type = graph.values[index_of(*id)].type;
  return type ? &*type : nullptr;
}

std::optional<std::size_t> rank_of(const TensorType* type) {
  return type && type->shape ? std::optional(type->shape->size()) : std::nullopt;
}

bool says(const Node& node, std::string_view name, std::string_view text) {
  const Argument* argument = node.find(name);
  const auto* held = argument ? argument->as<std::string_view>() : nullptr;
  return held && *held == text;
}

std::string older_gelu(const Graph&, const Node& node, const GivenText& given) {
  if (!node.find("approximate")) return {};
  const std::string x = given("self");
  const std::string cube = fmt::format("torch.add({0}, torch.mul(torch.pow({0}, 3), 0.044715))", x);
  return fmt::format("torch.mul(torch.mul({}, 0.5), torch.add(torch.tanh(torch.mul({}, 0.7978845608028654)), 1))", x,
                     cube);
}

std::string older_mish(const Graph&, const Node&, const GivenText& given) {
  return fmt::format("torch.mul({0}, torch.tanh(torch.softplus({0})))", given("self"));
}

/// Its kernels on the CPU keep the order of equal elements.
std::string older_stable_sort(const Graph&, const Node&, const GivenText& given) {
  return fmt::format("torch.sort({}, dim={}, descending={})", given("self"), given("dim"), given("descending"));
}

/// There are losses for one class per element of a batch, and for pictures, which the other ranks are laid out as.
std::string older_nll_loss(const Graph& graph, const Node& node, const GivenText& given) {
  const auto rank = rank_of(type_of(graph, node, "self"));
  if (!rank) return {};
  const std::string rest = fmt::format("weight={}, reduction={}, ignore_index={}", given("weight"), given("reduction"),
                                       given("ignore_index"));
  const std::string x = given("self"), target = given("target");
  if (*rank == 2) return fmt::format("torch.nll_loss({}, target={}, {})", x, target, rest);
  if (*rank == 4) return fmt::format("torch.nll_loss2d({}, target={}, {})", x, target, rest);
  if (*rank < 2) return {};
  const std::string flat = fmt::format(
      "torch.nll_loss2d(torch.unsqueeze(torch.flatten({}, 2), 2), "
      "target=torch.unsqueeze(torch.flatten({}, 1), 1), {})",
      x, target, rest);
  const Argument* reduction = node.find("reduction");
  const auto* number = reduction ? reduction->as<std::int64_t>() : nullptr;
  return number && *number == 0 ? fmt::format("torch.view_as({}, {})", flat, target) : flat;
}

/// Bits that leave the number, and counts below 0, are undefined there: all bits leave it then.
std::string older_shift(const Graph& graph, const Node& node, const GivenText& given) {
  const TensorType* type = type_of(graph, node, "self");
  const auto bits = type ? packed_size(type->elem, 8) : std::nullopt;  // as many as bytes of eight elements
  if (!bits) return {};
  const std::uint64_t last = *bits - 1;
  const std::string x = given("self"), count = given("other");
  const std::string in_range =
      fmt::format("torch.where(torch.logical_or(torch.lt({0}, 0), torch.gt({0}, {1})), torch.full_like({0}, {1}), {0})",
                  count, last);
  if (node.op == "aten.bitwise_right_shift.Tensor") return fmt::format("torch.__rshift__({}, {})", x, in_range);
  return fmt::format(
      "torch.mul(torch.__lshift__({0}, {1}), torch.to(torch.logical_and(torch.ge({2}, 0), torch.le({2}, {3})), {0}))",
      x, in_range, count, last);
}

std::string older_pad(const Graph& graph, const Node& node, const GivenText& given) {
  const auto rank = rank_of(type_of(graph, node, "self"));
  const std::string_view name = says(node, "mode", "replicate") ? "replication" : "reflection";
  const bool is_known = name == "replication" || says(node, "mode", "reflect");
  if (!rank || !is_known || *rank < 3 || *rank > (name == "replication" ? 5U : 4U)) return {};
  return fmt::format("torch.{}_pad{}d({}, padding={})", name, *rank - 2, given("self"), given("pad"));
}

std::string older_scatter_sum(const Graph&, const Node& node, const GivenText& given) {
  if (!says(node, "reduce", "sum")) return {};
  return fmt::format("torch.scatter_add({}, dim={}, index={}, src={})", given("self"), given("dim"), given("index"),
                     given("src"));
}

/// The greatest number stands for no start at all there.
std::string older_slice(const Graph&, const Node& node, const GivenText& given) {
  const Argument* start = node.find("start");
  const auto* number = start ? start->as<std::int64_t>() : nullptr;
  if (!number || *number != std::numeric_limits<std::int64_t>::max()) return {};
  return fmt::format("torch.slice({}, dim={}, start={}, end={}, step={})", given("self"), given("dim"), *number - 1,
                     given("end"), given("step"));
}

}  // namespace

std::string older_call(const Graph& graph, const Node& node, const GivenText& given) {
  using Older = std::string (*)(const Graph&, const Node&, const GivenText&);
  constexpr std::pair<std::string_view, Older> rows[] = {
      {"aten.gelu.default", older_gelu},
      {"aten.mish.default", older_mish},
      {"aten.sort.stable", older_stable_sort},
      {"aten.nll_loss_nd.default", older_nll_loss},
      {"aten.bitwise_left_shift.Tensor", older_shift},
      {"aten.bitwise_right_shift.Tensor", older_shift},
      {"aten.pad.default", older_pad},
      {"aten.scatter_reduce.two", older_scatter_sum},
      {"aten.slice.Tensor", older_slice},
  };
  for (const auto& [op, older] : rows)
    if (op == node.op) return older(graph, node, given);
  return {};
}

}  // namespace onnxkit::aten
