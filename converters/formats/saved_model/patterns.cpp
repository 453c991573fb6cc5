#include "converters/formats/saved_model/patterns.h"

#include <algorithm>
#include <numeric>

#include "converters/formats/saved_model/graph_index.h"

namespace onnxkit::saved_model {
namespace {

using Numbers = std::vector<std::int64_t>;

Argument list_argument_of(const Numbers& numbers, std::string_view name) {
  Argument::List list;
  for (const std::int64_t number : numbers) list.push_back({number});
  return {std::move(list), name};
}

// ---- dilations

/// The nodes between two exchanges of space and batches; an axis may have been added around a convolution over one axis.
struct Dilation {
  Node *spread = nullptr, *expand = nullptr, *convolution = nullptr, *squeeze = nullptr;
};

std::optional<Dilation> find_dilation(GraphIndex& index, const Node& gather) {
  Dilation found;
  ValueId value = given_value(gather, "input");
  found.squeeze = index.only_writer(value, "Squeeze");
  if (found.squeeze) value = given_value(*found.squeeze, "input");
  found.convolution = index.only_writer(value, "Conv2D");
  if (!found.convolution) return std::nullopt;
  value = given_value(*found.convolution, "input");
  found.expand = found.squeeze ? index.only_writer(value, "ExpandDims") : nullptr;
  if (found.squeeze && !found.expand) return std::nullopt;
  if (found.expand) value = given_value(*found.expand, "input");
  found.spread = index.only_writer(value, "SpaceToBatchND");
  return found.spread ? std::optional(found) : std::nullopt;
}

/// Whether the axis that was added is that of the height.
bool adds_height(GraphIndex& index, const Node& expand) {
  const auto axis = index.integers(given_value(expand, "dim"));
  return axis && axis->size() == 1 && (axis->front() == 1 || axis->front() == -3);
}

bool joined_dilation(GraphIndex& index, Node& gather) {
  const auto found = find_dilation(index, gather);
  if (!found || given_text(*found->convolution, "padding") != "VALID" || !are_ones(*found->convolution, "strides") ||
      !are_ones(*found->convolution, "dilations") || given_text(*found->convolution, "data_format").starts_with("NC"))
    return false;
  const auto blocks = index.integers(given_value(gather, "block_shape")),
             crops = index.integers(given_value(gather, "crops"));
  const auto spread = index.integers(given_value(*found->spread, "block_shape")),
             pads = index.integers(given_value(*found->spread, "paddings"));
  const std::size_t axes = found->expand ? 1 : 2;
  if (!blocks || !crops || !spread || !pads || *blocks != *spread || blocks->size() != axes ||
      crops->size() != 2 * axes || pads->size() != 2 * axes || (found->expand && !adds_height(index, *found->expand)))
    return false;
  Numbers dilations(4, 1), explicit_pads(8, 0);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::size_t axis = a + (found->expand ? 2 : 1);
    dilations[axis] = (*blocks)[a];
    for (const std::size_t side : {0, 1})
      explicit_pads[2 * axis + side] = (*pads)[2 * a + side] - (*crops)[2 * a + side];
  }
  if (std::any_of(explicit_pads.begin(), explicit_pads.end(), [](std::int64_t pad) { return pad < 0; })) return false;
  Node& convolution = *found->convolution;
  set_argument(convolution, list_argument_of(dilations, "dilations"));
  set_argument(convolution, list_argument_of(explicit_pads, "explicit_paddings"));
  set_argument(convolution, {std::string_view("EXPLICIT"), "padding"});
  Node& first = found->expand ? *found->expand : convolution;
  const ValueId x = given_value(*found->spread, "input");
  for (Argument& argument : first.arguments)
    if (argument.name == "input") argument.content = x;
  index.take_results(found->squeeze ? *found->squeeze : convolution, gather);
  return true;
}

// ---- products

/// The numbers of a list of constants one behind the other, which a node may join.
std::optional<Numbers> joined_numbers(GraphIndex& index, ValueId value) {
  if (const auto known = index.integers(value)) return known;
  const Node* concat = index.writer(value, "ConcatV2");
  const Argument* parts = concat ? concat->find("values") : nullptr;
  const auto* list = parts ? parts->as<Argument::List>() : nullptr;
  if (!list) return std::nullopt;
  Numbers all;
  for (const Argument& part : *list) {
    const auto numbers = part.as<ValueId>() ? index.integers(*part.as<ValueId>()) : std::nullopt;
    if (!numbers) return std::nullopt;
    all.insert(all.end(), numbers->begin(), numbers->end());
  }
  return all;
}

bool counts_axes(const Numbers& numbers) {
  Numbers axes(numbers.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes == numbers;
}

/// The number of axes of x if a shape is that of x with another size for the last axis.
std::optional<std::size_t> rank_of_product(GraphIndex& index, ValueId shape, ValueId x, std::int64_t columns) {
  const Node* concat = index.writer(shape, "ConcatV2");
  const Argument* parts = concat ? concat->find("values") : nullptr;
  const auto* list = parts ? parts->as<Argument::List>() : nullptr;
  if (!list || list->size() != 2 || !(*list)[0].as<ValueId>() || !(*list)[1].as<ValueId>()) return std::nullopt;
  const Node* kept = index.writer(*(*list)[0].as<ValueId>(), "GatherV2");
  const Node* sizes = kept ? index.writer(given_value(*kept, "params"), "Shape") : nullptr;
  const auto axes = kept ? index.integers(given_value(*kept, "indices")) : std::nullopt;
  if (!sizes || given_value(*sizes, "input") != x || !axes || !counts_axes(*axes) ||
      index.integers(*(*list)[1].as<ValueId>()) != Numbers{columns})
    return std::nullopt;
  return axes->size() + 1;
}

bool joined_product(GraphIndex& index, Node& last) {
  Node* product = index.only_writer(given_value(last, "tensor"), "MatMul");
  if (!product || given_flag(*product, "transpose_a") || given_flag(*product, "transpose_b")) return false;
  Node* rows = index.only_writer(given_value(*product, "a"), "Reshape");
  const foreign::Tensor* weights = index.tensor(given_value(*product, "b"));
  if (!rows || !weights || weights->dims.size() != 2) return false;
  ValueId x = given_value(*rows, "tensor");
  std::optional<std::size_t> moved;
  if (const Node* transpose = index.writer(x, "Transpose")) {
    const auto order = joined_numbers(index, given_value(*transpose, "perm"));
    if (order && counts_axes(*order)) {
      x = given_value(*transpose, "x");
      moved = order->size();
    }
  }
  const auto rank = rank_of_product(index, given_value(last, "shape"), x, weights->dims[1]);
  if (!rank || (moved && *moved != *rank)) return false;
  const bool is_picture = *rank == 4;
  product->arguments.clear();
  if (is_picture) {
    product->op = "Conv2D";
    const Numbers dims = {1, 1, weights->dims[0], weights->dims[1]};
    product->arguments.push_back({x, "input"});
    product->arguments.push_back({index.add_view(*weights, dims), "filter"});
    product->arguments.push_back({std::string_view("VALID"), "padding"});
  } else {
    product->op = "BatchMatMulV2";
    product->arguments.push_back({x, "x"});
    product->arguments.push_back({weights->value, "y"});
  }
  index.take_results(*product, last);
  return true;
}

/// Joins what begins at the last node of a group; nodes that lost their results go.
template <class Join>
void join_groups(Graph& graph, std::string_view last, Join join) {
  GraphIndex index(graph);
  bool any = false;
  for (Node& node : graph.nodes)
    if (node.op == last && node.outputs.size() == 1) any = join(index, node) || any;
  if (any) std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
}

}  // namespace

void join_dilations(Graph& graph) {
  join_groups(graph, "BatchToSpaceND", joined_dilation);
  for_each_body(graph, join_dilations);
}

void join_products(Graph& graph) {
  join_groups(graph, "Reshape", joined_product);
  for_each_body(graph, join_products);
}

}  // namespace onnxkit::saved_model
