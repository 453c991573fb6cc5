#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checker/infer/cost.h"

// What operators multiply and add, by the shapes of their inputs and outputs.
namespace onnxkit::checker::cost {
namespace {

Dim at(const Shape* shape, std::size_t axis) { return shape && axis < shape->size() ? (*shape)[axis] : Dim(); }

Dim convolved(const NodeShapes& node, std::size_t weight) {
  return node.dims().mul(node.elements(node.output(0)), node.elements(node.input(weight), 1));
}

std::int64_t integer(const NodeShapes& node, std::string_view name, std::int64_t fallback) {
  const ir::Attribute* attribute = node.node().find_attribute(name);
  const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
  return value ? *value : fallback;
}

bool is_set(const NodeShapes& node, std::string_view name) { return integer(node, name, 0) != 0; }

bool is_given(const NodeShapes& node, std::size_t input) {
  return input < node.node().inputs.size() && node.node().inputs[input] != ir::ValueId::none;
}

/// Positions of keys in a cache [.., heads, positions, size], 0 without one.
Dim cached(const NodeShapes& node, std::size_t input, std::size_t axis) {
  return is_given(node, input) ? at(node.input(input), axis) : Dim(0);
}

/// Products of queries with keys and of their scores with values, whose elements are those of the result. `queries`: their elements.
Dim attended(const NodeShapes& node, Dim queries, Dim keys) {
  DimPool& dims = node.dims();
  return dims.mul(dims.add(queries, node.elements(node.output(0))), keys);
}

/// "ij,...k" as terms of letters, '.' for an ellipsis.
std::vector<std::string> terms_of(std::string_view equation) {
  std::vector<std::string> terms(1);
  for (std::size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == ',')
      terms.emplace_back();
    else if (equation.substr(i, 3) == "...")
      terms.back() += '.', i += 2;
    else if (equation[i] != ' ')
      terms.back() += equation[i];
  }
  return terms;
}

/// Sizes of the letters of a term; those in front of an ellipsis count from the first axis, the others from the last.
void add_sizes(const std::string& term, const Shape* shape, std::map<char, Dim>& sizes) {
  if (!shape) return;
  const std::size_t ellipsis = term.find('.');
  for (std::size_t i = 0; i < term.size(); ++i) {
    const std::size_t from_end = term.size() - i;
    if (i == ellipsis || (i > ellipsis && from_end > shape->size())) continue;
    const Dim size = at(shape, i < ellipsis ? i : shape->size() - from_end);
    const auto [known, is_new] = sizes.try_emplace(term[i], size);
    if (!is_new && (known->second.is_unknown() || known->second.is(1))) known->second = size;
  }
}

}  // namespace

Dim convolution(const NodeShapes& node) { return convolved(node, 1); }

Dim quantized_convolution(const NodeShapes& node) { return convolved(node, 3); }

Dim transposed_convolution(const NodeShapes& node) {
  return node.dims().mul(node.elements(node.input(0)), node.elements(node.input(1), 1));
}

Dim matmul(const NodeShapes& node) {
  const Shape* a = node.input(0);
  const bool is_transposed = is_set(node, "transA") && a && a->size() > 1;
  const Dim depth = !a || a->empty() ? Dim() : (*a)[a->size() - (is_transposed ? 2 : 1)];
  return node.dims().mul(node.elements(node.output(0)), depth);
}

Dim gemm(const NodeShapes& node) {
  return node.dims().mul(node.elements(node.output(0)), at(node.input(0), is_set(node, "transA") ? 0 : 1));
}

/// X is [steps, batch, features]; W is [directions, gates * hidden, features], R [directions, gates * hidden, hidden].
Dim recurrent(const NodeShapes& node) {
  const Dim cells = node.dims().mul(at(node.input(0), 0), at(node.input(0), 1));
  const Dim weights = node.dims().add(node.elements(node.input(1)), node.elements(node.input(2)));
  return node.dims().mul(cells, weights);
}

/// Of two operands, for each element of the result what the letters stand for that it lacks. Of more, the order is the runtime's.
Dim einsum(const NodeShapes& node) {
  const ir::Attribute* attribute = node.node().find_attribute("equation");
  const auto* equation = attribute ? attribute->as<Text>() : nullptr;
  if (!equation || node.node().inputs.size() > 2) return {};
  if (node.node().inputs.size() < 2) return 0;
  const std::string_view text = equation->view();
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = terms_of(text.substr(0, arrow));
  if (terms.size() != 2) return {};
  std::map<char, Dim> sizes;
  for (std::size_t i = 0; i < terms.size(); ++i) add_sizes(terms[i], node.input(i), sizes);
  Dim total = node.elements(node.output(0));
  for (const auto& [letter, size] : sizes) {
    const auto occurrences = [&, letter = letter](const std::string& term) {
      return std::count(term.begin(), term.end(), letter);
    };
    const bool stays = arrow == std::string::npos ? occurrences(terms[0]) + occurrences(terms[1]) == 1
                                                  : text.find(letter, arrow) != std::string::npos;
    if (!stays) total = node.dims().mul(total, size);
  }
  return total;
}

/// Q, K, V and a cache of K in front of it: [batch, length, heads * size] or [batch, heads, length, size].
Dim attention(const NodeShapes& node) {
  const Shape* key = node.input(1);
  const Dim keys = node.dims().add(at(key, key && key->size() == 4 ? 2 : 1), cached(node, 4, 2));
  return attended(node, node.elements(node.input(0)), keys);
}

Dim flex_attention(const NodeShapes& node) {
  return attended(node, node.elements(node.input(0)), at(node.input(1), 2));
}

/// States [keys, values] that each position writes to and reads from, and with a rate reads twice. Values and results are [batch, length, heads * size].
Dim linear_attention(const NodeShapes& node) {
  const ir::Attribute* rule = node.node().find_attribute("update_rule");
  const auto* text = rule ? rule->as<Text>() : nullptr;
  const bool has_rate = !text || text->view() == "delta" || text->view() == "gated_delta";
  DimPool& dims = node.dims();
  const std::int64_t heads = integer(node, "q_num_heads", 0);
  if (heads < 1) return {};
  const Dim keys = dims.floor_div(at(node.input(0), 2), heads);
  const Dim written = dims.mul(node.elements(node.input(2)), has_rate ? 2 : 1);
  return dims.mul(dims.add(written, node.elements(node.output(0))), keys);
}

/// Of com.microsoft: queries [batch, length, size] or with keys and values packed behind them, whose elements are then those of the result; keys
/// [batch, length, size] or [batch, heads, length, size].
Dim multi_head_attention(const NodeShapes& node) {
  constexpr std::size_t past_key = 6;
  const Shape *query = node.input(0), *key = node.input(1);
  const Dim new_keys = !is_given(node, 1) ? at(query, 1) : at(key, key && key->size() == 4 ? 2 : 1);
  const bool is_plain = query && query->size() == 3;
  const Dim queries = node.elements(is_plain ? query : node.output(0));
  return attended(node, queries, node.dims().add(new_keys, cached(node, past_key, 2)));
}

/// Of com.microsoft: as many keys as the present ones have places for.
Dim group_query_attention(const NodeShapes& node) {
  return attended(node, node.elements(node.output(0)), at(node.output(1), 2));
}

/// Of com.microsoft: the input times the weights of queries, keys and values, then the attention.
template <std::size_t past>
Dim projected_attention(const NodeShapes& node) {
  DimPool& dims = node.dims();
  if (node.node().find_attribute("qkv_hidden_sizes")) return {};
  const Dim projected = dims.mul(node.elements(node.input(0)), at(node.input(1), 1));
  const Dim keys = dims.add(at(node.input(0), 1), cached(node, past, 3));
  return dims.add(projected, attended(node, node.elements(node.output(0)), keys));
}
template Dim projected_attention<4>(const NodeShapes& node);
template Dim projected_attention<8>(const NodeShapes& node);

/// Of com.microsoft: both layers [experts, outputs, inputs] of the experts that each row takes; those of QMoE are packed along the inputs.
template <std::size_t second>
Dim mixture_of_experts(const NodeShapes& node) {
  constexpr std::size_t first = 2;
  constexpr bool is_packed = second != first + 2;
  DimPool& dims = node.dims();
  const std::int64_t chosen = integer(node, "k", 1), bits = integer(node, "expert_weight_bits", 4);
  const bool has_bits = bits == 4 || bits == 8;
  if (is_given(node, is_packed ? second + 3 : second + 2) || chosen < 1 || (is_packed && !has_bits)) return {};
  const Dim inner = dims.mul(at(node.input(second), 2), is_packed ? 8 / bits : 1);
  const Dim widths = dims.add(at(node.input(first), 1), inner);
  return dims.mul(dims.mul(node.elements(node.input(0)), widths), chosen);
}
template Dim mixture_of_experts<4>(const NodeShapes& node);
template Dim mixture_of_experts<5>(const NodeShapes& node);

Dim unknown(const NodeShapes&) { return {}; }

}  // namespace onnxkit::checker::cost
