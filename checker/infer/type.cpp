#include "checker/infer/type.h"

namespace onnxkit::checker {

std::string to_string(std::span<const Dim> shape, const DimPool& dims) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    const bool shown = shape[axis].is_constant() ||
                       (shape[axis].is_expression() && !dims.has_origin(shape[axis], ir::SymbolOrigin::lost));
    text += shown ? dims.to_string(shape[axis]) : "?";
  }
  return text + "]";
}

std::string to_string(const Type& type, const DimPool& dims) {
  const auto inner = [&] { return type.element ? to_string(*type.element, dims) : std::string("?"); };
  const std::string elem = type.elem == ElementType::undefined ? "?" : std::string(name_of(type.elem));
  const std::string tensor = elem + (type.shape ? to_string(*type.shape, dims) : std::string());
  switch (type.kind) {
    case Type::Kind::unknown:
      return "?";
    case Type::Kind::tensor:
      return tensor;
    case Type::Kind::sparse_tensor:
      return "sparse(" + tensor + ")";
    case Type::Kind::sequence:
      return "seq(" + inner() + ")";
    case Type::Kind::optional:
      return "optional(" + inner() + ")";
    case Type::Kind::map:
      return "map(" + elem + ", " + inner() + ")";
    case Type::Kind::opaque:
      return "opaque";
  }
  return "?";
}

Type without_shapes(const Type& type) {
  Type bare = type;
  bare.shape.reset();
  if (type.element) bare.element = std::make_shared<const Type>(without_shapes(*type.element));
  return bare;
}

bool is_fully_known(const Type& type, const DimPool& dims) {
  switch (type.kind) {
    case Type::Kind::unknown:
      return false;
    case Type::Kind::opaque:
      return true;
    case Type::Kind::tensor:
    case Type::Kind::sparse_tensor:
      if (type.elem == ElementType::undefined || !type.shape) return false;
      for (const Dim d : *type.shape) {
        if (d.is_unknown() || dims.has_origin(d, ir::SymbolOrigin::lost)) return false;
      }
      return true;
    // The values of maps are single numbers or strings.
    case Type::Kind::map:
      return type.elem != ElementType::undefined && type.element && type.element->elem != ElementType::undefined;
    case Type::Kind::sequence:
    case Type::Kind::optional:
      return type.element && is_fully_known(*type.element, dims);
  }
  return false;
}

bool same_structure(const Type& a, const Type& b) {
  if (a.is_unknown() || b.is_unknown()) return true;
  if (a.kind != b.kind) return false;
  if (a.elem != ElementType::undefined && b.elem != ElementType::undefined && a.elem != b.elem) return false;
  return !a.element || !b.element || same_structure(*a.element, *b.element);
}

}  // namespace onnxkit::checker
