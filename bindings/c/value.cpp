#include <limits>
#include <span>

#include "bindings/c/handles.h"

namespace onnxkit::c {
namespace {

Result<std::vector<std::int64_t>> dims_from(const std::int64_t* dims, std::size_t rank) {
  if (auto there = rank == 0 ? Result<void>() : needs(dims, "dims"); !there) return there.error();
  return std::vector<std::int64_t>(dims, dims + rank);
}

Result<void> give(Result<Tensor> tensor, onnxkit_value** value) {
  if (!tensor) return tensor.error();
  *value = new onnxkit_value{*std::move(tensor)};
  return {};
}

const Tensor& tensor_of(const onnxkit_value* value) {
  static const Tensor none;
  return value->value.is_tensor() ? value->value.tensor : none;
}

/// Keys, then values.
const Value* item_of(const Value& value, std::size_t index) {
  if (value.kind == ValueKind::map) --index;
  return index < value.items.size() ? &value.items[index] : nullptr;
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_value_tensor(int32_t element_type, const int64_t* dims, size_t rank, const void* bytes,
                                    size_t size, onnxkit_value** value) {
  return guarded([&]() -> Result<void> {
    auto sizes = dims_from(dims, rank);
    if (!sizes) return sizes.error();
    if (auto there = size == 0 ? Result<void>() : needs(bytes, "bytes"); !there) return there;
    if (!is_known_element_type(element_type))
      return make_error("tensor-type", std::to_string(element_type) + " is not an element type");
    const auto* first = static_cast<const std::byte*>(bytes);
    return give(Tensor::from_bytes(static_cast<ElementType>(element_type), *std::move(sizes),
                                   std::vector<std::byte>(first, first + size)),
                value);
  });
}

onnxkit_error* onnxkit_value_strings(const int64_t* dims, size_t rank, const char* const* strings, const size_t* sizes,
                                     size_t count, onnxkit_value** value) {
  return guarded([&]() -> Result<void> {
    auto shape = dims_from(dims, rank);
    if (!shape) return shape.error();
    if (auto there = count == 0 ? Result<void>() : needs(strings, "strings"); !there) return there;
    if (auto there = count == 0 ? Result<void>() : needs(sizes, "sizes"); !there) return there;
    std::vector<std::string> copies;
    for (std::size_t i = 0; i < count; ++i) copies.emplace_back(strings[i], sizes[i]);
    return give(Tensor::from_strings(*std::move(shape), std::move(copies)), value);
  });
}

onnxkit_error* onnxkit_value_sequence(const onnxkit_value* const* items, size_t count, int32_t element_type,
                                      onnxkit_value** value) {
  return guarded([&]() -> Result<void> {
    if (auto there = count == 0 ? Result<void>() : needs(items, "items"); !there) return there;
    std::vector<Value> elements;
    for (std::size_t i = 0; i < count; ++i) {
      if (auto there = needs(items[i], "items[i]"); !there) return there;
      elements.push_back(items[i]->value);
    }
    *value = new onnxkit_value{Value::sequence(std::move(elements), static_cast<ElementType>(element_type))};
    return {};
  });
}

onnxkit_error* onnxkit_value_optional(const onnxkit_value* content, int32_t element_type, onnxkit_value** value) {
  return guarded([&]() -> Result<void> {
    const auto held = content ? std::optional<Value>(content->value) : std::nullopt;
    *value = new onnxkit_value{Value::optional(held, static_cast<ElementType>(element_type))};
    return {};
  });
}

onnxkit_error* onnxkit_value_map(const onnxkit_value* keys, const onnxkit_value* values, onnxkit_value** value) {
  return guarded([&]() -> Result<void> {
    if (!keys || !values || !keys->value.is_tensor() || !values->value.is_tensor())
      return make_error("usage", "keys and values of a map are tensors");
    const Tensor &key = keys->value.tensor, &held = values->value.tensor;
    if (key.dims().size() != 1 || held.size() != key.size() ||
        (key.type() != ElementType::int64 && key.type() != ElementType::string))
      return make_error("usage", "a map has keys of int64 or strings, in one axis, and a value for each");
    *value = new onnxkit_value{Value::map(key, held)};
    return {};
  });
}

void onnxkit_value_free(onnxkit_value* value) { delete value; }

onnxkit_value_kind onnxkit_value_get_kind(const onnxkit_value* value) {
  switch (value->value.kind) {
    case ValueKind::tensor:
      return ONNXKIT_VALUE_TENSOR;
    case ValueKind::sequence:
      return ONNXKIT_VALUE_SEQUENCE;
    case ValueKind::optional:
      return ONNXKIT_VALUE_OPTIONAL;
    case ValueKind::map:
      return ONNXKIT_VALUE_MAP;
    case ValueKind::none:
      break;
  }
  return ONNXKIT_VALUE_NONE;
}

int32_t onnxkit_value_element_type(const onnxkit_value* value) {
  return static_cast<int32_t>(value->value.is_tensor() ? value->value.tensor.type() : value->value.declared);
}

size_t onnxkit_value_rank(const onnxkit_value* value) { return tensor_of(value).dims().size(); }
const int64_t* onnxkit_value_dims(const onnxkit_value* value) { return tensor_of(value).dims().data(); }
const void* onnxkit_value_bytes(const onnxkit_value* value) { return tensor_of(value).bytes().data(); }
size_t onnxkit_value_size(const onnxkit_value* value) { return tensor_of(value).bytes().size(); }
size_t onnxkit_value_string_count(const onnxkit_value* value) { return tensor_of(value).strings().size(); }

const char* onnxkit_value_string(const onnxkit_value* value, size_t index, size_t* size) {
  const auto strings = tensor_of(value).strings();
  if (index >= strings.size()) return nullptr;
  if (size) *size = strings[index].size();
  return strings[index].c_str();
}

size_t onnxkit_value_item_count(const onnxkit_value* value) {
  return value->value.items.size() + (value->value.kind == ValueKind::map ? 1 : 0);
}

onnxkit_value* onnxkit_value_item(const onnxkit_value* value, size_t index) {
  return or_null([&]() -> onnxkit_value* {
    const Value& held = value->value;
    if (held.kind == ValueKind::map && index == 0) return new onnxkit_value{held.tensor};
    const Value* item = item_of(held, index);
    return item ? new onnxkit_value{*item} : nullptr;
  });
}

onnxkit_values* onnxkit_values_new(void) {
  return or_null([] { return new onnxkit_values; });
}

onnxkit_error* onnxkit_values_add(onnxkit_values* values, const char* name, const onnxkit_value* value) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(name, "name"); !there) return there;
    values->list.push_back({name, value->value});
    return {};
  });
}

size_t onnxkit_values_count(const onnxkit_values* values) { return values->list.size(); }

const char* onnxkit_values_name(const onnxkit_values* values, size_t index) {
  return index < values->list.size() ? values->list[index].name.c_str() : nullptr;
}

onnxkit_value* onnxkit_values_get(const onnxkit_values* values, size_t index) {
  return or_null([&]() -> onnxkit_value* {
    return index < values->list.size() ? new onnxkit_value{values->list[index].value} : nullptr;
  });
}

void onnxkit_values_free(onnxkit_values* values) { delete values; }

}  // extern "C"
