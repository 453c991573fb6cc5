#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "converters/formats/torchscript/lexer.h"
#include "converters/formats/torchscript/syntax.h"

namespace onnxkit::torchscript {
namespace {

using Form = Expression::Kind;

/// A string literal as the characters that it stands for.
std::string unescaped(std::string_view literal) {
  std::string text;
  literal = literal.substr(1, literal.size() - 2);
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i];
      continue;
    }
    const char code = literal[++i];
    text += code == 'n' ? '\n' : code == 't' ? '\t' : code == 'r' ? '\r' : code;
  }
  return text;
}

/// Recursive descent. The first fault stays, with its line; what is read after it is of no use.
class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view path) : tokens_(std::move(tokens)), path_(path) {}

  Result<SourceFile> run() {
    SourceFile file;
    while (!fault_ && !is_end()) {
      if (take_name("class")) {
        read_class(file);
      } else if (take_name("def")) {
        file.functions.push_back(function());
      } else {
        statement();  // a number of the format's version, an import
      }
    }
    if (fault_) return *fault_;
    return file;
  }

 private:
  // ---- tokens

  const Token& next() const { return tokens_[at_]; }
  bool is_end() const { return next().kind == Token::Kind::end; }
  bool is_symbol(std::string_view text) const { return next().kind == Token::Kind::symbol && next().text == text; }
  bool is_name(std::string_view text) const { return next().kind == Token::Kind::name && next().text == text; }
  bool take(Token::Kind kind) {
    if (next().kind != kind) return false;
    if (!is_end()) ++at_;
    return true;
  }
  bool take_symbol(std::string_view text) { return is_symbol(text) && take(Token::Kind::symbol); }
  bool take_name(std::string_view text) { return is_name(text) && take(Token::Kind::name); }
  void expect(bool met, std::string_view what) {
    if (met || fault_) return;
    fail(make_error("malformed-model", fmt::format("line {} of {}: {} is missing", next().line, quote(path_), what)));
  }
  void fail(Error error) {
    if (!fault_) fault_ = std::move(error);
    at_ = tokens_.size() - 1;  // ends every loop
  }
  std::string_view name() {
    const std::string_view text = next().text;
    expect(take(Token::Kind::name), "a name");
    return text;
  }

  /// Guards recursion; false when it goes too deep.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      constexpr int deepest = 600;
      if (++parser_.depth_ > deepest)
        parser_.fail(make_error("nesting-depth", "the code of the model is nested too deeply"));
    }
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  /// Chains grow a tree without recursion here, but not where it is walked.
  Expression sealed(Expression made) {
    constexpr int deepest = 400;
    for (const Expression& part : made.parts) made.depth = std::max(made.depth, part.depth + 1);
    if (made.depth > deepest)
      fail(make_error("nesting-depth", "an expression of the model's code is nested too deeply"));
    return made;
  }

  // ---- definitions

  void read_class(SourceFile& file) {
    Class made;
    made.name = name();
    if (take_symbol("(")) {
      for (; !is_end() && !is_symbol(")"); ++at_) {
        made.is_tuple = made.is_tuple || is_name("NamedTuple");
        made.is_enumeration = made.is_enumeration || is_name("Enum");
      }
      expect(take_symbol(")"), "a bracket");
    }
    begin_block();
    while (!fault_ && !take(Token::Kind::dedent)) {
      if (is_end()) break;
      if (take_name("def")) {
        made.methods.push_back(function());
      } else {
        if (made.is_tuple) made.fields.push_back(next().text);
        Statement attribute = statement();  // and its type, which the objects themselves have
        if (made.is_enumeration) made.members.push_back(std::move(attribute));
      }
    }
    file.classes.push_back(std::move(made));
  }

  Function function() {
    Function made;
    made.name = name();
    expect(take_symbol("("), "a bracket");
    while (!fault_ && !is_symbol(")")) {
      take_symbol("*");
      if (take_symbol(",")) continue;
      Function::Parameter& parameter = made.parameters.emplace_back();
      parameter.name = name();
      if (take_symbol(":")) parameter.type = expression();
      if (take_symbol("=")) {
        parameter.fallback = expression();
        parameter.has_fallback = true;
      }
      if (!take_symbol(",")) break;
    }
    expect(take_symbol(")"), "a bracket");
    if (take_symbol("->")) made.result = expression();
    made.body = block();
    return made;
  }

  void begin_block() {
    expect(take_symbol(":"), "a colon");
    expect(take(Token::Kind::line_end) && take(Token::Kind::indent), "a block");
  }

  std::vector<Statement> block() {
    const Level level(*this);
    std::vector<Statement> statements;
    begin_block();
    while (!fault_ && !take(Token::Kind::dedent)) {
      if (is_end()) break;
      statements.push_back(statement());
    }
    return statements;
  }

  // ---- statements

  Statement statement() {
    Statement made;
    made.line = next().line;
    if (take_name("if")) return branch(std::move(made));
    if (take_name("while") || is_name("for")) return loop(std::move(made));
    if (take_name("with")) return context(std::move(made));
    if (take_name("def")) return inner_function(std::move(made));
    if (take_name("return")) {
      made.kind = Statement::Kind::result;
      if (next().kind != Token::Kind::line_end) made.value = tuple_or_expression();
    } else if (take_name("raise") || take_name("assert")) {
      made.kind = Statement::Kind::failure;
      tuple_or_expression();
    } else if (!take_name("pass")) {
      assignment(made);
    }
    expect(take(Token::Kind::line_end), "the end of the line");
    return made;
  }

  /// Without parameters: what it needs are variables around it.
  Statement inner_function(Statement made) {
    made.kind = Statement::Kind::function;
    const std::string_view called = name();
    made.targets.push_back(Expression{.kind = Form::name, .text = called});
    expect(take_symbol("("), "a bracket");
    expect(take_symbol(")"), "a bracket");
    made.body = block();
    return made;
  }

  Statement branch(Statement made) {
    made.kind = Statement::Kind::branch;
    made.value = expression();
    made.body = block();
    if (take_name("elif")) {
      Statement inner;
      inner.line = next().line;
      const Level level(*this);
      made.other.push_back(branch(std::move(inner)));
    } else if (take_name("else")) {
      made.other = block();
    }
    return made;
  }

  Statement loop(Statement made) {
    made.kind = Statement::Kind::while_loop;
    if (take_name("for")) {
      made.kind = Statement::Kind::for_loop;
      made.targets.push_back(postfix());
      while (take_symbol(",")) made.targets.push_back(postfix());
      expect(take_name("in"), "'in'");
    }
    made.value = expression();
    made.body = block();
    return made;
  }

  Statement context(Statement made) {
    made.kind = Statement::Kind::context;
    made.value = expression();
    if (take_name("as")) made.targets.push_back(postfix());
    made.body = block();
    return made;
  }

  /// An expression, its type, or values for names.
  void assignment(Statement& made) {
    made.kind = Statement::Kind::expression;
    made.value = tuple_or_expression();
    if (take_symbol(":")) expression();
    if (!take_symbol("=")) return;
    made.kind = Statement::Kind::assignment;
    made.unpacks = made.value.kind == Form::tuple;
    if (made.unpacks) {
      made.targets = std::move(made.value.parts);
    } else {
      made.targets.push_back(std::move(made.value));
    }
    made.value = tuple_or_expression();
  }

  // ---- expressions

  Expression tuple_or_expression() {
    Expression first = expression();
    if (!is_symbol(",")) return first;
    Expression tuple{.kind = Form::tuple};
    tuple.parts.push_back(std::move(first));
    while (take_symbol(",")) {
      if (is_symbol("=") || next().kind == Token::Kind::line_end) break;
      tuple.parts.push_back(expression());
    }
    return sealed(std::move(tuple));
  }

  Expression expression() {
    const Level level(*this);
    Expression value = operation(0);
    if (!take_name("if")) return value;
    Expression choice{.kind = Form::choice};
    choice.parts.push_back(std::move(value));
    choice.parts.push_back(operation(0));
    expect(take_name("else"), "'else'");
    choice.parts.push_back(expression());
    return sealed(std::move(choice));
  }

  /// How tightly the next token binds as an operator of two operands; -1 for none.
  int precedence() const {
    constexpr std::array<std::pair<std::string_view, int>, 21> operators = {{
        {"or", 0}, {"and", 1}, {"in", 2}, {"is", 2}, {"==", 2}, {"!=", 2}, {"<", 2},
        {">", 2},  {"<=", 2},  {">=", 2}, {"|", 3},  {"^", 4},  {"&", 5},  {"+", 6},
        {"-", 6},  {"*", 7},   {"/", 7},  {"//", 7}, {"%", 7},  {"@", 7},  {"**", 8},
    }};
    if (next().kind != Token::Kind::symbol && next().kind != Token::Kind::name) return -1;
    for (const auto& [text, level] : operators)
      if (next().text == text) return level;
    return -1;
  }

  Expression operation(int lowest) {
    const Level nesting(*this);
    Expression left = prefixed();
    for (int level = precedence(); !fault_ && level >= lowest; level = precedence()) {
      Expression both{.kind = Form::operation, .text = next().text};
      ++at_;
      if (both.text == "is" && take_name("not")) both.text = "is not";
      both.parts.push_back(std::move(left));
      both.parts.push_back(operation(level + 1));
      left = sealed(std::move(both));
    }
    return left;
  }

  Expression prefixed() {
    const Level level(*this);
    if (!is_symbol("-") && !is_symbol("+") && !is_symbol("~") && !is_name("not")) return postfix();
    Expression made{.kind = Form::operation, .text = next().text};
    ++at_;
    Expression operand = prefixed();
    const bool is_number = operand.kind == Form::integer || operand.kind == Form::real;
    if (made.text == "-" && is_number) {
      operand.integer = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(operand.integer));
      operand.real = -operand.real;
      return operand;
    }
    made.parts.push_back(std::move(operand));
    return sealed(std::move(made));
  }

  Expression postfix() {
    Expression value = primary();
    while (!fault_) {
      if (take_symbol(".")) {
        Expression made{.kind = Form::attribute, .text = name()};
        made.parts.push_back(std::move(value));
        value = sealed(std::move(made));
      } else if (take_symbol("(")) {
        value = call(std::move(value));
      } else if (take_symbol("[")) {
        Expression made{.kind = Form::item};
        made.parts.push_back(std::move(value));
        made.parts.push_back(list_until("]", Form::tuple));
        if (made.parts[1].parts.size() == 1) made.parts[1] = Expression(made.parts[1].parts[0]);
        value = sealed(std::move(made));
      } else {
        break;
      }
    }
    return value;
  }

  Expression call(Expression callee) {
    Expression made{.kind = Form::call};
    made.parts.push_back(std::move(callee));
    while (!fault_ && !is_symbol(")")) {
      const bool is_keyword = next().kind == Token::Kind::name && tokens_[at_ + 1].kind == Token::Kind::symbol &&
                              tokens_[at_ + 1].text == "=";
      if (is_keyword) {
        made.keywords.push_back(name());
        take_symbol("=");
      } else if (!made.keywords.empty()) {
        expect(false, "the name of an argument");
      }
      made.parts.push_back(expression());
      if (!take_symbol(",")) break;
    }
    expect(take_symbol(")"), "a bracket");
    return sealed(std::move(made));
  }

  Expression list_until(std::string_view close, Form kind) {
    Expression made{.kind = kind};
    while (!fault_ && !is_symbol(close)) {
      made.parts.push_back(expression());
      if (kind == Form::dict) {
        expect(take_symbol(":"), "a colon");
        made.parts.push_back(expression());
      }
      if (!take_symbol(",")) break;
    }
    expect(take_symbol(close), "a bracket");
    return sealed(std::move(made));
  }

  Expression primary() {
    const Token token = next();
    if (take(Token::Kind::number)) return number(token.text);
    if (take(Token::Kind::text)) return Expression{.kind = Form::text, .string = unescaped(token.text)};
    if (take_symbol("[")) return list_until("]", Form::list);
    if (take_symbol("{")) return list_until("}", Form::dict);
    if (take_symbol("(")) return bracketed();
    if (take_name("None")) return {};
    if (take_name("True")) return Expression{.kind = Form::boolean, .integer = 1};
    if (take_name("False")) return Expression{.kind = Form::boolean};
    return Expression{.kind = Form::name, .text = name()};
  }

  /// (a) is a, (a, ) and () are tuples.
  Expression bracketed() {
    if (take_symbol(")")) return Expression{.kind = Form::tuple};
    Expression first = expression();
    if (take_symbol(")")) return first;
    expect(take_symbol(","), "a comma");
    Expression tuple = list_until(")", Form::tuple);
    tuple.parts.insert(tuple.parts.begin(), std::move(first));
    return sealed(std::move(tuple));
  }

  Expression number(std::string_view text) {
    const char* const end = text.data() + text.size();
    Expression made{.kind = Form::integer};
    const auto whole = std::from_chars(text.data(), end, made.integer);
    if (whole.ec == std::errc() && whole.ptr == end) return made;
    if (text == "9223372036854775808") {  // behind a minus
      made.integer = std::numeric_limits<std::int64_t>::min();
      return made;
    }
    made.kind = Form::real;
    made.integer = 0;
    const auto real = std::from_chars(text.data(), end, made.real);
    expect(real.ec == std::errc() && real.ptr == end, "a number");
    return made;
  }

  std::vector<Token> tokens_;
  std::string_view path_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<Error> fault_;
};

}  // namespace

Result<SourceFile> parse_source(std::string_view source, std::string_view path) {
  auto tokens = tokens_of(source);
  if (!tokens) {
    Error error = std::move(tokens).error();
    error.diagnostic.notes.push_back("in " + quote(path));
    return error;
  }
  return Parser(*std::move(tokens), path).run();
}

}  // namespace onnxkit::torchscript
