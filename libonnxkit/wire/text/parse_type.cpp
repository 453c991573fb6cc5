#include "libonnxkit/wire/text/parser.h"
#include "libonnxkit/wire/text/type_names.h"

namespace onnxkit::wire::text {

/// Besides the names, "@7" is the element type of that number, "@?" an absent one, "@()" a type of no kind.
bool Parser::next_is_type() {
  if (in_.next_is_numbered_type()) return true;
  const std::string_view word = in_.peek_identifier();
  if (word == "sparse_tensor") return in_.next_is("sparse_tensor", '(');
  return is_type_word(word);
}

std::optional<std::int32_t> Parser::element_type() {
  const std::size_t start = in_.position();
  if (in_.match('@')) {
    if (in_.match('?')) return std::nullopt;
    const std::int64_t number = integer("the number of an element type");
    if (number != static_cast<std::int32_t>(number)) wrong(start, "a number of at most 32 bits");
    return static_cast<std::int32_t>(number);
  }
  const std::string_view word = in_.identifier();
  const std::int32_t type = element_type_number(word);
  if (type == 0) {
    if (word.empty()) {
      in_.fail("an element type");
    } else {
      wrong(start, "an element type");
    }
  }
  return type;
}

void Parser::type(ir::DeclaredType& type) {
  const Nesting nesting(*this, 2);
  if (in_.failed()) return;
  const std::string_view word = in_.peek_identifier();
  if (in_.match_kindless_type()) {
    type.kind = ir::DeclaredType::Kind::none;
  } else if (is_type_constructor(word)) {
    in_.identifier();
    in_.expect('(');
    type_arguments(word, type);
    in_.expect(')');
  } else {
    type.kind = ir::DeclaredType::Kind::tensor;
    tensor_type(type);
  }
  if (in_.next_is_extension()) extension(type);
}

/// float is a scalar, float[] has unknown rank.
void Parser::tensor_type(ir::DeclaredType& type) {
  type.elem_type = element_type();
  if (!in_.match('[')) return void(type.shape.emplace());
  if (in_.match(']')) return;
  shape(type.shape);
  in_.expect(']');
}

void Parser::type_arguments(std::string_view constructor, ir::DeclaredType& type) {
  using enum ir::DeclaredType::Kind;
  const auto element = [&] {
    type.element = std::make_unique<ir::DeclaredType>();
    this->type(*type.element);
  };
  if (constructor == "seq" || constructor == "optional") {
    type.kind = constructor == "seq" ? sequence : optional;
    if (in_.peek() != ')') element();
  } else if (constructor == "map") {
    type.kind = map;
    type.key_type = element_type();
    if (in_.match(',')) element();
  } else if (constructor == "sparse_tensor") {
    type.kind = sparse_tensor;
    tensor_type(type);
  } else {
    type.kind = opaque;
    opaque_arguments(type);
  }
}

/// name, or domain and name; only the last of a name's parts may hold characters that need quotes.
void Parser::opaque_arguments(ir::DeclaredType& type) {
  if (in_.peek() == ')') return;
  std::string name(in_.name("the name of an opaque type"));
  while (in_.match('.')) name += "." + std::string(in_.name("the rest of a name"));
  if (!in_.match(',')) return void(type.opaque_name = keep(name));
  type.opaque_domain = keep(name);
  type.opaque_name = keep(in_.name("the name of an opaque type"));
}

void Parser::shape(std::optional<ir::DeclaredShape>& shape) {
  separated_messages(shape.emplace().dims, [&](ir::DeclaredDim& dim) { this->dim(dim); });
}

void Parser::dim(ir::DeclaredDim& dim) {
  if (in_.match('?')) return;
  if (in_.next_is_string()) return void(dim.param = keep(in_.string()));
  const std::string_view symbol = in_.identifier();
  if (!symbol.empty()) return void(dim.param = keep(symbol));
  dim.value = integer("a dimension");
}

}  // namespace onnxkit::wire::text
