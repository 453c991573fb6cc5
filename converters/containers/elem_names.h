#pragma once

#include <array>
#include <string_view>

#include "onnxkit/element_type.h"

namespace onnxkit::containers {

/// What files of weights call an element type. Empty: they lack it.
struct ElemNames {
  ElementType elem;
  std::string_view safetensors;
  std::string_view torch_storage;  ///< the class of its storages, in module torch
  std::string_view torch_dtype;    ///< of types that have no storage of their own, in module torch
};

inline constexpr std::array elem_names = {
    ElemNames{ElementType::float32, "F32", "FloatStorage", {}},
    ElemNames{ElementType::float64, "F64", "DoubleStorage", {}},
    ElemNames{ElementType::float16, "F16", "HalfStorage", {}},
    ElemNames{ElementType::bfloat16, "BF16", "BFloat16Storage", {}},
    ElemNames{ElementType::int64, "I64", "LongStorage", {}},
    ElemNames{ElementType::int32, "I32", "IntStorage", {}},
    ElemNames{ElementType::int16, "I16", "ShortStorage", {}},
    ElemNames{ElementType::int8, "I8", "CharStorage", {}},
    ElemNames{ElementType::uint64, "U64", {}, "uint64"},
    ElemNames{ElementType::uint32, "U32", {}, "uint32"},
    ElemNames{ElementType::uint16, "U16", {}, "uint16"},
    ElemNames{ElementType::uint8, "U8", "ByteStorage", {}},
    ElemNames{ElementType::boolean, "BOOL", "BoolStorage", {}},
    ElemNames{ElementType::complex64, "C64", "ComplexFloatStorage", {}},
    ElemNames{ElementType::complex128, {}, "ComplexDoubleStorage", {}},
    ElemNames{ElementType::float8e4m3fn, "F8_E4M3", {}, "float8_e4m3fn"},
    ElemNames{ElementType::float8e5m2, "F8_E5M2", {}, "float8_e5m2"},
    ElemNames{ElementType::float8e4m3fnuz, {}, {}, "float8_e4m3fnuz"},
    ElemNames{ElementType::float8e5m2fnuz, {}, {}, "float8_e5m2fnuz"},
    ElemNames{ElementType::float8e8m0, "F8_E8M0", {}, {}},
};

using ElemName = std::string_view ElemNames::*;

/// The type that has this name there; undefined when none has.
constexpr ElementType elem_named(std::string_view name, ElemName there) {
  for (const ElemNames& names : elem_names)
    if (!name.empty() && names.*there == name) return names.elem;
  return ElementType::undefined;
}

/// What the type is called there; empty when there is no name.
constexpr std::string_view name_of_elem(ElementType elem, ElemName there) {
  for (const ElemNames& names : elem_names)
    if (names.elem == elem) return names.*there;
  return {};
}

}  // namespace onnxkit::containers
