#include <bit>
#include <cstring>

#include "libonnxkit/wire/text/cursor.h"
#include "libonnxkit/wire/text/print_extension.h"
#include "libonnxkit/wire/text/printer.h"
#include "libonnxkit/wire/text/spelling.h"

namespace onnxkit::wire::text {
namespace {

constexpr const char* comma = ", ";

bool is_well_formed(const ir::PackedField& field, ir::TypedField kind) {
  const std::size_t width = kind == ir::TypedField::float_data ? 4 : kind == ir::TypedField::double_data ? 8 : 0;
  if (width > 0) {
    for (const auto& chunk : field.chunks) {
      if (chunk.size() % width != 0) return false;
    }
    return true;
  }
  PackedVarints elements(field);
  while (elements.next()) {
  }
  return !elements.malformed();
}

/// Whether raw_data of the form, which the parser may fill first, could hold every entry of the typed field.
bool fits_raw(const ir::PackedField& field, LiteralForm form) {
  if (form.is_floating()) return true;
  PackedVarints entries(field);
  while (const auto entry = entries.next()) {
    const bool narrow = form.field == ir::TypedField::int32_data;
    const auto value = narrow ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(*entry)}) : *entry;
    if (!fits_raw(value, form)) return false;
  }
  return true;
}

/// In TensorProto.
int field_number(ir::TypedField field) {
  switch (field) {
    case ir::TypedField::float_data:
      return 4;
    case ir::TypedField::int32_data:
      return 5;
    case ir::TypedField::string_data:
      return 6;
    case ir::TypedField::int64_data:
      return 7;
    case ir::TypedField::double_data:
      return 10;
    case ir::TypedField::uint64_data:
      return 11;
    case ir::TypedField::none:
      break;
  }
  return 0;
}

void append_element(std::string& out, ir::TypedField kind, std::uint64_t bits) {
  switch (kind) {
    case ir::TypedField::float_data:
      return append_float(out, std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case ir::TypedField::double_data:
      return append_double(out, std::bit_cast<double>(bits));
    case ir::TypedField::uint64_data:
      return append_unsigned(out, bits);
    // What does not fit is cut as protobuf does.
    case ir::TypedField::int32_data:
      return append_integer(out, static_cast<std::int32_t>(bits));
    default:
      return append_integer(out, static_cast<std::int64_t>(bits));
  }
}

}  // namespace

void Printer::typed_numbers(const ir::PackedField& field, ir::TypedField kind) {
  leave_comment();
  bool first = true;
  const auto append = [&](std::uint64_t bits) {
    if (!first) out_ += comma;
    first = false;
    append_element(out_, kind, bits);
  };
  const int width = kind == ir::TypedField::float_data ? 4 : kind == ir::TypedField::double_data ? 8 : 0;
  if (width == 0) {
    PackedVarints elements(field);
    while (const auto element = elements.next()) append(*element);
    return;
  }
  for (const auto& chunk : field.chunks) {
    for (std::size_t at = 0; at < chunk.size(); at += static_cast<std::size_t>(width)) {
      append(load_little_endian(reinterpret_cast<const char*>(chunk.data()) + at, width, false));
    }
  }
}

void Printer::raw_numbers(std::string_view raw, LiteralForm form) {
  leave_comment();
  const auto width = static_cast<std::size_t>(form.raw_bytes);
  const ir::TypedField kind = form.field == ir::TypedField::int32_data ? ir::TypedField::int64_data : form.field;
  for (std::size_t at = 0; at < raw.size(); at += width) {
    if (at > 0) out_ += comma;
    append_element(out_, kind, load_little_endian(raw.data() + at, form.raw_bytes, form.is_signed));
  }
}

/// A typed field in an extension: [elements], or its encoding when that is malformed.
void Printer::packed_value(std::string_view name, const ir::PackedField& field) {
  ir::TypedField kind = ir::TypedField::none;
  for (const ir::TypedField candidate : ir::all_typed_fields) {
    if (to_string(candidate) == name) kind = candidate;
  }
  if (is_well_formed(field, kind)) {
    put("[");
    typed_numbers(field, kind);
    put("]");
    return;
  }
  std::string bytes;
  for (const auto& chunk : field.chunks) bytes.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
  append_hex(out_, bytes);
}

Extras Printer::tensor(const ir::Tensor& tensor, TensorRole role) {
  Extras name_extras = tensor_head(tensor, role);
  Extras extras = tensor_data(tensor);
  if (!name_extras.skippable.empty()) add(extras.skippable, name_extras.skippable);
  return extras;
}

/// Type, name and what leads over to the data.
Extras Printer::tensor_head(const ir::Tensor& tensor, TensorRole role) {
  Extras extras;
  element_type(tensor.data_type);
  if (!tensor.dims.empty()) value(tensor.dims);
  // In an attribute the name says little, and the official syntax takes identifiers only.
  const bool inline_name = role == TensorRole::initializer || can_stand_bare(tensor.name);
  if (inline_name) {
    put(" ");
    name(tensor.name);
  }
  put(role == TensorRole::initializer ? " = " : " ");
  if (!inline_name && tensor.name.present()) {
    const bool outer = std::exchange(one_line_, true);
    add(extras.skippable, captured([&] {
          put("name: ");
          value(tensor.name);
        }));
    one_line_ = outer;
  }
  if (role == TensorRole::initializer && !tensor.name.present()) add(extras.skippable, "name: none");
  return extras;
}

/// The one source of elements that the braces can hold; others, if a file has them, go to the extension block.
Extras Printer::tensor_data(const ir::Tensor& tensor) {
  constexpr std::uint64_t head = bits(1, 2, 8);
  if (tensor.is_external()) {
    value(tensor.external_data);
    return extras(tensor, head | bits(13, 14));
  }
  const LiteralForm form = literal_form(tensor.data_type);
  put("{");
  std::uint64_t stated = head;
  std::string storage;
  if (form.has_numbers()) {
    const auto width = static_cast<std::size_t>(form.raw_bytes);
    const ir::PackedField& typed = *ir::packed_field(tensor, form.field);
    const bool raw = tensor.raw_data.present() && tensor.raw_data.size() % width == 0;
    if (raw) {
      raw_numbers(tensor.raw_data, form);
      stated |= bits(9);
    } else if (is_well_formed(typed, form.field) && (!raw_tensors_ || fits_raw(typed, form))) {
      typed_numbers(typed, form.field);
      stated |= bits(field_number(form.field));
    }
    if (raw != raw_tensors_) storage = raw ? "raw" : "typed";
  } else if (form.field == ir::TypedField::string_data) {
    list(tensor.string_data.size(), false, [&](std::size_t i) { return value(tensor.string_data[i]), Extras(); });
    stated |= bits(field_number(form.field));
  }
  put("}");
  Extras extras = this->extras(tensor, stated);
  // First, because it applies to what the braces hold.
  if (!storage.empty()) {
    if (!extras.skippable.empty()) add(storage, extras.skippable);
    extras.skippable = std::move(storage);
  }
  return extras;
}

Extras Printer::sparse_tensor(const ir::SparseTensor& tensor) {
  const auto part = [&](const std::unique_ptr<ir::Tensor>& member) {
    if (!member) return put("?");
    emit(this->tensor(*member, TensorRole::part));
  };
  put("sparse_tensor");
  value(tensor.dims);
  put(" {");
  part(tensor.values);
  put(", ");
  part(tensor.indices);
  put("}");
  return extras(tensor, bits(1, 2, 3));
}

}  // namespace onnxkit::wire::text
