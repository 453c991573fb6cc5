#include "converters/formats/pt2/program_writer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "converters/containers/json_writer.h"
#include "converters/formats/aten/parameters.h"
#include "converters/formats/pt2/dtype.h"
#include "converters/formats/pt2/example_inputs.h"
#include "converters/formats/pt2/names.h"
#include "converters/formats/pt2/size_text.h"
#include "libonnxkit/wire/zip/writer.h"

namespace onnxkit::pt2 {
namespace {

using containers::JsonWriter;
using foreign::Argument;
using foreign::Graph;
using foreign::ValueId;

constexpr std::string_view archive_folder = "model/";
constexpr std::size_t tensor_alignment = 64;

std::string target_of(std::string_view op) {
  const bool is_scalar_function = op.starts_with("_operator.") || op.starts_with("torch.") || op.starts_with("math.");
  return is_scalar_function ? std::string(op) : fmt::format("torch.ops.{}", op);
}

/// Writes one program. Values are named by graph, as bodies have values of their own.
class ProgramWriter {
 public:
  explicit ProgramWriter(const foreign::Model& model) : model_(model), sizes_(examples(model)) {}

  Result<void> write(const ByteSink& sink) {
    name_values(model_.graph);
    write_program();
    return write_archive(sink);
  }

 private:
  /// A parameter, buffer or constant of the main graph.
  struct Weight {
    const foreign::Tensor* tensor = nullptr;
    std::string name;   ///< of the attribute
    std::string entry;  ///< in the archive
    bool is_parameter = false;
  };

  static std::map<std::string, std::int64_t> examples(const foreign::Model& model) {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& [name, size] : model.sizes) sizes.emplace(name, size);
    return sizes;
  }

  void name_values(const Graph& graph) {
    std::vector<std::string>& names = names_[&graph];
    names.resize(graph.values.size());
    for (const ValueId input : graph.inputs) names[index_of(input)] = identifiers_.make(graph.name_of(input));
    for (const foreign::Tensor& tensor : graph.tensors)
      names[index_of(tensor.value)] = identifiers_.make(fmt::format("p_{}", tensor.name));
    for (const foreign::Node& node : graph.nodes)
      for (const ValueId output : node.outputs) {
        if (output != ValueId::none) names[index_of(output)] = identifiers_.make(graph.name_of(output));
      }
  }
  const std::string& name(const Graph& graph, ValueId id) const { return names_.at(&graph)[index_of(id)]; }

  // ---- types

  void size(const foreign::Size& size) {
    json_.open_object();
    if (size.constant >= 0)
      json_.member("as_int", size.constant);
    else
      size_expression(size.expression.empty() ? "unknown" : size.expression);
    json_.close_object();
  }
  void size_expression(std::string_view dim_param) {
    const SizeTexts::Text text = sizes_.of(dim_param);
    json_.key("as_expr").open_object().member("expr_str", text.expression);
    json_.key("hint").open_object().member("as_int", text.example).close_object().close_object();
  }

  /// Strides of elements that lie one behind the other.
  void strides(const std::vector<foreign::Size>& shape) {
    json_.key("strides").open_array();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      std::string product;
      std::int64_t constant = 1;
      for (std::size_t inner = axis + 1; inner < shape.size(); ++inner) {
        if (shape[inner].constant >= 0)
          constant *= std::max<std::int64_t>(shape[inner].constant, 1);
        else
          product += fmt::format("*({})", shape[inner].expression.empty() ? "unknown" : shape[inner].expression);
      }
      json_.open_object();
      if (product.empty())
        json_.member("as_int", constant);
      else
        size_expression(std::to_string(constant) + product);
      json_.close_object();
    }
    json_.close_array();
  }

  void tensor_meta(const foreign::TensorType& type, bool requires_grad) {
    static const std::vector<foreign::Size> none;
    const auto& shape = type.shape ? *type.shape : none;
    json_.open_object().member("dtype", scalar_type_of(type.elem));
    json_.key("sizes").open_array();
    for (const foreign::Size& one : shape) size(one);
    json_.close_array().member("requires_grad", requires_grad);
    json_.key("device").open_object().member("type", "cpu").key("index").null().close_object();
    strides(shape);
    json_.key("storage_offset").open_object().member("as_int", 0).close_object();
    json_.member("layout", 7).close_object();
  }

  static foreign::TensorType type_of(const foreign::Tensor& tensor) {
    foreign::TensorType type{.elem = tensor.elem, .shape = std::vector<foreign::Size>(), .strides = {}};
    for (const std::int64_t dim : tensor.dims) type.shape->push_back({.constant = dim});
    return type;
  }

  // ---- arguments

  static bool is_size(const Graph& graph, ValueId id) { return !graph.values[index_of(id)].size.empty(); }

  void tensor_name(const Graph& graph, ValueId id) {
    json_.open_object().member("name", name(graph, id)).close_object();
  }

  void number(double value) {
    if (std::isnan(value)) return void(json_.value("NaN"));
    if (std::isinf(value)) return void(json_.value(value > 0 ? "Infinity" : "-Infinity"));
    json_.value(value);
  }

  void value_argument(const Graph& graph, ValueId id) {
    if (is_size(graph, id))
      json_.key("as_sym_int").open_object().member("as_name", name(graph, id)).close_object();
    else
      tensor_name(graph, (json_.key("as_tensor"), id));
  }

  void argument(const Graph& graph, const Argument& given) {
    json_.open_object();
    if (const auto* id = given.as<ValueId>()) {
      value_argument(graph, *id);
    } else if (const auto* flag = given.as<bool>()) {
      json_.member("as_bool", *flag);
    } else if (const auto* integer = given.as<std::int64_t>()) {
      json_.member("as_int", *integer);
    } else if (const auto* real = given.as<double>()) {
      number((json_.key("as_float"), *real));
    } else if (const auto* text = given.as<std::string_view>()) {
      json_.member("as_string", *text);
    } else if (const auto* elem = given.as<ElementType>()) {
      json_.member("as_scalar_type", scalar_type_of(*elem));
    } else if (const auto* list = given.as<Argument::List>()) {
      list_argument(graph, *list);
    } else if (const auto* body = given.as<std::unique_ptr<Graph>>()) {
      name_values(**body);
      json_.key("as_graph").open_object().member("name", identifiers_.make(given.name)).key("graph");
      write_graph(**body, given.name == "cond_fn");
      json_.close_object();
    } else {
      json_.member("as_none", true);
    }
    json_.close_object();
  }

  void list_argument(const Graph& graph, const Argument::List& list) {
    bool has_values = false, has_sizes = false, has_reals = false, has_none = false, has_flags = false;
    for (const Argument& item : list) {
      const auto* id = item.as<ValueId>();
      has_sizes = has_sizes || (id && *id != ValueId::none && is_size(graph, *id));
      has_none = has_none || item.is_none() || (id && *id == ValueId::none);
      has_values = has_values || id;
      has_reals = has_reals || item.as<double>();
      has_flags = has_flags || item.as<bool>();
    }
    if (has_sizes) return size_list(graph, list);
    if (has_values && has_none) return optional_list(graph, list);
    json_.key(has_values ? "as_tensors" : has_reals ? "as_floats" : has_flags ? "as_bools" : "as_ints").open_array();
    for (const Argument& item : list) {
      if (const auto* id = item.as<ValueId>()) tensor_name(graph, *id);
      if (const auto* real = item.as<double>()) number(*real);
      if (const auto* integer = item.as<std::int64_t>()) json_.value(*integer);
      if (const auto* flag = item.as<bool>()) json_.value(*flag);
    }
    json_.close_array();
  }

  void size_list(const Graph& graph, const Argument::List& list) {
    json_.key("as_sym_ints").open_array();
    for (const Argument& item : list) {
      json_.open_object();
      if (const auto* id = item.as<ValueId>()) json_.member("as_name", name(graph, *id));
      if (const auto* integer = item.as<std::int64_t>()) json_.member("as_int", *integer);
      json_.close_object();
    }
    json_.close_array();
  }

  void optional_list(const Graph& graph, const Argument::List& list) {
    json_.key("as_optional_tensors").open_array();
    for (const Argument& item : list) {
      const auto* id = item.as<ValueId>();
      json_.open_object();
      if (id && *id != ValueId::none)
        tensor_name(graph, (json_.key("as_tensor"), *id));
      else
        json_.member("as_none", true);
      json_.close_object();
    }
    json_.close_array();
  }

  // ---- graphs

  void write_node(const Graph& graph, const foreign::Node& node) {
    const bool is_higher_order = node.op.starts_with("higher_order.");  // its arguments have places only
    json_.open_object().member("target", target_of(node.op));
    json_.key("inputs").open_array();
    for (const Argument& given : node.arguments) {
      json_.open_object().member("name", is_higher_order ? "" : given.name).key("arg");
      argument(graph, given);
      json_.member("kind", is_keyword(node.op, given.name) ? 2 : 1).close_object();
    }
    json_.close_array().key("outputs").open_array();
    if (node.has_list_result) {
      json_.open_object().key("as_tensors").open_array();
      for (const ValueId output : node.outputs) tensor_name(graph, output);
      json_.close_array().close_object();
    } else {
      for (const ValueId output : node.outputs) graph_argument(graph, output);
    }
    json_.close_array().key("metadata").open_object().close_object();
    json_.key("is_hop_single_tensor_return");
    is_higher_order ? json_.value(false) : json_.null();
    // The items of a node with several results are nodes of their own there.
    const std::string_view stem = node.outputs.empty() ? "none" : graph.name_of(node.outputs.front());
    const bool has_one = node.outputs.size() == 1 && !node.has_list_result && !is_higher_order;
    json_.member("name", has_one ? name(graph, node.outputs.front()) : identifiers_.make(fmt::format("{}_all", stem)));
    json_.close_object();
  }

  /// Arguments that ATen takes by name only.
  static bool is_keyword(std::string_view op, std::string_view argument) {
    if (op == "aten.sort.stable") return argument != "self";
    static constexpr std::string_view names[] = {"dtype",         "layout",      "device",        "pin_memory",
                                                 "memory_format", "approximate", "rounding_mode", "generator",
                                                 "include_self",  "correction"};
    return std::find(std::begin(names), std::end(names), argument) != std::end(names);
  }

  /// A condition gives one tensor, no tuple of one.
  void write_graph(const Graph& graph, bool is_condition = false) {
    json_.open_object().key("inputs").open_array();
    for (const foreign::Tensor& tensor : graph.tensors) graph_argument(graph, tensor.value);
    for (const ValueId input : graph.inputs) graph_argument(graph, input);
    json_.close_array().key("outputs").open_array();
    for (const foreign::Output& output : graph.outputs) graph_argument(graph, output.value);
    json_.close_array().key("nodes").open_array();
    for (const foreign::Node& node : graph.nodes) write_node(graph, node);
    json_.close_array().key("tensor_values").open_object();
    each_value(graph, [&](ValueId id) {
      const foreign::Value& value = graph.values[index_of(id)];
      if (value.type) tensor_meta(*value.type, (json_.key(name(graph, id)), is_parameter(graph, id)));
    });
    json_.close_object().key("sym_int_values").open_object();
    each_value(graph, [&](ValueId id) {
      const foreign::Value& value = graph.values[index_of(id)];
      if (value.size.empty()) return;
      json_.key(name(graph, id)).open_object();
      size_expression(value.size);
      json_.close_object();
    });
    json_.close_object();
    for (const char* none : {"sym_bool_values", "custom_obj_values", "sym_float_values"})
      json_.key(none).open_object().close_object();
    json_.member("is_single_tensor_return", is_condition).close_object();
  }

  void graph_argument(const Graph& graph, ValueId id) {
    json_.open_object();
    value_argument(graph, id);
    json_.close_object();
  }

  template <class Visit>
  void each_value(const Graph& graph, Visit visit) {
    for (const foreign::Tensor& tensor : graph.tensors) visit(tensor.value);
    for (const ValueId input : graph.inputs) visit(input);
    for (const foreign::Node& node : graph.nodes)
      for (const ValueId output : node.outputs)
        if (output != ValueId::none) visit(output);
  }

  bool is_parameter(const Graph& graph, ValueId id) const {
    if (&graph != &model_.graph) return false;
    for (const Weight& weight : weights_)
      if (weight.tensor->value == id) return weight.is_parameter;
    return false;
  }

  // ---- the whole

  void find_weights() {
    AttributePaths paths;
    std::map<std::pair<const std::byte*, std::size_t>, std::string> entries;
    const std::vector<bool> is_parameter = aten::are_parameters(model_.graph);
    for (const foreign::Tensor& tensor : model_.graph.tensors) {
      Weight& weight = weights_.emplace_back();
      weight.tensor = &tensor;
      weight.name = paths.make(tensor.name);
      weight.is_parameter = is_parameter[weights_.size() - 1];
      const auto key = std::make_pair(tensor.bytes.data(), tensor.bytes.size());
      const auto [known, is_new] = entries.emplace(key, fmt::format("weight_{}", entries.size()));
      weight.entry = known->second;
    }
  }

  void write_program() {
    find_weights();
    json_.open_object().key("graph_module").open_object().key("graph");
    write_graph(model_.graph);
    write_signature();
    write_calls();
    json_.key("metadata").open_object().close_object();
    json_.key("treespec_namedtuple_fields").open_object().close_object().close_object();
    json_.key("opset_version").open_object().member("aten", 10).close_object();
    json_.key("range_constraints").open_object();
    for (const std::string& symbol : sizes_.symbols())
      json_.key(symbol).open_object().member("min_val", 0).key("max_val").null().close_object();
    json_.close_object();
    json_.key("schema_version").open_object().member("major", 8).member("minor", 8).close_object();
    json_.key("verifiers").open_array().value("TRAINING").close_array();
    json_.member("torch_version", "onnxkit").key("guards_code").open_array().close_array().close_object();
  }

  void write_signature() {
    json_.key("signature").open_object().key("input_specs").open_array();
    for (const Weight& weight : weights_) {
      json_.open_object().key(weight.is_parameter ? "parameter" : "buffer").open_object().key("arg");
      tensor_name(model_.graph, weight.tensor->value);
      json_.member(weight.is_parameter ? "parameter_name" : "buffer_name", weight.name);
      if (!weight.is_parameter) json_.member("persistent", true);
      json_.close_object().close_object();
    }
    for (const ValueId input : model_.graph.inputs) {
      json_.open_object().key("user_input").open_object().key("arg");
      graph_argument(model_.graph, input);
      json_.close_object().close_object();
    }
    json_.close_array().key("output_specs").open_array();
    for (const foreign::Output& output : model_.graph.outputs) {
      json_.open_object().key("user_output").open_object().key("arg");
      graph_argument(model_.graph, output.value);
      json_.close_object().close_object();
    }
    json_.close_array().close_object();
  }

  static std::string leaves(std::size_t count) {
    const std::string_view leaf = R"({"type": null, "context": null, "children_spec": []})";
    return fmt::format("{}", fmt::join(std::vector<std::string_view>(count, leaf), ", "));
  }

  /// The arguments are tensors in their order; the result is one tensor, or a tuple.
  void write_calls() {
    const std::size_t outputs = model_.graph.outputs.size();
    const auto tuple = [](const std::string& children) {
      return fmt::format(R"({{"type": "builtins.tuple", "context": "null", "children_spec": [{}]}})", children);
    };
    const std::string_view no_keywords = R"({"type": "builtins.dict", "context": "[]", "children_spec": []})";
    const std::string arguments = tuple(fmt::format("{}, {}", tuple(leaves(model_.graph.inputs.size())), no_keywords));
    json_.key("module_call_graph").open_array().open_object().member("fqn", "");
    json_.key("signature")
        .open_object()
        .key("inputs")
        .open_array()
        .close_array()
        .key("outputs")
        .open_array()
        .close_array();
    json_.member("in_spec", fmt::format("[1, {}]", arguments));
    json_.member("out_spec", fmt::format("[1, {}]", outputs == 1 ? leaves(1) : tuple(leaves(outputs))));
    json_.key("forward_arg_names").open_array();
    for (const ValueId input : model_.graph.inputs) json_.value(name(model_.graph, input));
    json_.close_array().close_object().close_object().close_array();
  }

  std::string weights_config() {
    JsonWriter whole;
    std::swap(whole, json_);
    json_.open_object().key("config").open_object();
    for (const Weight& weight : weights_) {
      json_.key(weight.name).open_object().member("path_name", weight.entry).member("is_param", weight.is_parameter);
      json_.member("use_pickle", false).key("tensor_meta");
      tensor_meta(type_of(*weight.tensor), weight.is_parameter);
      json_.close_object();
    }
    json_.close_object().close_object();
    std::swap(whole, json_);
    return whole.text();
  }

  std::string examples_of_inputs() {
    std::vector<ExampleInput> inputs;
    for (const ValueId id : model_.graph.inputs) {
      const auto& type = model_.graph.values[index_of(id)].type;
      if (!type || !type->shape) return {};
      ExampleInput& input = inputs.emplace_back(ExampleInput{type->elem, {}});
      for (const foreign::Size& size : *type->shape)
        input.dims.push_back(size.constant >= 0        ? size.constant
                             : size.expression.empty() ? sizes_.of("unknown").example
                                                       : sizes_.of(size.expression).example);
    }
    return example_inputs(inputs);
  }

  Result<void> write_archive(const ByteSink& sink) {
    wire::ZipWriter zip(sink);
    const auto add = [&](std::string_view entry, std::string_view content) {
      return zip.add(fmt::format("{}{}", archive_folder, entry), content);
    };
    std::vector<std::pair<std::string_view, std::string>> texts = {
        {"archive_format", "pt2"},
        {"archive_version", "0"},
        {"byteorder", "little"},
        {".data/version", "6\n"},
        {"models/model.json", json_.text()},
        {"data/weights/model_weights_config.json", weights_config()},
        {"data/constants/model_constants_config.json", R"({"config": {}})"},
        {"data/sample_inputs/model.pt", examples_of_inputs()}};
    for (const auto& [entry, content] : texts)
      if (Result<void> added = add(entry, content); !added) return added;
    std::set<std::string_view> written;
    for (const Weight& weight : weights_) {
      if (!written.insert(weight.entry).second) continue;
      const auto bytes = weight.tensor->bytes;
      const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (Result<void> added =
              zip.add(fmt::format("{}data/weights/{}", archive_folder, weight.entry), {content}, tensor_alignment);
          !added)
        return added;
    }
    return zip.finish();
  }

  const foreign::Model& model_;
  JsonWriter json_;
  SizeTexts sizes_;
  Identifiers identifiers_;
  std::unordered_map<const Graph*, std::vector<std::string>> names_;
  std::vector<Weight> weights_;
};

}  // namespace

Result<void> write_program(const foreign::Model& model, const ByteSink& sink) {
  return ProgramWriter(model).write(sink);
}

}  // namespace onnxkit::pt2
