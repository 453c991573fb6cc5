#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/formats/pt2/names.h"

// Graphs of ATen operators as statements of Python, which TorchScript's code is a part of.
namespace onnxkit::aten {

enum class Dialect {
  python,       ///< calls of torch and torch.nn.functional where they say the same, else of torch.ops.aten
  torchscript,  ///< the code in archives: torch.name(...), element types as numbers
};

/// torch's number of an element type in TorchScript's code, c10::ScalarType.
int script_type(ElementType elem);

/// Writes the body of one function. Bodies of branches and loops are written in place.
class CodeWriter {
 public:
  explicit CodeWriter(Dialect dialect);

  /// A name for a value that no statement computes: an input, a parameter. Parameters are expressions.
  std::string name_input(const foreign::Graph& graph, foreign::ValueId value);
  void name_as(const foreign::Graph& graph, foreign::ValueId value, std::string expression);

  /// Statements for all nodes, indented.
  void write_nodes(const foreign::Graph& graph, const std::string& indent);
  const std::string& name(const foreign::Graph& graph, foreign::ValueId value) const;
  const std::string& text() const { return text_; }
  /// A statement that begins with "return".
  std::string returned(const foreign::Graph& graph) const;

 private:
  using Names = std::vector<std::string>;

  Names& names_of(const foreign::Graph& graph);
  std::string made(const foreign::Graph& graph, foreign::ValueId value);
  void write_node(const foreign::Graph& graph, const foreign::Node& node, const std::string& indent);
  void write_branches(const foreign::Graph& graph, const foreign::Node& node, const std::string& indent);
  void write_loop(const foreign::Graph& graph, const foreign::Node& node, const std::string& indent);
  std::string call_of(const foreign::Graph& graph, const foreign::Node& node);
  std::string size_call(const foreign::Graph& graph, const foreign::Node& node);
  std::string filled_form(const foreign::Graph& graph, const foreign::Node& node, std::string_view form);
  std::string natural_call(const foreign::Graph& graph, const foreign::Node& node);
  std::string argument(const foreign::Graph& graph, const foreign::Argument& given);
  std::string list(const foreign::Graph& graph, const foreign::Argument::List& items, bool may_omit);
  std::string number(double value) const;
  void line(const std::string& indent, const std::string& statement);

  Dialect dialect_;
  pt2::Identifiers identifiers_;
  std::unordered_map<const foreign::Graph*, Names> names_;
  std::string text_;
};

}  // namespace onnxkit::aten
