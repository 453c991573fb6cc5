#include <fmt/core.h>

#include "libonnxkit/wire/binary/cursor.h"
#include "libonnxkit/wire/binary/fields.h"
#include "libonnxkit/wire/text/attribute_type.h"
#include "libonnxkit/wire/text/parser.h"
#include "libonnxkit/wire/text/plain_message.h"

namespace onnxkit::wire::text {
namespace {

/// Whether `bytes` are whole protobuf fields, so that writing them leaves the message around them readable.
bool are_fields(std::string_view bytes) {
  constexpr int deepest_group = 50;
  Cursor cursor(bytes);
  while (!cursor.at_end()) {
    Tag tag;
    if (cursor.tag(tag) != Fault::none || cursor.skip(tag, deepest_group) != Fault::none) return false;
  }
  return true;
}

ir::TypedField typed_field_named(std::string_view name) {
  for (const ir::TypedField field : ir::all_typed_fields) {
    if (to_string(field) == name) return field;
  }
  return ir::TypedField::none;
}

}  // namespace

/// Offers every field of a message and sets the one that is wanted.
class FieldSetter {
 public:
  static constexpr bool reading = true;

  FieldSetter(Parser& parser, std::string_view wanted) : p_(parser), wanted_(wanted) {}
  bool found() const { return found_; }

  template <class T>
  void operator()(std::uint32_t, const char* name, T& member) {
    if (take(name)) set(member);
  }
  void packed(std::uint32_t, const char* name, ir::PackedField& member, Packing) {
    if (take(name)) p_.value(member, typed_field_named(name));
  }
  template <class Number>
  void one_of(std::uint32_t, const char* number_name, std::optional<Number>& number, std::uint32_t,
              const char* text_name, Text& text) {
    if (take(number_name)) p_.value(number);
    if (take(text_name)) p_.value(text);
  }
  void value_name(std::uint32_t, const char* name, ir::ValueInfo& info) {
    if (!take(name)) return;
    info.has_name = !p_.match_none();
    if (info.has_name) p_.in_.fail("'none'");
  }
  void unknown(Text& member) {
    if (!take("unknown_fields")) return;
    const std::size_t start = p_.in_.position();
    p_.value(member);
    if (!are_fields(member)) p_.wrong(start, "the encoding of whole protobuf fields");
  }
  // What follows is written in the syntax around the block.
  template <class T>
  void payload(std::uint32_t, const char*, ir::Attribute&) {}
  template <ir::DeclaredType::Kind kind_value>
  void kind(std::uint32_t, const char*, ir::DeclaredType&) {}
  template <class T>
  void value_names(std::uint32_t, const char*, std::vector<T>&) {}

 private:
  bool take(std::string_view name) {
    if (found_ || name != wanted_) return false;
    found_ = true;
    p_.in_.expect(':');
    return true;
  }

  void set(Text& member) { p_.value(member); }
  void set(std::optional<std::int64_t>& member) { p_.value(member); }
  void set(std::optional<std::int32_t>& member) { p_.value(member); }
  void set(std::vector<std::int64_t>& member) { p_.value(member); }
  void set(std::vector<Text>& member) { p_.value(member); }
  void set(std::vector<ir::StringEntry>& member) { p_.value(member); }
  void set(std::vector<ir::OpsetImport>& member) { p_.opset_imports(member); }
  void set(std::unique_ptr<ir::Graph>& member) {
    member = std::make_unique<ir::Graph>();
    p_.graph(*member);
  }
  void set(std::unique_ptr<ir::Tensor::Segment>& member) {
    member = std::make_unique<ir::Tensor::Segment>();
    message(*member);
  }
  template <PlainMessage M>
  void set(std::vector<M>& member) {
    member.clear();
    p_.in_.expect('[');
    if (p_.in_.match(']')) return;
    p_.separated([&] { message(member.emplace_back()); });
    p_.in_.expect(']');
  }
  template <class Other>
  void set(Other&) {
    p_.in_.fail("another field: this one is written outside the block");
  }
  template <class M>
  void message(M& m) {
    const Parser::Nesting nesting(p_, 1);
    p_.in_.expect('{');
    p_.extension_fields(m);
    p_.in_.expect('}');
  }

  Parser& p_;
  std::string_view wanted_;
  bool found_ = false;
};

template <class M>
void Parser::extension(M& message) {
  const Extension kind = in_.open_extension();
  extension_fields(message);
  in_.close_extension(kind);
}

template <class M>
void Parser::extension_fields(M& message) {
  if (in_.peek() == '}') return;
  separated([&] {
    const std::string_view name = in_.peek_identifier();
    if (name.empty()) return in_.fail("the name of a field");
    const std::size_t start = in_.position();
    in_.identifier();
    if (special_field(name, message)) return;
    named_field(start, name, message);
  });
}

template <class M>
void Parser::named_field(std::size_t start, std::string_view name, M& message) {
  FieldSetter setter(*this, name);
  fields(setter, message);
  if (!setter.found()) wrong(start, "a field of this part of the model");
}

bool Parser::special_field(std::string_view name, ir::Model&) {
  if (name == "raw_tensors") {
    raw_tensors_ = true;
    return true;
  }
  if (name != "graph") return false;
  in_.expect(':');
  has_graph_ = !match_none();
  if (has_graph_) in_.fail("'none'");
  return true;
}

bool Parser::special_field(std::string_view name, ir::Tensor& tensor) {
  if (name == "typed") {
    move_to_typed(model_, tensor);
    return true;
  }
  if (name != "raw") return false;
  if (const auto misfit = move_to_raw(model_, tensor))
    in_.fail(fmt::format("elements that the type can represent (element {} is {})", misfit->index, misfit->value));
  return true;
}

bool Parser::special_field(std::string_view name, ir::Attribute& attribute) {
  if (name == "also") {
    ir::Attribute other;
    attribute_after_name(other);
    attribute.more_payloads.push_back(std::move(other.payload));
    return true;
  }
  if (name != "type") return false;
  in_.expect(':');
  const std::int32_t named = attribute_type_named(in_.peek_identifier());
  if (named == attribute_undefined) {
    value(attribute.type);
  } else {
    in_.identifier();
    attribute.type = named;
  }
  return true;
}

/// The parts of a type that belong to messages inside of it.
bool Parser::special_field(std::string_view name, ir::DeclaredType& type) {
  const auto text = [&](Text& member) {
    in_.expect(':');
    value(member);
    return true;
  };
  if (type.kind == ir::DeclaredType::Kind::opaque && name == "domain") return text(type.opaque_domain);
  if (type.kind == ir::DeclaredType::Kind::opaque && name == "name") return text(type.opaque_name);
  if (name == "kind_unknown_fields" && type.kind != ir::DeclaredType::Kind::none) return text(type.kind_unknown_fields);
  if (name == "shape_unknown_fields" && type.shape) return text(type.shape->unknown_fields);
  return false;
}

bool Parser::match_none() {
  if (in_.peek_identifier() != "none") return false;
  in_.identifier();
  return true;
}

void Parser::value(Text& text) { text = match_none() ? Text() : keep(in_.string()); }

void Parser::value(std::optional<std::int64_t>& number) {
  number = match_none() ? std::nullopt : std::optional(integer("a whole number"));
}

void Parser::value(std::optional<std::int32_t>& number) {
  if (match_none()) return number.reset();
  const std::size_t start = in_.position();
  const std::int64_t wide = integer("a whole number");
  number = static_cast<std::int32_t>(wide);
  if (*number != wide) wrong(start, "a number of at most 32 bits");
}

void Parser::value(std::vector<std::int64_t>& numbers) {
  numbers.clear();
  in_.expect('[');
  if (in_.match(']')) return;
  separated([&] { numbers.push_back(integer("a whole number")); });
  in_.expect(']');
}

void Parser::value(std::vector<Text>& texts) {
  texts.clear();
  in_.expect('[');
  if (in_.match(']')) return;
  separated([&] { texts.push_back(keep(in_.string())); });
  in_.expect(']');
}

void Parser::value(std::vector<ir::StringEntry>& entries) {
  entries.clear();
  in_.expect('[');
  if (in_.match(']')) return;
  separated_messages(entries, [&](ir::StringEntry& entry) {
    entry.key = keep(in_.string());
    in_.expect(':');
    entry.value = keep(in_.string());
  });
  in_.expect(']');
}

/// [elements], or the encoded payload as a string.
void Parser::value(ir::PackedField& field, ir::TypedField typed_field) {
  std::string bytes;
  if (in_.next_is_string()) {
    bytes = in_.string();
  } else {
    in_.expect('[');
    if (in_.peek() != ']') separated([&] { element(bytes, {typed_field}, false); });
    in_.expect(']');
  }
  set_packed(model_, field, bytes);
}

template void Parser::extension(ir::Model&);
template void Parser::extension(ir::OpsetImport&);
template void Parser::extension(ir::Function&);
template void Parser::extension(ir::Graph&);
template void Parser::extension(ir::ValueInfo&);
template void Parser::extension(ir::Node&);
template void Parser::extension(ir::Attribute&);
template void Parser::extension(ir::Tensor&);
template void Parser::extension(ir::SparseTensor&);
template void Parser::extension(ir::DeclaredType&);
template void Parser::extension(ir::DeclaredDim&);
template void Parser::extension(ir::StringEntry&);
template void Parser::named_field(std::size_t, std::string_view, ir::Model&);
template void Parser::named_field(std::size_t, std::string_view, ir::Function&);

}  // namespace onnxkit::wire::text
