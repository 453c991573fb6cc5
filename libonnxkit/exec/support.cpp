#include "libonnxkit/exec/support.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/resolution.h"

namespace onnxkit::exec {
namespace {

std::string dims_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (const std::int64_t size : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

/// The shape as declared: numbers, names, "?".
std::string dims_text(const ir::DeclaredShape& shape) {
  std::string text = "[";
  for (const ir::DeclaredDim& dim : shape.dims) {
    if (text.size() > 1) text += ", ";
    text += dim.size() ? std::to_string(*dim.size()) : dim.param.empty() ? "?" : std::string(dim.param.view());
  }
  return text + "]";
}

bool fits(const ir::DeclaredShape& shape, std::span<const std::int64_t> dims) {
  return std::equal(shape.dims.begin(), shape.dims.end(), dims.begin(), dims.end(),
                    [](const ir::DeclaredDim& dim, std::int64_t size) { return dim.size().value_or(size) == size; });
}

/// What numpy calls an element type; empty for one that it lacks.
std::string_view numpy_name(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return "float32";
    case ElementType::float64:
      return "float64";
    case ElementType::boolean:
    case ElementType::float16:
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::uint8:
    case ElementType::uint16:
    case ElementType::uint32:
    case ElementType::uint64:
      return name_of(type);
    default:
      return {};
  }
}

/// An expression of numpy, and what it mends.
struct NumpyHelp {
  std::string what, expression;
};

/// How a value of another type may become one of the declared type; `shape` mends its shape, which may be wrong, too.
std::string help_for_type(ElementType declared, ElementType given, const std::optional<NumpyHelp>& shape) {
  const std::string_view name = numpy_name(declared);
  if (name.empty() || numpy_name(given).empty()) return {};
  const bool may_be_picture = given == ElementType::uint8 && is_floating(declared);
  return fmt::format("{}numpy converts it with {}.astype(\"{}\"){}", shape ? shape->what + ", too: " : "",
                     shape ? shape->expression : "x", name,
                     may_be_picture ? "; most models take the bytes of a picture divided by 255" : "");
}

/// A rearrangement of axes with what numpy calls it; axis -1 is a new one of size 1.
struct Rearrangement {
  std::vector<int> axes;
  const char* numpy;
  const char* what;
};

/// How a value of another shape may become one of the declared shape: by a batch axis, or with its channels elsewhere.
std::optional<NumpyHelp> help_for_shape(const ir::DeclaredShape& shape, const std::vector<std::int64_t>& dims) {
  if (fits(shape, dims)) return std::nullopt;
  static const std::vector<Rearrangement> rank_3 = {
      {{2, 0, 1}, "x.transpose(2, 0, 1)", "the channels come last"},
      {{1, 2, 0}, "x.transpose(1, 2, 0)", "the channels come first"},
      {{-1, 2, 0, 1}, "x.transpose(2, 0, 1)[None]", "the batch axis is missing and the channels come last"},
      {{-1, 1, 2, 0}, "x.transpose(1, 2, 0)[None]", "the batch axis is missing and the channels come first"}};
  static const std::vector<Rearrangement> rank_4 = {
      {{0, 3, 1, 2}, "x.transpose(0, 3, 1, 2)", "the channels come last"},
      {{0, 2, 3, 1}, "x.transpose(0, 2, 3, 1)", "the channels come first"}};
  const auto help = [](const char* what, const char* numpy) { return NumpyHelp{what, numpy}; };
  std::vector<std::int64_t> changed = dims;
  changed.insert(changed.begin(), 1);
  if (fits(shape, changed)) return help("the batch axis is missing", "x[None]");
  if (dims.size() == shape.dims.size() + 1 && dims.front() == 1 && fits(shape, std::span(dims).subspan(1)))
    return help("the first axis is not declared", "x[0]");
  if (dims.size() != 3 && dims.size() != 4) return std::nullopt;
  for (const Rearrangement& known : dims.size() == 3 ? rank_3 : rank_4) {
    changed.clear();
    for (const int axis : known.axes) changed.push_back(axis < 0 ? 1 : dims[static_cast<std::size_t>(axis)]);
    if (fits(shape, changed)) return help(known.what, known.numpy);
  }
  return std::nullopt;
}

Error with_help(Error error, std::string help) {
  error.diagnostic.help = std::move(help);
  return error;
}

Result<void> check_input(const ir::Graph& graph, std::size_t index, const Value& value, bool wide) {
  const auto& type = graph.inputs[index].type;
  if (!type || type->kind == ir::DeclaredType::Kind::none) return {};
  if (kind_of(graph.inputs[index]) != value.kind)
    return input_error("input-type", graph, index, fmt::format("the input cannot be a {}", type_text(value)));
  if (!value.is_tensor()) return {};
  const auto declared = static_cast<ElementType>(type->elem_type.value_or(0));
  const std::optional<NumpyHelp> rearranged =
      type->shape ? help_for_shape(*type->shape, value.tensor.dims()) : std::nullopt;
  const bool is_wider =
      wide && value.tensor.type() == ElementType::float64 &&
      (declared == ElementType::float16 || declared == ElementType::bfloat16 || declared == ElementType::float32);
  if (declared != ElementType::undefined && declared != value.tensor.type() && !is_wider) {
    return with_help(input_error("input-type", graph, index,
                                 fmt::format("the input has elements of type {}, not {}", name_of(declared),
                                             name_of(value.tensor.type()))),
                     help_for_type(declared, value.tensor.type(), rearranged));
  }
  if (type->shape && !fits(*type->shape, value.tensor.dims())) {
    return with_help(
        input_error(
            "input-shape", graph, index,
            fmt::format("the input has shape {}, not {}", dims_text(*type->shape), dims_text(value.tensor.dims()))),
        rearranged ? fmt::format("{}: numpy rearranges it with {}", rearranged->what, rearranged->expression) : "");
  }
  return {};
}

std::string why_undefined(const ir::Node& node) {
  const std::string_view help = spec::help_for_domain(node.domain);
  return fmt::format("the operator has no definition in the imported opset{}{}", help.empty() ? "" : ": ", help);
}

}  // namespace

std::vector<Unsupported> unsupported_nodes(const SupportQuery& supports, const ir::Model& model,
                                           const spec::OpTable& table) {
  std::vector<Unsupported> missing;
  const auto scopes = ir::graph_scopes(model);
  const spec::Resolution resolution(model, scopes, table);
  for (const auto& scope : scopes) {
    if (scope->is_training) continue;
    for (std::size_t i = 0; i < scope->graph->nodes.size(); ++i) {
      const ir::Node& node = scope->graph->nodes[i];
      const auto& [opset, function, schema] = resolution.of(*scope->graph, i);
      if (function) continue;
      Support support{false, why_undefined(node)};
      if (schema) support = supports(node, *schema);
      if (support.supported) continue;
      missing.push_back({ir::location_of_node(scope->path, *scope->graph, i), std::move(support.reason)});
    }
  }
  return missing;
}

Error not_supported(std::span<const Unsupported> nodes) {
  constexpr std::size_t most = 20;
  Error error = make_error("not-supported", nodes.front().reason);
  error.diagnostic.location = nodes.front().location;
  for (const Unsupported& node : nodes.subspan(1, std::min(nodes.size() - 1, most)))
    error.diagnostic.notes.push_back(fmt::format("{} ({}): {}", node.location.path(), node.location.op, node.reason));
  if (nodes.size() > most + 1)
    error.diagnostic.notes.push_back(fmt::format("and {} more nodes", nodes.size() - most - 1));
  return error;
}

Result<void> check_inputs(const ir::Graph& graph, std::span<const Value> inputs, bool wide) {
  if (inputs.size() != graph.inputs.size()) {
    return make_error("input-missing", fmt::format("the model has {} inputs, but {} values were given",
                                                   graph.inputs.size(), inputs.size()));
  }
  const std::set<std::string_view> defaults = default_names(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == ValueKind::none) {
      if (defaults.contains(graph.name_of(graph.inputs[i].value))) continue;
      return input_error("input-missing", graph, i, "no value was given for the input");
    }
    if (auto checked = check_input(graph, i, inputs[i], wide); !checked) return checked;
  }
  return {};
}

}  // namespace onnxkit::exec
