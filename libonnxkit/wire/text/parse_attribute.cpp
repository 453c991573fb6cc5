#include <fmt/core.h>

#include "libonnxkit/wire/text/attribute_type.h"
#include "libonnxkit/wire/text/parser.h"

namespace onnxkit::wire::text {
namespace {

using Payload = ir::Attribute::Payload;

template <class T>
Payload payload(T value) {
  return Payload(std::in_place_type<T>, std::move(value));
}

/// Adds a single value to a list of its type, which an empty `list` becomes first.
template <class T>
void append_as(Payload& list, T value) {
  if (!std::holds_alternative<std::vector<T>>(list)) list.emplace<std::vector<T>>();
  std::get_if<std::vector<T>>(&list)->push_back(std::move(value));
}

struct Appender {
  Payload& list;
  void operator()(float value) { append_as(list, value); }
  void operator()(std::int64_t value) { append_as(list, value); }
  void operator()(Text value) { append_as(list, value); }
  void operator()(std::unique_ptr<ir::Graph>& value) { append_as(list, std::move(value)); }
  void operator()(std::unique_ptr<ir::Tensor>& value) { append_as(list, std::move(*value)); }
  void operator()(std::unique_ptr<ir::SparseTensor>& value) { append_as(list, std::move(*value)); }
  void operator()(std::unique_ptr<ir::DeclaredType>& value) { append_as(list, std::move(*value)); }
  template <class Other>
  void operator()(Other&) {}
};

}  // namespace

void Parser::attributes(std::vector<ir::Attribute>& attributes) {
  if (!in_.match('<')) return;
  separated_messages(attributes, [&](ir::Attribute& attribute) { this->attribute(attribute); });
  in_.expect('>');
}

void Parser::attribute(ir::Attribute& attribute) {
  attribute.name = keep(in_.name("the name of an attribute"));
  attribute_after_name(attribute);
}

void Parser::attribute_after_name(ir::Attribute& attribute) {
  std::int32_t annotation = attribute_undefined;
  if (in_.match(':')) {
    const std::size_t start = in_.position();
    const std::string_view name = in_.identifier();
    annotation = attribute_type_named(name);
    if (name.empty()) return in_.fail("the type of an attribute");
    if (annotation == attribute_undefined) return wrong(start, "the type of an attribute, such as int or floats");
    attribute.type = annotation;
  }
  in_.expect('=');
  attribute_value(attribute, annotation);
}

void Parser::attribute_value(ir::Attribute& attribute, std::int32_t annotation) {
  if (in_.match('?')) return;
  if (in_.peek() == '@' && !next_is_type()) {
    in_.expect('@');
    attribute.ref_attr_name = keep(in_.name("the name of an attribute of the function"));
    return;
  }
  attribute.payload = in_.peek() == '[' ? attribute_list(annotation) : single_value(annotation);
  const std::int32_t type = attribute_type_of(attribute.payload);
  if (type != attribute_undefined) attribute.type = type;
}

Payload Parser::attribute_list(std::int32_t annotation) {
  const std::size_t start = in_.position();
  Payload list;
  in_.expect('[');
  if (in_.match(']')) {
    // As in binary form, a list without elements is known by the type alone.
    if (!is_list_type(annotation)) wrong(start, "an element, or the type of the list before '='");
    return list;
  }
  std::int32_t expected = element_of_list(annotation);
  separated([&] {
    Payload element = single_value(expected);
    expected = attribute_type_of(element);
    std::visit(Appender{list}, element);
  });
  in_.expect(']');
  return list;
}

Payload Parser::single_value(std::int32_t expected) {
  const Nesting nesting(*this, 1);
  const std::size_t start = in_.position();
  Payload value;
  const std::string_view word = in_.peek_identifier();
  if (next_is_type()) {
    value = type_or_tensor();
  } else if (word == "sparse_tensor") {
    auto tensor = std::make_unique<ir::SparseTensor>();
    sparse_tensor(*tensor);
    if (in_.next_is_extension()) extension(*tensor);
    value = std::move(tensor);
  } else if (in_.next_is_string()) {
    const Text text = keep(in_.string());
    if (in_.peek() == '(') {
      auto body = std::make_unique<ir::Graph>();
      graph_after_name(*body, text);
      value = std::move(body);
    } else {
      value = text;
    }
  } else if (!word.empty() && !is_float_word(word)) {
    auto body = std::make_unique<ir::Graph>();
    graph(*body);
    value = std::move(body);
  } else {
    value = number_value(expected);
  }
  const std::int32_t type = attribute_type_of(value);
  if (expected != attribute_undefined && type != expected && !in_.failed())
    wrong(start, fmt::format("a value of type {}", attribute_type_name(expected)));
  return value;
}

/// A type, or a tensor when a name or data follows.
Payload Parser::type_or_tensor() {
  std::optional<ir::DeclaredType> declared;
  type(declared.emplace());
  const char next = in_.peek();
  const bool data_follows = next == '{' || next == '=' || next == '[';
  const bool named = !data_follows && (in_.next_is_string() || !in_.peek_identifier().empty());
  if (!data_follows && !named) return std::make_unique<ir::DeclaredType>(std::move(*declared));
  auto tensor = std::make_unique<ir::Tensor>();
  if (named) tensor->name = keep(in_.name("the name of a tensor"));
  in_.match('=');
  tensor_after_type(*tensor, declared);
  if (in_.next_is_extension()) extension(*tensor);
  return tensor;
}

Payload Parser::number_value(std::int32_t expected) {
  const std::size_t start = in_.position();
  const Number number = in_.number();
  if (number.spelling.empty()) {
    in_.fail("the value of an attribute");
    return {};
  }
  if (number.is_float || expected == attribute_float) {
    const auto value = to_float(number.spelling);
    if (!value) wrong(start, "a number of type float");
    return payload(value.value_or(0));
  }
  const auto value = to_int64(number.spelling);
  if (!value) wrong(start, "a number of at most 64 bits");
  return payload(value.value_or(0));
}

/// sparse_tensor[3, 4] {values, indices}, where '?' is an absent tensor. Not in the official syntax.
void Parser::sparse_tensor(ir::SparseTensor& tensor) {
  in_.identifier();
  value(tensor.dims);
  const auto part = [&](std::unique_ptr<ir::Tensor>& member) {
    if (in_.match('?')) return;
    member = std::make_unique<ir::Tensor>();
    this->tensor(*member);
  };
  in_.expect('{');
  part(tensor.values);
  in_.expect(',');
  part(tensor.indices);
  in_.expect('}');
}

}  // namespace onnxkit::wire::text
