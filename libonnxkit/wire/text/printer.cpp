#include "libonnxkit/wire/text/printer.h"

#include <type_traits>

#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/text.h"
#include "libonnxkit/wire/text/cursor.h"
#include "libonnxkit/wire/text/print_extension.h"
#include "libonnxkit/wire/text/spelling.h"

namespace onnxkit::wire {

std::string print_text(const ir::Model& model) { return text::Printer().print(model); }

namespace text {
namespace {

/// Counts the tensors whose numbers lie in raw_data and those with typed ones.
struct StorageCounter {
  static constexpr bool reading = false;
  std::size_t raw = 0, typed = 0;

  template <class T>
  void operator()(std::uint32_t, const char*, const T& member) {
    visit(member);
  }
  template <class T>
  void payload(std::uint32_t, const char*, const ir::Attribute& attribute) {
    if (const T* held = attribute.as<T>()) visit(*held);
  }
  template <class Number>
  void one_of(std::uint32_t, const char*, const std::optional<Number>&, std::uint32_t, const char*, const Text&) {}
  template <ir::DeclaredType::Kind kind_value>
  void kind(std::uint32_t, const char*, const ir::DeclaredType&) {}
  template <class T>
  void value_names(std::uint32_t, const char*, const std::vector<T>&) {}
  void value_name(std::uint32_t, const char*, const ir::ValueInfo&) {}
  void unknown(const Text&) {}

 private:
  void visit(const ir::Tensor& tensor) {
    if (!literal_form(tensor.data_type).has_numbers() || tensor.is_external()) return;
    ++(tensor.raw_data.present() ? raw : typed);
  }
  template <class T>
  void visit(const std::vector<T>& members) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, Text>) {
      for (const T& member : members) visit(member);
    }
  }
  template <class T>
  void visit(const std::unique_ptr<T>& member) {
    if (member) visit(*member);
  }
  template <class M>
  void visit(const M& member) {
    if constexpr (std::is_same_v<M, ir::Graph> || std::is_same_v<M, ir::Node> || std::is_same_v<M, ir::Attribute> ||
                  std::is_same_v<M, ir::SparseTensor> || std::is_same_v<M, ir::Function> ||
                  std::is_same_v<M, ir::TrainingInfo>) {
      fields(*this, member);
    }
  }
};

bool has_graph(const ir::Attribute& attribute) {
  return std::holds_alternative<std::unique_ptr<ir::Graph>>(attribute.payload) ||
         std::holds_alternative<std::vector<std::unique_ptr<ir::Graph>>>(attribute.payload);
}

}  // namespace

std::string Printer::print(const ir::Model& model) {
  StorageCounter storage;
  fields(storage, model);
  raw_tensors_ = storage.raw > storage.typed;

  model_header(model);
  Extras extras = this->extras(model, bits(1, 2, 3, 4, 5, 6, 7, 8, 14, 25));
  if (!model.graph) add(extras.required, "graph: none");
  if (raw_tensors_) extras.skippable = extras.skippable.empty() ? "raw_tensors" : "raw_tensors, " + extras.skippable;
  if (!extras.empty()) {
    emit(extras);
    newline();
  }
  if (model.graph) graph(*model.graph);
  for (const ir::Function& function : model.functions) {
    newline();
    this->function(function);
  }
  newline();
  return std::move(out_);
}

void Printer::model_header(const ir::Model& model) {
  bool empty = true;
  const auto field = [&](const char* key, bool present, auto print) {
    if (!present) return;
    put(empty ? "<\n  " : ",\n  ");
    put(key);
    put(": ");
    print();
    empty = false;
  };
  const auto text = [&](const char* key, const Text& member) { field(key, member.present(), [&] { value(member); }); };
  const auto number = [&](const char* key, std::optional<std::int64_t> member) {
    field(key, member.has_value(), [&] { integer(*member); });
  };
  number("ir_version", model.ir_version);
  field("opset_import", !model.opset_imports.empty(), [&] { opset_imports(model.opset_imports); });
  text("producer_name", model.producer_name);
  text("producer_version", model.producer_version);
  text("domain", model.domain);
  number("model_version", model.model_version);
  text("doc_string", model.doc_string);
  field("metadata_props", !model.metadata_props.empty(), [&] { value(model.metadata_props); });
  if (!empty) put("\n>\n");
}

void Printer::opset_imports(const std::vector<ir::OpsetImport>& imports) {
  put("[");
  list(imports.size(), false, [&](std::size_t i) {
    const ir::OpsetImport& import = imports[i];
    value(import.domain);
    put(": ");
    integer(import.version.value_or(0));
    Extras extras = this->extras(import, bits(1, 2));
    if (!import.domain.present()) add(extras.skippable, "domain: none");
    if (!import.version) add(extras.skippable, "version: none");
    return extras;
  });
  put("]");
}

void Printer::function(const ir::Function& function) {
  function_header(function);
  name(function.name);
  function_attributes(function);
  put(" ");
  function_values(function.body, function.body.inputs);
  put(" => ");
  function_values(function.body, function.body.outputs);
  if (!function.body.value_infos.empty()) {
    put(" ");
    value_infos(function.body, '<', function.body.value_infos, '>');
  }
  Extras extras = this->extras(function, bits(1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13));
  if (!function.name.present()) add(extras.skippable, "name: none");
  emit(extras);
  nodes(function.body);
}

void Printer::function_header(const ir::Function& function) {
  bool empty = true;
  const auto field = [&](const char* key, bool present, auto print) {
    if (!present) return;
    put(empty ? "<" : ", ");
    put(key);
    put(": ");
    print();
    empty = false;
  };
  field("domain", function.domain.present(), [&] { value(function.domain); });
  field("overload", function.overload.present(), [&] { value(function.overload); });
  field("opset_import", !function.opset_imports.empty(), [&] { opset_imports(function.opset_imports); });
  field("doc_string", function.doc_string.present(), [&] { value(function.doc_string); });
  if (empty) return;
  put(">");
  newline();
}

void Printer::function_attributes(const ir::Function& function) {
  if (function.attributes.empty() && function.attribute_protos.empty()) return;
  put(" <");
  const std::size_t required = function.attributes.size();
  list(required + function.attribute_protos.size(), false, [&](std::size_t i) {
    if (i >= required) return attribute(function.attribute_protos[i - required]);
    word(function.attributes[i]);
    return Extras();
  });
  put(">");
}

void Printer::function_values(const ir::Graph& body, const std::vector<ir::ValueInfo>& values) {
  put("(");
  list(values.size(), false, [&](std::size_t i) {
    name(body.name_of(values[i].value));
    return Extras();
  });
  put(")");
}

void Printer::graph(const ir::Graph& graph) {
  name(graph.name);
  put(" ");
  value_infos(graph, '(', graph.inputs, ')');
  put(" => ");
  value_infos(graph, '(', graph.outputs, ')');
  graph_values(graph);
  Extras extras = this->extras(graph, bits(1, 2, 5, 11, 12, 13, 15));
  if (!graph.name.present()) add(extras.skippable, "name: none");
  emit(extras);
  nodes(graph);
}

void Printer::graph_values(const ir::Graph& graph) {
  if (graph.initializers.empty() && graph.sparse_initializers.empty() && graph.value_infos.empty()) return;
  const std::size_t dense = graph.initializers.size();
  const std::size_t all = dense + graph.sparse_initializers.size();
  put(" <");
  ++indent_;
  list(all + graph.value_infos.size(), true, [&](std::size_t i) {
    if (i < dense) return tensor(graph.initializers[i], TensorRole::initializer);
    if (i < all) return sparse_tensor(graph.sparse_initializers[i - dense]);
    return value_info(graph, graph.value_infos[i - all]);
  });
  --indent_;
  newline();
  put(">");
}

void Printer::value_infos(const ir::Graph& graph, char open, const std::vector<ir::ValueInfo>& infos, char close) {
  constexpr std::size_t most_in_a_line = 8;
  const bool lines = infos.size() > most_in_a_line;
  put(std::string_view(&open, 1));
  ++indent_;
  list(infos.size(), lines, [&](std::size_t i) { return value_info(graph, infos[i]); });
  --indent_;
  if (lines) newline();
  put(std::string_view(&close, 1));
}

Extras Printer::value_info(const ir::Graph& graph, const ir::ValueInfo& info) {
  if (info.type) {
    emit(type(*info.type));
    put(comment_open_ ? "" : " ");
  }
  name(graph.name_of(info.value));
  Extras extras = this->extras(info, bits(1, 2));
  if (!info.has_name) add(extras.skippable, "name: none");
  return extras;
}

void Printer::nodes(const ir::Graph& graph) {
  put(comment_open_ ? "{" : " {");
  ++indent_;
  for (const ir::Node& node : graph.nodes) {
    newline();
    this->node(graph, node);
  }
  --indent_;
  newline();
  put("}");
}

void Printer::node(const ir::Graph& graph, const ir::Node& node) {
  if (node.name.present()) {
    put("[");
    name(node.name);
    put("] ");
  }
  value_ids(graph, node.outputs);
  put(" = ");
  if (!node.domain.empty()) {
    if (is_dotted_identifier(node.domain)) {
      put(node.domain);
    } else {
      value(node.domain);
    }
    put(".");
  }
  const bool nameless = node.op_type.empty() && node.domain.empty();
  if (!nameless) word(node.op_type);
  if (!node.overload.empty()) {
    put(":");
    word(node.overload);
  }
  bool has_subgraph = false;
  for (const ir::Attribute& attribute : node.attributes) has_subgraph = has_subgraph || has_graph(attribute);
  if (!has_subgraph) attributes(node.attributes);
  put(comment_open_ ? "(" : " (");
  value_ids(graph, node.inputs);
  put(")");
  if (has_subgraph) attributes(node.attributes);

  Extras extras = this->extras(node, bits(1, 2, 3, 4, 5, 7, 8));
  if (node.domain.present() && node.domain.empty()) add(extras.skippable, "domain: \"\"");
  if (node.overload.present() && node.overload.empty()) add(extras.skippable, "overload: \"\"");
  if (!node.op_type.present()) add(extras.skippable, "op_type: none");
  emit(extras);
}

void Printer::value_ids(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) put(", ");
    name(graph.name_of(ids[i]));
  }
}

void Printer::leave_comment() {
  if (comment_open_) newline();
}

void Printer::put(std::string_view text) {
  if (text.empty()) return;
  leave_comment();
  out_ += text;
}

void Printer::newline() {
  comment_open_ = false;
  if (one_line_) {
    out_ += ' ';
    return;
  }
  out_ += '\n';
  out_.append(static_cast<std::size_t>(indent_) * 2, ' ');
}

void Printer::name(std::string_view name) {
  leave_comment();
  append_name(out_, name, one_line_);
}

void Printer::word(std::string_view word) {
  if (is_identifier(word)) {
    put(word);
  } else {
    name(word);
  }
}

}  // namespace text
}  // namespace onnxkit::wire
