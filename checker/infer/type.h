#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/ir/dim/dim.h"
#include "libonnxkit/ir/type.h"
#include "onnxkit/element_type.h"

namespace onnxkit::checker {

using ir::Dim;
using ir::DimPool;

/// Sizes of a tensor's axes.
using Shape = std::vector<Dim>;
/// Ranks add up from node to node (Gather, Unsqueeze ...), in hostile models without end, and a vector of sizes may have any length:
/// beyond this a rank counts as unknown.
constexpr std::size_t max_rank = 128;

/// What inference knows of a value's type. Every level may be unknown.
struct Type {
  enum class Kind : std::uint8_t { unknown, tensor, sparse_tensor, sequence, optional, map, opaque };
  Kind kind = Kind::unknown;
  /// tensor, sparse_tensor: element type; map: key type. `undefined` when unknown.
  ElementType elem = ElementType::undefined;
  /// tensor, sparse_tensor: nullopt when the rank is unknown.
  std::optional<Shape> shape;
  /// sequence, optional: the element; map: the value. Null when unknown. A size in which the elements of a sequence differ is unknown.
  std::shared_ptr<const Type> element;
  /// sequence: number of elements, if known.
  Dim length = {};

  bool is_unknown() const { return kind == Kind::unknown; }
  bool is_tensor() const { return kind == Kind::tensor; }

  static Type tensor(ElementType elem) { return {.kind = Kind::tensor, .elem = elem, .shape = {}, .element = {}}; }
  static Type tensor(ElementType elem, Shape shape) {
    return {.kind = Kind::tensor, .elem = elem, .shape = std::move(shape), .element = {}};
  }
  static Type sequence(Type element, Dim length = {}) {
    Type type = wrap(Kind::sequence, std::move(element));
    type.length = length;
    return type;
  }
  static Type optional(Type element) { return wrap(Kind::optional, std::move(element)); }
  static Type map(ElementType key, Type value) {
    Type type = wrap(Kind::map, std::move(value));
    type.elem = key;
    return type;
  }

 private:
  static Type wrap(Kind kind, Type element) {
    return {.kind = kind,
            .elem = ElementType::undefined,
            .shape = {},
            .element = std::make_shared<const Type>(std::move(element))};
  }
};

/// "float[N, 3, 224]", "seq(float[?])", "int64" with unknown rank, "?" when nothing is known.
std::string to_string(const Type& type, const DimPool& dims);
std::string to_string(std::span<const Dim> shape, const DimPool& dims);

/// The same with every rank unknown, which any pool of dimensions can print.
Type without_shapes(const Type& type);

/// True when the type and every size in it are known: constants or expressions without a `lost` symbol.
bool is_fully_known(const Type& type, const DimPool& dims);

/// For sizes that nothing is to be said of.
struct UnknownDim {
  Dim operator()(std::size_t) const { return {}; }
};

/// The declared type in terms of `dims`. A dimension that the file leaves open becomes `open_dim(axis)`.
/// Negative sizes count as open; a rule reports them.
template <class OpenDim>
Type from_declared(const ir::DeclaredType& declared, DimPool& dims, OpenDim&& open_dim);

/// Element type and structure without shapes agree, as far as both are known.
bool same_structure(const Type& a, const Type& b);

/// The most that is known of a value that has both types (e.g. the two branches of If): sizes that are not always equal
/// become `differing(axis)` (within a sequence: unknown); different ranks give an unknown rank. Precondition: same_structure(a, b).
template <class Differing>
Type join(const Type& a, const Type& b, Differing&& differing);

/// A copy for the file: lost dims are left open, expressions become dim_params kept by `keep(std::string) -> Text`.
template <class Keep>
ir::DeclaredType to_declared(const Type& type, const DimPool& dims, Keep&& keep);

// ---- implementation of the templates

template <class OpenDim>
Type from_declared(const ir::DeclaredType& declared, DimPool& dims, OpenDim&& open_dim) {
  using Kind = ir::DeclaredType::Kind;
  Type type;
  switch (declared.kind) {
    case Kind::none:
      return type;
    case Kind::tensor:
      type.kind = Type::Kind::tensor;
      break;
    case Kind::sparse_tensor:
      type.kind = Type::Kind::sparse_tensor;
      break;
    case Kind::sequence:
      type.kind = Type::Kind::sequence;
      break;
    case Kind::optional:
      type.kind = Type::Kind::optional;
      break;
    case Kind::map:
      type.kind = Type::Kind::map;
      break;
    case Kind::opaque:
      type.kind = Type::Kind::opaque;
      break;
  }
  const std::optional<std::int32_t> number = declared.kind == Kind::map ? declared.key_type : declared.elem_type;
  if (number && is_known_element_type(*number)) type.elem = static_cast<ElementType>(*number);
  if (declared.shape) {
    Shape shape;
    shape.reserve(declared.shape->dims.size());
    for (std::size_t axis = 0; axis < declared.shape->dims.size(); ++axis) {
      const ir::DeclaredDim& d = declared.shape->dims[axis];
      if (const auto size = d.size()) {
        shape.emplace_back(*size);
      } else {
        const Dim named = d.value ? Dim() : dims.from_dim_param(d.param);
        shape.push_back(named.is_unknown() ? open_dim(axis) : named);
      }
    }
    type.shape = std::move(shape);
  }
  if (!declared.element) return type;
  const bool one_element = declared.kind == Kind::optional;
  type.element = std::make_shared<const Type>(one_element ? from_declared(*declared.element, dims, open_dim)
                                                          : from_declared(*declared.element, dims, UnknownDim{}));
  return type;
}

template <class Differing>
Type join(const Type& a, const Type& b, Differing&& differing) {
  if (a.is_unknown() || b.is_unknown()) return {};
  // The elements of an empty sequence have any shape.
  const bool in_sequence = a.kind == Type::Kind::sequence;
  Type joined(in_sequence && a.length.is(0) ? b : a);
  if (!(a.length == b.length)) joined.length = {};
  if (in_sequence && (a.length.is(0) || b.length.is(0))) return joined;
  if (a.elem == ElementType::undefined || b.elem == ElementType::undefined) joined.elem = ElementType::undefined;
  if (a.shape && b.shape && a.shape->size() == b.shape->size()) {
    for (std::size_t axis = 0; axis < a.shape->size(); ++axis) {
      if (!((*a.shape)[axis] == (*b.shape)[axis])) (*joined.shape)[axis] = differing(axis);
    }
  } else {
    joined.shape.reset();
  }
  if (a.element && b.element) {
    joined.element = std::make_shared<const Type>(in_sequence ? join(*a.element, *b.element, UnknownDim{})
                                                              : join(*a.element, *b.element, differing));
  } else {
    joined.element.reset();
  }
  return joined;
}

template <class Keep>
ir::DeclaredType to_declared(const Type& type, const DimPool& dims, Keep&& keep) {
  using Kind = ir::DeclaredType::Kind;
  ir::DeclaredType declared;
  switch (type.kind) {
    case Type::Kind::unknown:
      return declared;
    case Type::Kind::tensor:
      declared.kind = Kind::tensor;
      break;
    case Type::Kind::sparse_tensor:
      declared.kind = Kind::sparse_tensor;
      break;
    case Type::Kind::sequence:
      declared.kind = Kind::sequence;
      break;
    case Type::Kind::optional:
      declared.kind = Kind::optional;
      break;
    case Type::Kind::map:
      declared.kind = Kind::map;
      break;
    case Type::Kind::opaque:
      declared.kind = Kind::opaque;
      break;
  }
  const bool has_elem = type.kind == Type::Kind::tensor || type.kind == Type::Kind::sparse_tensor;
  if (has_elem) declared.elem_type = static_cast<std::int32_t>(type.elem);
  if (type.kind == Type::Kind::map) declared.key_type = static_cast<std::int32_t>(type.elem);
  if (type.shape) {
    ir::DeclaredShape shape;
    for (const Dim d : *type.shape) {
      ir::DeclaredDim out;
      if (d.is_constant()) {
        out.value = d.constant();
      } else if (d.is_expression() && !dims.has_origin(d, ir::SymbolOrigin::lost)) {
        out.param = keep(dims.to_string(d));
      }
      shape.dims.push_back(std::move(out));
    }
    declared.shape = std::move(shape);
  }
  if (type.element) declared.element = std::make_unique<ir::DeclaredType>(to_declared(*type.element, dims, keep));
  return declared;
}

}  // namespace onnxkit::checker
