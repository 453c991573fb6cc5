#include "libonnxkit/wire/text/print_extension.h"
#include "libonnxkit/wire/text/printer.h"
#include "libonnxkit/wire/text/spelling.h"
#include "onnxkit/element_type.h"

namespace onnxkit::wire::text {

void Printer::element_type(std::optional<std::int32_t> type) {
  if (!type) return put("@?");
  if (is_known_element_type(*type)) return put(name_of(static_cast<ElementType>(*type)));
  put("@");
  integer(*type);
}

Extras Printer::type(const ir::DeclaredType& type) {
  using enum ir::DeclaredType::Kind;
  switch (type.kind) {
    case none:
      put("@()");
      break;
    case tensor:
      tensor_type(type);
      break;
    case sparse_tensor:
      put("sparse_tensor(");
      break;
    case sequence:
      put("seq(");
      break;
    case map:
      put("map(");
      break;
    case optional:
      put("optional(");
      break;
    case opaque:
      put("opaque(");
      break;
  }
  if (type.kind != none && type.kind != tensor) {
    type_arguments(type);
    put(")");
  }
  return type_extras(type);
}

void Printer::tensor_type(const ir::DeclaredType& type) {
  element_type(type.elem_type);
  if (!type.shape) return put("[]");
  const auto& dims = type.shape->dims;
  if (dims.empty()) return;
  put("[");
  list(dims.size(), false, [&](std::size_t i) {
    const ir::DeclaredDim& dim = dims[i];
    std::uint64_t stated = 0;
    if (dim.value) {
      integer(*dim.value);
      stated = bits(1);
    } else if (dim.param.present()) {
      word(dim.param);
      stated = bits(2);
    } else {
      put("?");
    }
    return extras(dim, stated);
  });
  put("]");
}

void Printer::type_arguments(const ir::DeclaredType& type) {
  using enum ir::DeclaredType::Kind;
  switch (type.kind) {
    case sparse_tensor:
      return tensor_type(type);
    case map:
      element_type(type.key_type);
      if (type.element) put(", ");
      break;
    case opaque:
      return opaque_arguments(type);
    default:
      break;
  }
  if (type.element) emit(this->type(*type.element));
}

void Printer::opaque_arguments(const ir::DeclaredType& type) {
  const auto dotted = [&](const Text& part) {
    if (is_dotted_identifier(part)) {
      put(part);
    } else {
      value(part);
    }
  };
  if (type.opaque_domain.present()) {
    dotted(type.opaque_domain);
    put(", ");
    word(type.opaque_name);
  } else if (type.opaque_name.present()) {
    dotted(type.opaque_name);
  }
}

Extras Printer::type_extras(const ir::DeclaredType& type) {
  Extras extras = this->extras(type, 0);
  const auto unknown = [&](const char* field, const Text& bytes) {
    if (bytes.empty()) return;
    std::string text = field;
    append_hex(text, bytes);
    add(extras.required, text);
  };
  unknown("kind_unknown_fields: ", type.kind_unknown_fields);
  if (type.shape) unknown("shape_unknown_fields: ", type.shape->unknown_fields);
  if (type.opaque_domain.present() && !type.opaque_name.present()) add(extras.skippable, "name: none");
  return extras;
}

}  // namespace onnxkit::wire::text
