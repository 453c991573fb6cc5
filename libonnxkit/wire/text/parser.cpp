#include "libonnxkit/wire/text/parser.h"

#include <fmt/core.h>

#include <algorithm>

#include "libonnxkit/wire/text.h"

namespace onnxkit::wire {

Result<ir::Model> parse_text(std::string_view text, std::string_view source_name) {
  return text::Parser(text, source_name).parse();
}

namespace text {

Result<ir::Model> Parser::parse() {
  model();
  if (in_.failed()) return error();
  return std::move(model_);
}

Error Parser::error() const {
  const SyntaxError& fault = *in_.error();
  const std::string_view before = text_.substr(0, fault.position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::size_t column = 1 + fault.position - line_start;

  Error error =
      make_error("text-syntax", fmt::format("{}:{}: expected {}, found {}", line, column, fault.expected, fault.found));
  error.diagnostic.location.file = source_;
  error.diagnostic.location.byte_offset = fault.position;
  // A line of a tensor may be very long: show what surrounds the fault.
  constexpr std::size_t shown_before = 80;
  const std::size_t from = column > shown_before ? fault.position - shown_before : line_start;
  const std::size_t to = std::min(text_.find('\n', fault.position), text_.size());
  error.diagnostic.notes.push_back(fmt::format("line {}: {}", line, quote(text_.substr(from, to - from))));
  return error;
}

void Parser::wrong(std::size_t position, std::string expected) {
  const std::size_t end = std::min(in_.failed() ? position : in_.position(), position + 60);
  std::string_view found = text_.substr(position, end - position);
  while (!found.empty() && (found.back() == ' ' || found.back() == '\n')) found.remove_suffix(1);
  in_.fail_at(position, std::move(expected), quote(found));
}

ir::ValueId Parser::intern(ir::Graph& graph, std::string_view name) {
  const ir::ValueId known = graph.find(name);
  return known != ir::ValueId::none || name.empty() ? known : graph.intern(keep(name));
}

std::int64_t Parser::integer(const char* expected) {
  const std::size_t start = in_.position();
  const Number number = in_.number();
  if (number.spelling.empty() || number.is_float) {
    if (number.spelling.empty()) {
      in_.fail(expected);
    } else {
      wrong(start, expected);
    }
    return 0;
  }
  const auto value = to_int64(number.spelling);
  if (!value) wrong(start, "a number of at most 64 bits");
  return value.value_or(0);
}

void Parser::model() {
  const Nesting nesting(*this, 1);
  if (in_.match('<')) model_header();
  if (in_.next_is_extension()) extension(model_);
  if (has_graph_) {
    model_.graph = std::make_unique<ir::Graph>();
    graph(*model_.graph);
  }
  while (!in_.at_end()) function(model_.functions.emplace_back());
}

void Parser::model_header() {
  separated([&] {
    const std::size_t start = in_.position();
    const std::string_view key = in_.identifier();
    if (key == "ir_version" || key == "opset_import" || key == "producer_name" || key == "producer_version" ||
        key == "domain" || key == "model_version" || key == "doc_string" || key == "metadata_props") {
      return named_field(start, key, model_);
    }
    if (key.empty()) return in_.fail("a field of the model, such as ir_version");
    wrong(start, "a field of the model, such as ir_version");
  });
  in_.expect('>');
}

void Parser::opset_imports(std::vector<ir::OpsetImport>& imports) {
  imports.clear();
  in_.expect('[');
  if (in_.match(']')) return;
  separated_messages(imports, [&](ir::OpsetImport& import) {
    import.domain = keep(in_.string());
    in_.expect(':');
    import.version = integer("a version number");
  });
  in_.expect(']');
}

void Parser::function(ir::Function& function) {
  const Nesting nesting(*this, 1);
  if (in_.match('<')) function_header(function);
  function.name = keep(in_.name("a function or the end of the text"));
  if (in_.match('<')) function_attributes(function);
  function_values(function.body, function.body.inputs);
  in_.expect_arrow();
  function_values(function.body, function.body.outputs);
  if (in_.match('<') && !in_.match('>')) {
    separated_messages(function.body.value_infos, [&](ir::ValueInfo& info) { value_info(function.body, info); });
    in_.expect('>');
  }
  if (in_.next_is_extension()) extension(function);
  nodes(function.body);
}

void Parser::function_header(ir::Function& function) {
  separated([&] {
    const std::size_t start = in_.position();
    const std::string_view key = in_.identifier();
    if (key == "opset_import" || key == "doc_string" || key == "domain" || key == "overload")
      return named_field(start, key, function);
    if (key.empty()) return in_.fail("a field of the function, such as opset_import");
    wrong(start, "a field of the function, such as opset_import");
  });
  in_.expect('>');
}

void Parser::function_attributes(ir::Function& function) {
  bool has_default = false;
  const auto item = [&] {
    const Text name = keep(in_.name("the name of an attribute"));
    has_default = in_.peek() == ':' || in_.peek() == '=';
    if (!has_default) return void(function.attributes.push_back(name));
    ir::Attribute& attribute = function.attribute_protos.emplace_back();
    attribute.name = name;
    attribute_after_name(attribute);
  };
  separated(item, [&] {
    if (has_default) {
      extension(function.attribute_protos.back());
    } else {
      in_.fail("',' or '>'");
    }
  });
  in_.expect('>');
}

/// Names; one with a type is a value_info too.
void Parser::function_values(ir::Graph& body, std::vector<ir::ValueInfo>& values) {
  in_.expect('(');
  if (in_.match(')')) return;
  separated([&] {
    const bool typed = next_is_type();
    ir::ValueInfo info;
    value_info(body, info);
    values.emplace_back().value = info.value;
    if (typed) body.value_infos.push_back(std::move(info));
  });
  in_.expect(')');
}

void Parser::graph(ir::Graph& graph) { graph_after_name(graph, keep(in_.name("the name of a graph"))); }

void Parser::graph_after_name(ir::Graph& graph, Text name) {
  const Nesting nesting(*this, 1);
  graph.name = name;
  graph_inputs(graph);
  in_.expect_arrow();
  value_infos(graph, '(', graph.outputs, ')');
  if (in_.match('<')) graph_values(graph);
  if (in_.next_is_extension()) extension(graph);
  nodes(graph);
  graph.intern_initializers();
  graph.intern_initializers();
}

/// An input with data behind '=' is an initializer too.
void Parser::graph_inputs(ir::Graph& graph) {
  if (!in_.match('(') || in_.match(')')) return;
  bool is_initializer = false;
  const auto item = [&] {
    ir::ValueInfo& info = graph.inputs.emplace_back();
    value_info(graph, info);
    is_initializer = in_.match('=');
    if (!is_initializer) return;
    ir::Tensor& tensor = graph.initializers.emplace_back();
    tensor.name = graph.name_of(info.value);
    tensor_after_type(tensor, info.type);
  };
  separated(item, [&] {
    if (is_initializer) {
      extension(graph.initializers.back());
    } else {
      extension(graph.inputs.back());
    }
  });
  in_.expect(')');
}

/// Initializers (name = data) and value_infos (name alone) in one list.
void Parser::graph_values(ir::Graph& graph) {
  if (in_.match('>')) return;
  enum class Last { initializer, sparse_initializer, value_info } last{};
  const auto item = [&] {
    if (in_.peek_identifier() == "sparse_tensor" && !next_is_type()) {
      last = Last::sparse_initializer;
      return sparse_tensor(graph.sparse_initializers.emplace_back());
    }
    ir::ValueInfo info;
    value_info(graph, info);
    last = in_.match('=') ? Last::initializer : Last::value_info;
    if (last == Last::value_info) return void(graph.value_infos.push_back(std::move(info)));
    ir::Tensor& tensor = graph.initializers.emplace_back();
    tensor.name = graph.name_of(info.value);
    tensor_after_type(tensor, info.type);
  };
  separated(item, [&] {
    switch (last) {
      case Last::initializer:
        return extension(graph.initializers.back());
      case Last::sparse_initializer:
        return extension(graph.sparse_initializers.back());
      case Last::value_info:
        return extension(graph.value_infos.back());
    }
  });
  in_.expect('>');
}

void Parser::value_infos(ir::Graph& graph, char open, std::vector<ir::ValueInfo>& infos, char close) {
  in_.expect(open);
  if (in_.match(close)) return;
  separated_messages(infos, [&](ir::ValueInfo& info) { value_info(graph, info); });
  in_.expect(close);
}

void Parser::value_info(ir::Graph& graph, ir::ValueInfo& info) {
  if (next_is_type()) type(info.type.emplace());
  info.value = intern(graph, in_.name(info.type ? "the name of a value" : "a type or the name of a value"));
}

void Parser::nodes(ir::Graph& graph) {
  in_.expect('{');
  while (!in_.failed() && !in_.match('}')) {
    ir::Node& node = graph.nodes.emplace_back();
    this->node(graph, node);
    if (in_.next_is_extension()) extension(node);
  }
}

void Parser::node(ir::Graph& graph, ir::Node& node) {
  const Nesting nesting(*this, 1);
  if (in_.match('[')) {
    node.name = keep(in_.peek() == ']' ? std::string_view() : in_.name("the name of a node"));
    in_.expect(']');
  }
  value_ids(graph, node.outputs);
  if (in_.peek() != '=') return in_.fail(node.outputs.empty() ? "a node or '}'" : "'=' after the outputs of a node");
  in_.expect('=');
  node_operator(node);
  attributes(node.attributes);
  in_.expect('(');
  value_ids(graph, node.inputs);
  in_.expect(')');
  if (node.attributes.empty()) attributes(node.attributes);
}

/// domain.Operator:overload
void Parser::node_operator(ir::Node& node) {
  std::string domain;
  const bool named = in_.next_is_string() || !in_.peek_identifier().empty();
  std::string name(named ? in_.name("an operator") : std::string_view());
  while (in_.match('.')) {
    domain += domain.empty() ? name : "." + name;
    name = in_.name("the name of an operator");
  }
  node.op_type = keep(name);
  if (!domain.empty()) node.domain = keep(domain);
  if (in_.match(':')) node.overload = keep(in_.name("the name of an overload"));
}

/// Names of inputs or outputs. "" is an omitted one; so is nothing before a comma, but not after the last one.
void Parser::value_ids(ir::Graph& graph, std::vector<ir::ValueId>& ids) {
  for (;;) {
    if (in_.next_is_string()) {
      ids.push_back(intern(graph, in_.string()));
    } else {
      const std::string_view id = in_.identifier();
      if (id.empty() && in_.peek() != ',') return;
      ids.push_back(intern(graph, id));
    }
    if (!in_.match(',')) return;
  }
}

}  // namespace text
}  // namespace onnxkit::wire
