#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/result.h"

// The code in an archive of TorchScript: a small part of Python's syntax, read into trees and never run. Text views into the source.
namespace onnxkit::torchscript {

struct Expression {
  enum class Kind : std::uint8_t {
    name,       ///< text
    integer,    ///< integer
    real,       ///< real
    text,       ///< string
    boolean,    ///< integer
    none,       ///
    list,       ///< parts
    tuple,      ///< parts
    dict,       ///< parts: keys and values in turn
    attribute,  ///< parts[0].text
    call,       ///< parts[0] called with the others; `keywords` names the last of them
    item,       ///< parts[0][parts[1]]
    choice,     ///< parts[0] if parts[1] else parts[2]
    operation,  ///< text is the operator: "-", "not", "+" ... with one or two parts
  };
  Kind kind = Kind::none;
  std::string_view text = {};
  std::string string = {};  ///< a string literal without its escapes
  std::int64_t integer = 0;
  double real = 0;
  std::vector<Expression> parts = {};
  std::vector<std::string_view> keywords = {};
  int depth = 1;  ///< of the tree
};

struct Statement {
  enum class Kind : std::uint8_t {
    assignment,  ///< targets = value
    expression,  ///< value
    result,      ///< return value
    branch,      ///< if value: body else: other
    for_loop,    ///< for targets in value: body
    while_loop,  ///< while value: body
    function,    ///< def targets[0](): body
    context,     ///< with value as targets: body
    failure,     ///< raise, assert
    nothing,     ///< pass
  };
  Kind kind = Kind::nothing;
  std::vector<Expression> targets = {};
  Expression value = {};
  bool unpacks = false;  ///< of an assignment: targets get the items of the value
  std::vector<Statement> body = {}, other = {};
  std::size_t line = 0;
};

struct Function {
  struct Parameter {
    std::string_view name;
    Expression type, fallback;
    bool has_fallback = false;
  };
  std::string_view name;
  std::vector<Parameter> parameters;
  Expression result;  ///< type
  std::vector<Statement> body;
};

struct Class {
  std::string_view name;
  std::vector<Function> methods;
  bool is_tuple = false;  ///< a NamedTuple
  std::vector<std::string_view> fields = {};
  bool is_enumeration = false;
  std::vector<Statement> members = {};  ///< of an enumeration: NAME = value
};

/// A file of the archive.
struct SourceFile {
  std::vector<Class> classes;
  std::vector<Function> functions;
};

/// Error codes: malformed-model, nesting-depth. `path` is for messages; `source` must outlive what is returned.
Result<SourceFile> parse_source(std::string_view source, std::string_view path);

/// "torch.add" of names and attributes of names; empty for anything else.
inline std::string path_of(const Expression& expression) {
  if (expression.kind == Expression::Kind::name) return std::string(expression.text);
  if (expression.kind != Expression::Kind::attribute) return {};
  const std::string outer = path_of(expression.parts.front());
  return outer.empty() ? outer : outer + "." + std::string(expression.text);
}

/// The name that a chain of attributes begins with; empty for one that begins with another expression.
inline std::string_view first_name(const Expression& expression) {
  const Expression* at = &expression;
  while (at->kind == Expression::Kind::attribute) at = &at->parts.front();
  return at->kind == Expression::Kind::name ? at->text : std::string_view();
}

}  // namespace onnxkit::torchscript
