#include "converters/formats/aten/code_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "converters/formats/aten/older_calls.h"
#include "onnxkit/element_type.h"

namespace onnxkit::aten {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

/// What a person would write. Every argument that is given must have its place in braces.
struct Natural {
  std::string_view op, form;
};
constexpr Natural naturals[] = {
    {"aten.add.Tensor", "{self} + {other}"},
    {"aten.add.Scalar", "{self} + {other}"},
    {"aten.sub.Tensor", "{self} - {other}"},
    {"aten.mul.Tensor", "{self} * {other}"},
    {"aten.mul.Scalar", "{self} * {other}"},
    {"aten.div.Tensor", "{self} / {other}"},
    {"aten.matmul.default", "{self} @ {other}"},
    {"aten.neg.default", "-{self}"},
    {"aten.relu.default", "F.relu({self})"},
    {"aten.leaky_relu.default", "F.leaky_relu({self}, {negative_slope})"},
    {"aten.elu.default", "F.elu({self}, {alpha})"},
    {"aten.gelu.default", "F.gelu({self})"},
    {"aten.gelu.default", "F.gelu({self}, approximate={approximate})"},
    {"aten.sigmoid.default", "torch.sigmoid({self})"},
    {"aten.tanh.default", "torch.tanh({self})"},
    {"aten.hardswish.default", "F.hardswish({self})"},
    {"aten.hardsigmoid.default", "F.hardsigmoid({self})"},
    {"aten.softmax.int", "F.softmax({self}, dim={dim})"},
    {"aten.log_softmax.int", "F.log_softmax({self}, dim={dim})"},
    {"aten.exp.default", "torch.exp({self})"},
    {"aten.log.default", "torch.log({self})"},
    {"aten.sqrt.default", "torch.sqrt({self})"},
    {"aten.erf.default", "torch.erf({self})"},
    {"aten.abs.default", "torch.abs({self})"},
    {"aten.clone.default", "{self}.clone()"},
    {"aten.reshape.default", "{self}.reshape({shape})"},
    {"aten.permute.default", "{self}.permute({dims})"},
    {"aten.expand.default", "{self}.expand({size})"},
    {"aten.unsqueeze.default", "{self}.unsqueeze({dim})"},
    {"aten.transpose.int", "{self}.transpose({dim0}, {dim1})"},
    {"aten.select.int", "{self}.select({dim}, {index})"},
    {"aten.to.dtype", "{self}.to({dtype})"},
    {"aten.t.default", "{self}.t()"},
    {"aten.cat.default", "torch.cat({tensors}, dim={dim})"},
    {"aten.where.self", "torch.where({condition}, {self}, {other})"},
    {"aten.linear.default", "F.linear({input}, {weight}, {bias})"},
    {"aten.layer_norm.default", "F.layer_norm({input}, {normalized_shape}, {weight}, {bias}, {eps})"},
    {"aten.group_norm.default", "F.group_norm({input}, {num_groups}, {weight}, {bias}, {eps})"},
    {"aten.mean.dim", "{self}.mean(dim={dim}, keepdim={keepdim})"},
    {"aten.amax.default", "{self}.amax(dim={dim}, keepdim={keepdim})"},
    {"aten.amin.default", "{self}.amin(dim={dim}, keepdim={keepdim})"},
    {"aten.flip.default", "{self}.flip({dims})"},
    {"aten.einsum.default", "torch.einsum({equation}, {tensors})"},
    {"aten.max_pool2d.default", "F.max_pool2d({self}, {kernel_size}, {stride}, {padding}, {dilation}, {ceil_mode})"},
    {"aten.avg_pool2d.default",
     "F.avg_pool2d({self}, {kernel_size}, {stride}, {padding}, {ceil_mode}, {count_include_pad})"},
    {"aten.constant_pad_nd.default", "F.pad({self}, {pad}, value={value})"},
};

std::string python_type(ElementType elem) {
  using E = ElementType;
  if (elem == E::boolean) return "torch.bool";
  if (elem == E::float8e4m3fn) return "torch.float8_e4m3fn";
  if (elem == E::float8e5m2) return "torch.float8_e5m2";
  if (elem == E::float8e4m3fnuz) return "torch.float8_e4m3fnuz";
  if (elem == E::float8e5m2fnuz) return "torch.float8_e5m2fnuz";
  if (elem == E::float16) return "torch.float16";
  if (elem == E::float32) return "torch.float32";
  if (elem == E::float64) return "torch.float64";
  return fmt::format("torch.{}", name_of(elem));
}

std::string script_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// "convolution" of "aten.convolution.default"
std::string_view function_of(std::string_view op) {
  op.remove_prefix(std::min(op.size(), std::string_view("aten.").size()));
  return op.substr(0, op.find('.'));
}

bool is_size_function(std::string_view op) { return op.starts_with("_operator.") || op.starts_with("torch."); }

}  // namespace

int script_type(ElementType elem) {
  using E = ElementType;
  constexpr std::pair<E, int> numbers[] = {
      {E::uint8, 0},           {E::int8, 1},      {E::int16, 2},       {E::int32, 3},         {E::int64, 4},
      {E::float16, 5},         {E::float32, 6},   {E::float64, 7},     {E::complex64, 9},     {E::complex128, 10},
      {E::boolean, 11},        {E::bfloat16, 15}, {E::float8e5m2, 23}, {E::float8e4m3fn, 24}, {E::float8e5m2fnuz, 25},
      {E::float8e4m3fnuz, 26}, {E::uint16, 27},   {E::uint32, 28},     {E::uint64, 29}};
  for (const auto& [known, number] : numbers)
    if (known == elem) return number;
  return 6;
}

CodeWriter::CodeWriter(Dialect dialect) : dialect_(dialect) {
  for (const char* name : {"F", "weights", "int", "float", "bool", "max", "inf", "nan", "ops", "annotate", "List",
                           "Optional", "Tensor", "Tuple"})
    identifiers_.make(name);
}

CodeWriter::Names& CodeWriter::names_of(const Graph& graph) {
  Names& names = names_[&graph];
  if (names.size() < graph.values.size()) names.resize(graph.values.size());
  return names;
}

std::string CodeWriter::name_input(const Graph& graph, ValueId value) {
  return names_of(graph)[index_of(value)] = identifiers_.make(graph.name_of(value));
}

void CodeWriter::name_as(const Graph& graph, ValueId value, std::string expression) {
  names_of(graph)[index_of(value)] = std::move(expression);
}

const std::string& CodeWriter::name(const Graph& graph, ValueId value) const {
  return names_.at(&graph)[index_of(value)];
}

std::string CodeWriter::made(const Graph& graph, ValueId value) {
  if (value == ValueId::none) return "_";
  std::string& known = names_of(graph)[index_of(value)];
  if (known.empty()) known = identifiers_.make(graph.name_of(value));
  return known;
}

void CodeWriter::line(const std::string& indent, const std::string& statement) { text_ += indent + statement + "\n"; }

std::string CodeWriter::number(double value) const {
  const bool is_python = dialect_ == Dialect::python;
  if (std::isnan(value)) return is_python ? "float('nan')" : "nan";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string(is_python ? "float('inf')" : "inf");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

std::string CodeWriter::list(const Graph& graph, const Argument::List& items, bool may_omit) {
  bool has_none = false;
  std::vector<std::string> parts;
  for (const Argument& item : items) {
    const auto* id = item.as<ValueId>();
    has_none = has_none || item.is_none() || (id && *id == ValueId::none);
    parts.push_back(argument(graph, item));
  }
  const std::string text = fmt::format("[{}]", fmt::join(parts, ", "));
  if (dialect_ == Dialect::python) return text;
  if (has_none || may_omit) return fmt::format("annotate(List[Optional[Tensor]], {})", text);
  return items.empty() ? "annotate(List[int], [])" : text;
}

std::string CodeWriter::argument(const Graph& graph, const Argument& given) {
  if (const auto* id = given.as<ValueId>()) return *id == ValueId::none ? "None" : name(graph, *id);
  if (const auto* flag = given.as<bool>()) return *flag ? "True" : "False";
  if (const auto* integer = given.as<std::int64_t>()) return std::to_string(*integer);
  if (const auto* real = given.as<double>()) return number(*real);
  if (const auto* text = given.as<std::string_view>()) return script_text(*text);
  if (const auto* elem = given.as<ElementType>())
    return dialect_ == Dialect::python ? python_type(*elem) : std::to_string(script_type(*elem));
  if (const auto* items = given.as<Argument::List>()) return list(graph, *items, given.name == "indices");
  return "None";
}

/// Arithmetic of sizes, and the reading of integers.
std::string CodeWriter::size_call(const Graph& graph, const Node& node) {
  std::vector<std::string> given;
  for (const Argument& one : node.arguments) given.push_back(argument(graph, one));
  if (node.op == "aten.sym_size.int" && given.size() == 2)
    return dialect_ == Dialect::python ? fmt::format("{}.shape[{}]", given[0], given[1])
                                       : fmt::format("torch.size({}, {})", given[0], given[1]);
  if (node.op == "aten.item.default" && !given.empty()) return fmt::format("int({})", given[0]);
  if (!is_size_function(node.op) || given.size() != 2) return {};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> signs = {
      {{"_operator.mul", "torch.mul"},
       {"_operator.add", "torch.add"},
       {"_operator.floordiv", "torch.floordiv"},
       {"torch.sym_max", ""}}};
  const bool is_script = dialect_ == Dialect::torchscript;
  for (const auto& [op, function] : signs)
    if (op == node.op && is_script && !function.empty()) return fmt::format("{}({}, {})", function, given[0], given[1]);
  if (node.op == "torch.sym_max") return fmt::format("{}max({}, {})", is_script ? "ops.prim." : "", given[0], given[1]);
  const std::string_view sign = node.op == "_operator.mul" ? "*" : node.op == "_operator.add" ? "+" : "//";
  return fmt::format("{} {} {}", given[0], sign, given[1]);
}

/// Empty where an argument that is given has no place in the form, or one of the form is not given.
std::string CodeWriter::filled_form(const Graph& graph, const Node& node, std::string_view form) {
  std::string text;
  std::size_t used = 0;
  for (std::string_view rest = form; !rest.empty();) {
    const std::size_t open = rest.find('{'), close = rest.find('}', open);
    text += rest.substr(0, open);
    if (open == rest.npos || close == rest.npos) break;
    const Argument* given = node.find(rest.substr(open + 1, close - open - 1));
    if (!given) return {};
    text += argument(graph, *given);
    ++used;
    rest.remove_prefix(close + 1);
  }
  return used == node.arguments.size() ? text : std::string();
}

std::string CodeWriter::natural_call(const Graph& graph, const Node& node) {
  for (const Natural& one : naturals) {
    if (one.op != node.op) continue;
    if (std::string text = filled_form(graph, node, one.form); !text.empty()) return text;
  }
  return {};
}

std::string CodeWriter::call_of(const Graph& graph, const Node& node) {
  if (std::string size = size_call(graph, node); !size.empty()) return size;
  const bool is_python = dialect_ == Dialect::python;
  const auto given_text = [&](std::string_view name) {
    const Argument* one = node.find(name);
    return one ? argument(graph, *one) : std::string("None");
  };
  if (is_python) {
    if (std::string natural = natural_call(graph, node); !natural.empty()) return natural;
  } else if (std::string older = older_call(graph, node, given_text); !older.empty()) {
    return older;
  }
  std::vector<std::string> given;
  bool is_first = true;
  for (const Argument& one : node.arguments) {
    // The first argument has its place; "self" is no name that every release of TorchScript takes.
    given.push_back(std::exchange(is_first, false) ? argument(graph, one)
                                                   : fmt::format("{}={}", one.name, argument(graph, one)));
  }
  const std::string function =
      is_python ? fmt::format("torch.ops.{}", node.op) : fmt::format("torch.{}", function_of(node.op));
  return fmt::format("{}({})", function, fmt::join(given, ", "));
}

/// The bodies' results get the names that the node's have.
void CodeWriter::write_branches(const Graph& graph, const Node& node, const std::string& indent) {
  const auto* operands = node.find("operands");
  std::vector<std::string> results;
  for (const ValueId output : node.outputs) results.push_back(made(graph, output));
  for (const std::string_view which : {"true_graph", "false_graph"}) {
    const Argument* holder = node.find(which);
    const auto* body = holder ? holder->as<std::unique_ptr<Graph>>() : nullptr;
    if (!body || !operands) return;
    const auto& list = *operands->as<Argument::List>();
    for (std::size_t i = 0; i < list.size() && i < (*body)->inputs.size(); ++i)
      name_as(**body, (*body)->inputs[i], argument(graph, list[i]));
    line(indent,
         which == "true_graph" ? fmt::format("if bool({}):", argument(graph, node.arguments.front())) : "else:");
    write_nodes(**body, indent + "  ");
    for (std::size_t o = 0; o < results.size() && o < (*body)->outputs.size(); ++o)
      line(indent + "  ", fmt::format("{} = {}", results[o], name(**body, (*body)->outputs[o].value)));
  }
}

void CodeWriter::write_loop(const Graph& graph, const Node& node, const std::string& indent) {
  const auto graph_of = [&](std::string_view which) -> const Graph& {
    return **node.find(which)->as<std::unique_ptr<Graph>>();
  };
  const Graph &condition = graph_of("cond_fn"), &body = graph_of("body_fn");
  const auto& carried = *node.find("carried_inputs")->as<Argument::List>();
  const auto& extra = *node.find("additional_inputs")->as<Argument::List>();
  std::vector<std::string> state;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    state.push_back(made(graph, node.outputs[i]));
    line(indent, fmt::format("{} = {}", state.back(), argument(graph, carried[i])));
  }
  const auto bind = [&](const Graph& inner) {
    for (std::size_t i = 0; i < inner.inputs.size(); ++i)
      name_as(inner, inner.inputs[i], i < state.size() ? state[i] : argument(graph, extra[i - state.size()]));
  };
  bind(condition);
  bind(body);
  write_nodes(condition, indent);
  const std::string goes_on = identifiers_.make("goes_on");
  line(indent, fmt::format("{} = bool({})", goes_on, name(condition, condition.outputs.front().value)));
  line(indent, fmt::format("while {}:", goes_on));
  write_nodes(body, indent + "  ");
  std::vector<std::string> next;
  for (std::size_t o = 0; o < state.size(); ++o) {  // all are read before any is replaced
    next.push_back(identifiers_.make(state[o] + "_next"));
    line(indent + "  ", fmt::format("{} = {}", next.back(), name(body, body.outputs[o].value)));
  }
  for (std::size_t o = 0; o < state.size(); ++o) line(indent + "  ", fmt::format("{} = {}", state[o], next[o]));
  write_nodes(condition, indent + "  ");
  line(indent + "  ", fmt::format("{} = bool({})", goes_on, name(condition, condition.outputs.front().value)));
}

void CodeWriter::write_node(const Graph& graph, const Node& node, const std::string& indent) {
  if (node.op == "higher_order.cond") return write_branches(graph, node, indent);
  if (node.op == "higher_order.while_loop") return write_loop(graph, node, indent);
  const std::string call = call_of(graph, node);
  std::vector<std::string> results;
  for (const ValueId output : node.outputs) results.push_back(made(graph, output));
  const bool is_list_of_one = node.has_list_result && results.size() == 1;
  line(indent, fmt::format("{}{} = {}", fmt::join(results, ", "), is_list_of_one ? "," : "", call));
}

void CodeWriter::write_nodes(const Graph& graph, const std::string& indent) {
  for (const Node& node : graph.nodes) write_node(graph, node, indent);
}

std::string CodeWriter::returned(const Graph& graph) const {
  std::vector<std::string> results;
  for (const foreign::Output& output : graph.outputs) results.push_back(name(graph, output.value));
  if (results.size() == 1) return "return " + results.front();
  return fmt::format("return ({})", fmt::join(results, ", "));
}

}  // namespace onnxkit::aten
