#include "converters/formats/pt2/program.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "converters/formats/pt2/dtype.h"
#include "converters/formats/pt2/structure.h"
#include "converters/formats/pt2/sympy.h"

namespace onnxkit::pt2 {
namespace {

using containers::Json;
using foreign::Argument;
using foreign::Graph;
using foreign::ValueId;

Error malformed_program(std::string message) { return make_error("malformed-model", std::move(message)); }

/// The one member that says which kind of argument an object is.
Json payload_of(Json argument) { return argument.size() == 1 ? *argument.begin() : Json(); }

class GraphReader {
 public:
  GraphReader(Graph& graph, StringPool& strings, int depth) : graph_(graph), strings_(strings), depth_(depth) {}

  Result<void> read(Json json) {
    for (const Json value : json["tensor_values"]) add_value(value.name(), tensor_type(value));
    for (const Json argument : json["inputs"]) {
      const Json payload = payload_of(argument);
      if (depth_ == 0 && !payload.is_object())
        continue;  // a number, a text or nothing: the program was specialised for it
      const ValueId id = value_named(payload);
      if (id == ValueId::none) return malformed_program("an input of the program has no name");
      graph_.inputs.push_back(id);
    }
    for (const Json node : json["nodes"]) {
      if (auto done = read_node(node); !done) return done;
    }
    for (const Json argument : json["outputs"]) add_outputs(argument);
    return {};
  }

  /// The sizes that the program was exported with: "s77=5,s3=12".
  std::string example_sizes() const {
    std::string text;
    for (const auto& [name, size] : hints_) text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, size);
    return text;
  }

  /// The value behind {"name": ...} or {"as_name": ...}; none for anything else.
  ValueId value_named(Json reference) {
    auto name = reference["name"].text();
    if (!name) name = reference["as_name"].text();
    return name ? value_of(*name) : ValueId::none;
  }

 private:
  void add_value(std::string_view name, std::optional<foreign::TensorType> type) {
    ids_.emplace(name, graph_.add_value(name, std::move(type)));
  }

  ValueId value_of(std::string_view name) {
    const auto [entry, is_new] = ids_.try_emplace(name, ValueId::none);
    if (is_new) entry->second = graph_.add_value(name);
    return entry->second;
  }

  std::optional<foreign::TensorType> tensor_type(Json meta) {
    foreign::TensorType type;
    type.elem = elem_of(meta["dtype"].integer().value_or(0));
    type.shape.emplace();
    for (const Json size : meta["sizes"]) {
      foreign::Size& axis = type.shape->emplace_back();
      if (const auto constant = size["as_int"].integer(); constant && *constant >= 0) {
        axis.constant = *constant;
      } else if (const auto text = size["as_expr"]["expr_str"].text()) {
        if (const auto expression = dim_param_of(*text)) {
          axis.expression = strings_.keep(*expression);
          note_hint(axis.expression, size["as_expr"]["hint"]["as_int"].integer());
        }
      }
    }
    add_strides(meta, type);
    return type;
  }

  static void add_strides(Json meta, foreign::TensorType& type) {
    const auto offset = meta["storage_offset"]["as_int"].integer();
    for (const Json stride : meta["strides"]) {
      const auto constant = stride["as_int"].integer();
      if (!constant || !offset) return type.strides.clear();
      type.strides.push_back(*constant);
    }
    type.storage_offset = offset.value_or(0);
  }

  void note_hint(std::string_view expression, std::optional<std::int64_t> hint) {
    const bool is_name = expression.find_first_of("(+*/, ") == expression.npos;
    if (is_name && hint) hints_.emplace(expression, *hint);
  }

  Result<void> read_node(Json json) {
    foreign::Node& node = graph_.nodes.emplace_back();
    const auto target = json["target"].text();
    if (!target) return malformed_program("a node has no target");
    constexpr std::string_view prefix = "torch.ops.";
    node.op = target->starts_with(prefix) ? target->substr(prefix.size()) : *target;
    node.name = json["name"].text().value_or("");
    const Json metadata = json["metadata"];
    node.source = metadata["stack_trace"].text().value_or("");
    node.scope = scope_of(metadata["nn_module_stack"].text().value_or(""));
    std::vector<Argument> arguments;
    for (const Json input : json["inputs"]) {
      auto argument = read_argument(input["arg"]);
      if (!argument) return std::move(argument).error();
      argument->name = input["name"].text().value_or("");
      arguments.push_back(*std::move(argument));
    }
    graph_.nodes.back().arguments = std::move(arguments);
    for (const Json output : json["outputs"]) add_results(output);
    if (node.name.empty() && !graph_.nodes.back().outputs.empty())
      graph_.nodes.back().name = graph_.name_of(graph_.nodes.back().outputs.front());
    return {};
  }

  /// The path of the innermost module: "key,path,class;key,path,class" ends with it.
  static std::string_view scope_of(std::string_view stack) {
    const std::string_view last = stack.substr(stack.rfind(';') + 1);
    const std::size_t begin = last.find(',');
    if (begin == last.npos) return {};
    const std::string_view path = last.substr(begin + 1, last.find(',', begin + 1) - begin - 1);
    return path.starts_with('_') ? std::string_view() : path;
  }

  void add_results(Json output) {
    const Json payload = payload_of(output);
    std::vector<ValueId>& results = graph_.nodes.back().outputs;
    if (!payload.is_array()) return results.push_back(value_named(payload));
    for (const Json item : payload) {
      const ValueId direct = value_named(item);
      results.push_back(direct != ValueId::none ? direct : value_named(payload_of(item)));
    }
  }

  void add_outputs(Json argument) {
    const Json payload = payload_of(argument);
    if (payload.name() == "as_none") return;
    if (payload.is_array()) {
      for (const Json item : payload) add_output(value_named(item));
    } else {
      add_output(value_named(payload));
    }
  }

  void add_output(ValueId id) { graph_.outputs.push_back({id, graph_.name_of(id)}); }

  static double number_of(Json json) {
    const auto whole = json.integer();
    return whole ? static_cast<double>(*whole) : json.real().value_or(0);
  }

  Result<Argument> read_argument(Json json) {
    const Json payload = payload_of(json);
    const std::string_view kind = payload.name();
    if (kind == "as_none") return Argument{};
    if (kind == "as_graph") return read_subgraph(payload);
    if (kind == "as_scalar_type") return Argument{elem_of(payload.integer().value_or(0))};
    if (kind == "as_memory_format" || kind == "as_layout") return Argument{payload.integer().value_or(0)};
    if (kind == "as_device") return Argument{};
    if (kind == "as_complex") return Argument{std::complex(number_of(payload["real"]), number_of(payload["imag"]))};
    if (payload.is_array()) {
      Argument::List list;
      for (const Json item : payload) {
        auto read = read_item(item, kind);
        if (!read) return read;
        list.push_back(*std::move(read));
      }
      return Argument{std::move(list)};
    }
    return read_item(payload, kind);
  }

  /// An argument that is no list, or an item of one.
  Result<Argument> read_item(Json json, std::string_view kind) {
    if (const auto value = json.boolean()) return Argument{*value};
    if (const auto value = json.integer())
      return kind.starts_with("as_float") ? Argument{static_cast<double>(*value)} : Argument{*value};
    if (kind.starts_with("as_string") || kind == "as_operator") {
      if (const auto value = json.text()) return Argument{*value};
    }
    if (const auto value = json.real()) return Argument{*value};
    if (json.is_array()) {
      Argument::List list;
      for (const Json item : json) {
        auto read = read_item(item, kind);
        if (!read) return read;
        list.push_back(*std::move(read));
      }
      return Argument{std::move(list)};
    }
    if (const ValueId id = value_named(json); id != ValueId::none) return Argument{id};
    const Json inner = payload_of(json);  // {"as_tensor": {...}}, {"as_int": 3}
    if (const auto name = inner.text(); name && inner.name() == "as_tensor") return Argument{value_of(*name)};  // 2.3
    if (inner.name() == "as_none") return Argument{};
    if (const auto value = inner.boolean()) return Argument{*value};
    if (const auto value = inner.integer())
      return inner.name() == "as_float" ? Argument{static_cast<double>(*value)} : Argument{*value};
    if (const auto value = inner.real()) return Argument{*value};
    if (const ValueId id = value_named(inner); id != ValueId::none) return Argument{id};
    return make_error("not-supported",
                      fmt::format("the program has an argument of a kind that is not known: {}", quote(kind)));
  }

  Result<Argument> read_subgraph(Json payload) {
    constexpr int max_depth = 32;
    if (depth_ == max_depth) return malformed_program("graphs are nested too deeply");
    auto body = std::make_unique<Graph>();
    body->name = payload["name"].text().value_or("");
    GraphReader reader(*body, strings_, depth_ + 1);
    if (auto read = reader.read(payload["graph"]); !read) return std::move(read).error();
    return Argument{std::move(body)};
  }

  Graph& graph_;
  StringPool& strings_;
  int depth_;
  std::unordered_map<std::string_view, ValueId> ids_;
  std::map<std::string_view, std::int64_t> hints_;  ///< of symbols: the sizes of the example inputs
};

InputSpec::Kind kind_of(std::string_view name) {
  if (name == "parameter") return InputSpec::Kind::parameter;
  if (name == "buffer") return InputSpec::Kind::buffer;
  if (name == "tensor_constant") return InputSpec::Kind::constant;
  return InputSpec::Kind::user;
}

Result<void> read_inputs(Json specs, GraphReader& reader, Program& program) {
  for (const Json spec : specs) {
    const Json payload = payload_of(spec);
    InputSpec input;
    if (payload.name() == "custom_obj" || payload.name() == "token")
      return make_error("not-supported", fmt::format("the program has an input of kind {}", quote(payload.name())));
    if (payload.name() == "constant_input") continue;  // a value that the program was specialised for; no graph input
    input.kind = kind_of(payload.name());
    const Json argument = payload["arg"];
    input.value = reader.value_named(argument);
    if (input.value == ValueId::none) input.value = reader.value_named(payload_of(argument));
    for (const std::string_view key : {"parameter_name", "buffer_name", "tensor_constant_name"})
      if (const auto name = payload[key].text()) input.name = *name;
    program.inputs.push_back(input);
  }
  return {};
}

/// Names of the arguments that a user gives, or of the results that one gets; of constants, the program's own.
std::vector<std::string_view> user_names(Json specs) {
  std::vector<std::string_view> names;
  for (const Json spec : specs) {
    const Json payload = payload_of(spec);
    const bool is_constant = payload.name() == "constant_input";
    if (payload.name() != "user_input" && payload.name() != "user_output" && !is_constant) continue;
    const Json argument = is_constant ? payload : payload_of(payload["arg"]);
    auto name = argument["name"].text();
    if (!name) name = argument["as_name"].text();
    names.push_back(name.value_or(""));
  }
  return names;
}

/// How tuples and dictionaries hold the inputs and outputs.
void record_structure(Json module, Program& program) {
  const Json calls = module["module_call_graph"];
  if (!calls.is_array() || calls.size() == 0) return;
  const Json call = (*calls.begin())["signature"];
  const Json specs = module["signature"];
  const std::string inputs = structure_of_inputs(call["in_spec"].text().value_or(""), user_names(specs["input_specs"]));
  const std::string outputs =
      structure_of_outputs(call["out_spec"].text().value_or(""), user_names(specs["output_specs"]));
  for (const auto& [key, text] : {std::pair("source_inputs", &inputs), std::pair("source_outputs", &outputs)})
    if (!text->empty()) program.model.metadata.emplace_back(key, program.model.strings->keep(*text).view());
}

/// The input that an output changes: a buffer by its name in the module, an input by that of its value.
ValueId changed_input(Json payload, const Program& program) {
  if (const auto name = payload["user_input_name"].text()) {
    for (const InputSpec& input : program.inputs)
      if (input.value != ValueId::none && program.model.graph.name_of(input.value) == *name) return input.value;
    return ValueId::none;
  }
  for (const std::string_view key : {"buffer_name", "parameter_name"})
    if (const auto name = payload[key].text())
      for (const InputSpec& input : program.inputs)
        if (input.kind != InputSpec::Kind::user && input.name == *name) return input.value;
  return ValueId::none;
}

/// Takes what is written to buffers and inputs from among the outputs, which the specs state in their order.
void read_changes(Json specs, Program& program) {
  std::vector<foreign::Output> outputs;
  std::size_t place = 0;
  for (const Json spec : specs) {
    if (place >= program.model.graph.outputs.size()) break;
    const foreign::Output& output = program.model.graph.outputs[place++];
    const Json payload = payload_of(spec);
    const bool is_change = payload.name() == "buffer_mutation" || payload.name() == "user_input_mutation" ||
                           payload.name() == "parameter_mutation";
    const ValueId input = is_change ? changed_input(payload, program) : ValueId::none;
    if (input == ValueId::none)
      outputs.push_back(output);
    else
      program.changes.push_back({input, output.value});
  }
  for (; place < program.model.graph.outputs.size(); ++place) outputs.push_back(program.model.graph.outputs[place]);
  program.model.graph.outputs = std::move(outputs);
}

}  // namespace

Result<Program> read_program(Json root) {
  constexpr std::int64_t first_major = 5, last_major = 8;  // torch 2.3 has the first
  auto major = root["schema_version"]["major"].integer();
  if (!major) major = root["schema_version"].integer();  // a single number before torch 2.3
  if (!major) return malformed_program("the program does not say its schema version");
  if (*major < first_major || *major > last_major) {
    Error error = make_error("not-supported", "the program has a schema version that is not known");
    error.diagnostic.expected = fmt::format("{} to {}", first_major, last_major);
    error.diagnostic.found = std::to_string(*major);
    if (*major < first_major)
      error.diagnostic.help = "export the model with PyTorch 2.3 or newer: older releases did not fix the form yet";
    return error;
  }
  Program program;
  program.model.framework = "PyTorch";
  program.model.version = root["torch_version"].text().value_or("");
  const Json module = root["graph_module"];
  GraphReader reader(program.model.graph, *program.model.strings, 0);
  if (auto read = reader.read(module["graph"]); !read) return std::move(read).error();
  if (const std::string sizes = reader.example_sizes(); !sizes.empty())
    program.model.metadata.emplace_back("source_sizes", program.model.strings->keep(sizes).view());
  record_structure(module, program);
  const Json signature = module["signature"];
  if (auto read = read_inputs(signature["input_specs"], reader, program); !read) return std::move(read).error();
  read_changes(signature["output_specs"], program);
  return program;
}

}  // namespace onnxkit::pt2
