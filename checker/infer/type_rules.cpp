#include "checker/infer/type_rules.h"

#include <bit>

namespace onnxkit::checker {
namespace {

bool has_elem(std::uint32_t mask, ElementType elem) {
  return elem == ElementType::undefined ? mask != 0 : (mask >> static_cast<unsigned>(elem) & 1U) != 0;
}

bool has_map(std::uint32_t mask, const Type& map) {
  for (std::size_t i = 0; i < std::size(spec::map_types); ++i) {
    const bool key_fits = map.elem == ElementType::undefined || map.elem == spec::map_types[i].key;
    const bool value_fits =
        !map.element || map.element->elem == ElementType::undefined || map.element->elem == spec::map_types[i].value;
    if ((mask >> i & 1U) != 0 && key_fits && value_fits) return true;
  }
  return false;
}

ElementType only_bit(std::uint32_t mask) {
  return std::has_single_bit(mask) ? static_cast<ElementType>(std::countr_zero(mask)) : ElementType::undefined;
}

}  // namespace

bool allows(const spec::TypeSet& allowed, const Type& type) {
  switch (type.kind) {
    case Type::Kind::unknown:
      return true;
    case Type::Kind::tensor:
      return has_elem(allowed.tensor, type.elem);
    case Type::Kind::sparse_tensor:
      return has_elem(allowed.sparse, type.elem);
    case Type::Kind::map:
      return has_map(allowed.map, type);
    case Type::Kind::opaque:
      return false;
    case Type::Kind::sequence:
      if (!type.element || type.element->is_unknown()) return allowed.sequence != 0 || allowed.sequence_map != 0;
      if (type.element->kind == Type::Kind::map) return has_map(allowed.sequence_map, *type.element);
      return type.element->is_tensor() && has_elem(allowed.sequence, type.element->elem);
    case Type::Kind::optional:
      if (!type.element || type.element->is_unknown()) return allowed.optional != 0 || allowed.optional_sequence != 0;
      if (type.element->kind == Type::Kind::sequence) {
        const Type* inner = type.element->element.get();
        return has_elem(allowed.optional_sequence, inner && inner->is_tensor() ? inner->elem : ElementType::undefined);
      }
      return type.element->is_tensor() && has_elem(allowed.optional, type.element->elem);
  }
  return true;
}

Type only_type(const spec::TypeSet& allowed) {
  const spec::TypeSet& s = allowed;
  const int kinds = (s.tensor != 0) + (s.sequence != 0) + (s.optional != 0) + (s.optional_sequence != 0) +
                    (s.sparse != 0) + (s.map != 0) + (s.sequence_map != 0);
  if (kinds != 1) return {};
  if (s.tensor != 0) return Type::tensor(only_bit(s.tensor));
  if (s.sequence != 0) return Type::sequence(Type::tensor(only_bit(s.sequence)));
  if (s.optional != 0) return Type::optional(Type::tensor(only_bit(s.optional)));
  if (s.map != 0 && std::has_single_bit(s.map)) {
    const spec::MapType map = spec::map_types[std::countr_zero(s.map)];
    return Type::map(map.key, Type::tensor(map.value));
  }
  return {};
}

}  // namespace onnxkit::checker
