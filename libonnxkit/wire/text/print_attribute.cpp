#include "libonnxkit/wire/text/attribute_type.h"
#include "libonnxkit/wire/text/cursor.h"
#include "libonnxkit/wire/text/print_extension.h"
#include "libonnxkit/wire/text/printer.h"
#include "libonnxkit/wire/text/spelling.h"

namespace onnxkit::wire::text {
namespace {

/// Whether the value ends with something that an extension block behind it would belong to.
bool takes_block(const ir::Attribute::Payload& payload) {
  return std::holds_alternative<std::unique_ptr<ir::Tensor>>(payload) ||
         std::holds_alternative<std::unique_ptr<ir::SparseTensor>>(payload) ||
         std::holds_alternative<std::unique_ptr<ir::DeclaredType>>(payload);
}

}  // namespace

/// Prints the value of an attribute; returns the extras of a value that a block behind it could belong to.
struct PayloadPrinter {
  Printer& p;

  Extras operator()(std::monostate) { return p.put("?"), Extras(); }
  Extras operator()(float value) {
    p.leave_comment();
    return append_float_literal(p.out_, value), Extras();
  }
  Extras operator()(std::int64_t value) { return p.integer(value), Extras(); }
  Extras operator()(const Text& value) { return p.value(value), Extras(); }
  Extras operator()(const std::unique_ptr<ir::Graph>& value) { return p.graph(*value), Extras(); }
  Extras operator()(const std::unique_ptr<ir::Tensor>& value) { return (*this)(*value); }
  Extras operator()(const std::unique_ptr<ir::SparseTensor>& value) { return (*this)(*value); }
  Extras operator()(const std::unique_ptr<ir::DeclaredType>& value) { return (*this)(*value); }
  Extras operator()(const ir::Tensor& value) { return p.tensor(value, Printer::TensorRole::attribute); }
  Extras operator()(const ir::SparseTensor& value) { return p.sparse_tensor(value); }
  Extras operator()(const ir::DeclaredType& value) { return p.type(value); }

  template <class T>
  Extras operator()(const std::vector<T>& values) {
    p.put("[");
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) p.put(", ");
      p.emit((*this)(values[i]));
    }
    p.put("]");
    return {};
  }
};

void Printer::attributes(const std::vector<ir::Attribute>& attributes) {
  if (attributes.empty()) return;
  put(" <");
  ++indent_;
  list(attributes.size(), false, [&](std::size_t i) { return attribute(attributes[i]); });
  --indent_;
  put(">");
}

Extras Printer::attribute(const ir::Attribute& attribute) {
  word(attribute.name);
  const std::int32_t type = attribute_type_of(attribute.payload);
  Extras extras;
  if (type == attribute_undefined) {
    extras = valueless(attribute);
  } else {
    Extras own = attribute_extras(attribute);
    if (attribute.type != type)
      add(attribute.type ? own.required : own.skippable,
          "type: " + (attribute.type ? std::to_string(*attribute.type) : "none"));
    if (attribute.ref_attr_name.present()) {
      add(own.required, captured([&] {
            put("ref_attr_name: ");
            value(attribute.ref_attr_name);
          }));
    }
    const Extras inner = payload(attribute.payload);
    if (takes_block(attribute.payload)) emit_inner(inner, own);
    extras = std::move(own);
  }
  return extras;
}

/// ": type = @reference", or "?" or "[]" for no value at all.
Extras Printer::valueless(const ir::Attribute& attribute) {
  const std::string_view type = attribute_type_name(attribute.type.value_or(0));
  if (!type.empty()) {
    put(": ");
    put(type);
  }
  put(" = ");
  if (attribute.ref_attr_name.present()) {
    put("@");
    word(attribute.ref_attr_name);
  } else {
    put(is_list_type(attribute.type.value_or(0)) ? "[]" : "?");
  }
  Extras extras = attribute_extras(attribute);
  if (attribute.type && type.empty()) add(extras.required, "type: " + std::to_string(*attribute.type));
  return extras;
}

Extras Printer::payload(const ir::Attribute::Payload& payload) {
  const bool is_empty_list = std::visit(
      [](const auto& held) {
        if constexpr (requires { held.begin(); }) return held.empty();
        return false;
      },
      payload);
  if (is_empty_list) {
    put(": ");
    put(attribute_type_name(attribute_type_of(payload)));
  }
  put(" = ");
  return std::visit(PayloadPrinter{*this}, payload);
}

Extras Printer::attribute_extras(const ir::Attribute& attribute) {
  Extras extras = this->extras(attribute, bits(1, 20, 21));
  if (!attribute.name.present()) add(extras.skippable, "name: none");
  for (const ir::Attribute::Payload& other : attribute.more_payloads) {
    add(extras.required, captured([&] {
          put("also");
          emit(payload(other));
        }));
  }
  return extras;
}

}  // namespace onnxkit::wire::text
