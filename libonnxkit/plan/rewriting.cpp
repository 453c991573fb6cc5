#include "libonnxkit/plan/rewriting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/node_attributes.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::plan {
namespace {

const ir::Node* writer_of(const Subject& subject, ir::ValueId id) {
  const std::int32_t at = subject.uses().producer(id);
  return at < 0 ? nullptr : &subject.graph().nodes[static_cast<std::size_t>(at)];
}

/// The input that is no scalar and the scalar, of a node with both; `is_first` tells that the scalar comes first.
struct ScalarInput {
  WithScalar found;
  bool is_first = false;
};
std::optional<ScalarInput> scalar_input(const Subject& subject, const ir::Node& node, ir::ValueId result) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (const std::size_t at : {1U, 0U}) {
    const auto scalar = subject.scalar(node.inputs[at]);
    if (!scalar) continue;
    const ir::ValueId other = node.inputs[1 - at];
    // A scalar of many axes gives the result more of them.
    if (!subject.same_shape(other, result)) return std::nullopt;
    return ScalarInput{{other, *scalar}, at == 0};
  }
  return std::nullopt;
}

constexpr int deepest_polynomial = 6;

Polynomial product(const Polynomial& a, const Polynomial& b, bool& fits) {
  Polynomial result = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      if (a[i] == 0 || b[k] == 0) continue;
      if (i + k < result.size())
        result[i + k] += a[i] * b[k];
      else
        fits = false;
    }
  }
  return result;
}

std::optional<Polynomial> polynomial(const Subject& subject, ir::ValueId x, ir::ValueId id, int depth) {
  if (id == x) return Polynomial{0, 1, 0, 0};
  if (const auto scalar = subject.scalar(id)) return Polynomial{*scalar, 0, 0, 0};
  const ir::Node* node = writer_of(subject, id);
  if (!node || depth == 0 || !ir::canonical_domain(node->domain).empty()) return std::nullopt;
  const std::string_view op = node->op_type.view();
  const bool is_power = op == "Pow", is_sum = op == "Add" || op == "Sub", is_product = op == "Mul" || op == "Div";
  if (node->inputs.size() != 2 || (!is_power && !is_sum && !is_product)) return std::nullopt;
  const auto left = polynomial(subject, x, node->inputs[0], depth - 1);
  const auto right = left ? polynomial(subject, x, node->inputs[1], depth - 1) : std::nullopt;
  if (!right) return std::nullopt;
  Polynomial result = *left;
  bool fits = true;
  const bool is_constant = (*right)[1] == 0 && (*right)[2] == 0 && (*right)[3] == 0;
  if (is_sum) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += (op == "Add" ? 1 : -1) * (*right)[i];
  } else if (op == "Mul") {
    result = product(*left, *right, fits);
  } else if (!is_constant) {
    return std::nullopt;
  } else if (op == "Div") {
    for (double& coefficient : result) coefficient /= (*right)[0];
  } else {
    const double power = (*right)[0];
    if (power != 1 && power != 2 && power != 3) return std::nullopt;
    for (int i = 1; i < static_cast<int>(power); ++i) result = product(result, *left, fits);
  }
  return fits ? std::optional(result) : std::nullopt;
}

/// The base where the value is a power of this exponent, and has the sizes of the base: an exponent of many axes gives it more.
std::optional<ir::ValueId> base_of_power(const Subject& subject, ir::ValueId id, double exponent) {
  const ir::Node* power = subject.writer(id, "Pow");
  if (!power || power->inputs.size() != 2 || subject.scalar(power->inputs[1]) != exponent) return std::nullopt;
  return subject.same_shape(id, power->inputs[0]) ? std::optional(power->inputs[0]) : std::nullopt;
}

/// r where the value is the square root of r.
std::optional<ir::ValueId> under_root(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* root = subject.writer(id, "Sqrt")) return input_of(*root, 0);
  return base_of_power(subject, id, 0.5);
}

/// r where the value is 1 / sqrt(r).
std::optional<ir::ValueId> under_inverse_root(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* inverse = subject.writer(id, "Reciprocal")) return under_root(subject, input_of(*inverse, 0));
  if (const ir::Node* root = subject.writer(id, "Sqrt")) {
    if (const ir::Node* inverse = subject.writer(input_of(*root, 0), "Reciprocal")) return input_of(*inverse, 0);
  }
  const ir::Node* quotient = subject.writer(id, "Div");
  if (quotient && quotient->inputs.size() == 2 && subject.scalar(quotient->inputs[0]) == 1 &&
      subject.same_shape(id, quotient->inputs[1]))
    return under_root(subject, quotient->inputs[1]);
  return base_of_power(subject, id, -0.5);
}

}  // namespace

std::optional<WithScalar> times_scalar(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* node = subject.writer(id, "Mul")) {
    const auto input = scalar_input(subject, *node, id);
    return input ? std::optional(input->found) : std::nullopt;
  }
  const ir::Node* node = subject.writer(id, "Div");
  if (!node || !is_floating(subject.type(id))) return std::nullopt;
  const auto input = scalar_input(subject, *node, id);
  if (!input || input->is_first || input->found.scalar == 0) return std::nullopt;
  return WithScalar{input->found.of, 1 / input->found.scalar};
}

std::optional<WithScalar> plus_scalar(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* node = subject.writer(id, "Add")) {
    const auto input = scalar_input(subject, *node, id);
    return input ? std::optional(input->found) : std::nullopt;
  }
  const ir::Node* node = subject.writer(id, "Sub");
  const auto input = node ? scalar_input(subject, *node, id) : std::nullopt;
  if (!input || input->is_first) return std::nullopt;
  return WithScalar{input->found.of, -input->found.scalar};
}

std::optional<Polynomial> polynomial_in(const Subject& subject, ir::ValueId x, ir::ValueId id) {
  return polynomial(subject, x, id, deepest_polynomial);
}

bool is_near(double stored, double exact, ElementType type) {
  const double allowed = type == ElementType::bfloat16  ? 0x1p-7
                         : type == ElementType::float16 ? 0x1p-10
                         : type == ElementType::float64 ? 0x1p-50
                                                        : 0x1p-21;
  return std::abs(stored - exact) <= allowed * std::abs(exact);
}

bool fits_attribute(double number, ElementType type) {
  const double size = std::abs(number), least = std::numeric_limits<float>::min();
  if (!(size <= static_cast<double>(std::numeric_limits<float>::max())) || (size > 0 && size < least)) return false;
  return type != ElementType::float64 || static_cast<double>(static_cast<float>(number)) == number;
}

std::optional<LastMean> mean_over_last(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* pool = subject.writer(id, "GlobalAveragePool")) {
    // tf2onnx writes so a mean over the last of three axes.
    const checker::Shape* const image = subject.shape(pool->inputs[0]);
    return image && image->size() > 2 ? std::optional(LastMean{pool->inputs[0], 2}) : std::nullopt;
  }
  const ir::Node* node = subject.writer(id, "ReduceMean");
  const checker::Shape* const shape = node ? subject.shape(input_of(*node, 0)) : nullptr;
  if (!shape || integer_of(*node, "keepdims", 1) == 0) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::optional<std::vector<std::int64_t>> axes;
  if (input_of(*node, 1) != ir::ValueId::none) {
    axes = subject.integers(node->inputs[1]);
    if (!axes) return std::nullopt;
  } else if (const ir::Attribute* stated = node->find_attribute("axes")) {
    const auto* list = stated->as<std::vector<std::int64_t>>();
    if (!list) return std::nullopt;
    axes = *list;
  }
  if (!axes || axes->empty()) {
    if (integer_of(*node, "noop_with_empty_axes", 0) != 0 || rank == 0) return std::nullopt;
    return LastMean{node->inputs[0], 0};
  }
  for (std::int64_t& axis : *axes) axis += axis < 0 ? rank : 0;
  std::sort(axes->begin(), axes->end());
  axes->erase(std::unique(axes->begin(), axes->end()), axes->end());
  if (axes->back() != rank - 1 || rank - axes->front() != static_cast<std::int64_t>(axes->size())) return std::nullopt;
  return LastMean{node->inputs[0], axes->front()};
}

std::optional<ir::ValueId> squared(const Subject& subject, ir::ValueId id) {
  const ir::Node* node = subject.writer(id, "Mul");
  if (node && node->inputs.size() == 2 && node->inputs[0] == node->inputs[1]) return node->inputs[0];
  return base_of_power(subject, id, 2);
}

std::optional<OverRoot> over_root(const Subject& subject, ir::ValueId id) {
  const ir::Node* node = subject.writer(id, "Div");
  if (node && node->inputs.size() == 2) {
    const auto radicand = under_root(subject, node->inputs[1]);
    return radicand ? std::optional(OverRoot{node->inputs[0], *radicand}) : std::nullopt;
  }
  node = subject.writer(id, "Mul");
  if (!node || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t at : {1U, 0U}) {
    if (const auto radicand = under_inverse_root(subject, node->inputs[at]))
      return OverRoot{node->inputs[1 - at], *radicand};
  }
  return std::nullopt;
}

std::optional<ir::ValueId> other_input(const ir::Node& node, ir::ValueId id) {
  if (node.inputs.size() != 2 || (node.inputs[0] == id) == (node.inputs[1] == id)) return std::nullopt;
  return node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
}

std::string readers_text(const Subject& subject, ir::ValueId id) {
  const std::string name = quote(subject.graph().name_of(id));
  if (subject.uses().is_output(id)) return fmt::format("{} is an output of the model", name);
  const auto readers = subject.uses().consumers(id);
  if (readers.size() == 1)
    return fmt::format("{} is read by {}", name, subject.graph().nodes[readers[0]].op_type.view());
  return readers.empty() ? fmt::format("nothing reads {}", name)
                         : fmt::format("{} is read by {} nodes", name, readers.size());
}

std::string sizes_text(const Subject& subject, ir::ValueId id) {
  const auto dims = subject.dims(id);
  return dims ? fmt::format("[{}]", fmt::join(*dims, ", ")) : "of unknown size";
}

std::optional<Dims> last_dims(const Subject& subject, ir::ValueId id, std::int64_t axis) {
  const checker::Shape* const shape = subject.shape(id);
  if (!shape || axis < 0 || axis > static_cast<std::int64_t>(shape->size())) return std::nullopt;
  return Subject::constant_sizes(std::span(*shape).subspan(static_cast<std::size_t>(axis)));
}

std::optional<std::size_t> only_reader(const Subject& subject, ir::ValueId id, std::string_view op) {
  if (!subject.has_one_reader(id)) return std::nullopt;
  const std::size_t at = subject.uses().consumers(id).front();
  const ir::Node& node = subject.graph().nodes[at];
  if (!Subject::is_op(node, op) || std::count(node.inputs.begin(), node.inputs.end(), id) != 1) return std::nullopt;
  return at;
}

std::int64_t integer_of(const ir::Node& node, std::string_view name, std::int64_t fallback) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
  return value ? *value : fallback;
}

double real_of(const ir::Node& node, std::string_view name, float fallback) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<float>() : nullptr;
  return static_cast<double>(value ? *value : fallback);
}

std::optional<NormalizedChannels> normalized_channels(const Subject& subject, const ir::Node& node,
                                                      std::int64_t channels) {
  constexpr std::size_t statistics = 4;  // scale, bias, mean, variance
  if (node.inputs.size() != statistics + 1 || node.outputs.size() != 1) return std::nullopt;
  if (integer_of(node, "training_mode", 0) != 0) return std::nullopt;
  std::vector<double> of[statistics];
  for (std::size_t i = 0; i < statistics; ++i) {
    auto numbers = subject.reals(node.inputs[i + 1]);
    if (!numbers || static_cast<std::int64_t>(numbers->size()) != channels) return std::nullopt;
    of[i] = *std::move(numbers);
  }
  const auto& [scale, bias, mean, variance] = of;
  const double epsilon = real_of(node, "epsilon", 1e-5F);
  NormalizedChannels made;
  for (std::size_t c = 0; c < scale.size(); ++c) {
    made.factors.push_back(scale[c] / std::sqrt(variance[c] + epsilon));
    made.offsets.push_back(bias[c] - mean[c] * made.factors.back());
  }
  return made;
}

bool has_operator(const Subject& subject, std::string_view op) {
  const auto* schema = subject.table().find("", op, subject.opset());
  return schema && !schema->deprecated;
}

bool Rewriting::is_free(std::size_t root, const std::vector<ir::ValueId>& leaves) {
  const ir::Graph& graph = subject_.graph();
  constexpr std::size_t most_nodes = 64;
  inside_ = {root};
  for (std::size_t next = 0; next < inside_.size(); ++next) {
    const std::size_t at = inside_[next];
    if (is_taken_[at] || inside_.size() > most_nodes) {
      miss(root, is_taken_[at] ? fmt::format("{} belongs to another match", quote(node_title(graph, graph.nodes[at])))
                               : fmt::format("more than {} nodes lie between", most_nodes));
      return false;
    }
    for (const ir::ValueId id : graph.nodes[at].inputs) {
      const std::int32_t producer = subject_.uses().producer(id);
      if (producer < 0 || std::find(leaves.begin(), leaves.end(), id) != leaves.end()) continue;
      const auto writer = static_cast<std::size_t>(producer);
      if (std::find(inside_.begin(), inside_.end(), writer) == inside_.end()) inside_.push_back(writer);
    }
  }
  const auto is_inside = [&](std::uint32_t node) {
    return std::find(inside_.begin(), inside_.end(), node) != inside_.end();
  };
  for (const std::size_t at : std::span(inside_).subspan(1)) {
    for (const ir::ValueId id : graph.nodes[at].outputs) {
      if (id == ir::ValueId::none) continue;
      const auto readers = subject_.uses().consumers(id);
      if (!subject_.uses().is_output(id) && std::all_of(readers.begin(), readers.end(), is_inside)) continue;
      const bool is_output = subject_.uses().is_output(id);
      miss(root, fmt::format("{}, which {} writes, is {}", quote(graph.name_of(id)), graph.nodes[at].op_type.view(),
                             is_output ? "an output of the model" : "read elsewhere, too"));
      return false;
    }
  }
  return true;
}

void Rewriting::replace(std::size_t root, ir::Node node) {
  const ir::Graph& graph = subject_.graph();
  const std::string into = node_title(graph, graph.nodes[root]);
  for (const std::size_t at : inside_) {
    is_taken_[at] = true;
    subject_.notes().taken.push_back({node_title(graph, graph.nodes[at]), into});
  }
  patch_.remove(root);
  patch_.insert_before(root, std::move(node));
}

ir::ValueId Rewriting::add(std::size_t root, std::string_view op, std::vector<ir::ValueId> inputs,
                           const std::vector<ir::Attr>& attributes) {
  const auto& written = subject_.graph().nodes[root].outputs.front();
  const std::string stem = std::string(subject_.graph().name_of(written)) + "_" + std::string(op);
  const Text name = subject_.fresh_name(stem);
  const ir::ValueId result = patch_.value(name);
  ir::Node node = ir::make_node(subject_.model(), op, std::move(inputs), {result}, attributes);
  node.name = subject_.name_beside(root, name.view());
  patch_.insert_before(root, std::move(node));
  return result;
}

ir::ValueId Rewriting::integers(std::span<const std::int64_t> values) {
  const ir::ValueId id = patch_.value(subject_.fresh_name("integers"));
  patch_.add_initializer(id, ir::make_tensor(subject_.model(), values));
  return id;
}

ir::ValueId Rewriting::reals(std::string_view stem, ElementType type, const Dims& dims,
                             std::span<const double> values) {
  std::vector<std::byte> bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value_or(0));
  encode(type, values, bytes);
  const auto content = Tensor::from_bytes(type, dims, std::move(bytes));
  return constant(stem, content ? *content : Tensor());
}

bool Rewriting::finish() {
  const ir::Graph& graph = subject_.graph();
  for (auto& [node, reason] : misses_) {
    if (is_taken_[node]) continue;
    subject_.notes().missed.push_back(
        {node_title(graph, graph.nodes[node]), std::string(graph.nodes[node].op_type.view()), std::move(reason)});
  }
  if (patch_.empty()) return false;
  subject_.splice(std::move(patch_));
  return true;
}

}  // namespace onnxkit::plan
