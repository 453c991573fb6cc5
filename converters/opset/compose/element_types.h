#pragma once

#include <string_view>
#include <vector>

#include "converters/opset/engine/registry.h"

// Steps over versions that differ in the element types that they allow.
namespace onnxkit::opset {

/// A Cast for the opset that the step leads to, whose `to` is a name below opset 6; the value itself when it is one of the graph and known to have
/// the type.
ValueId cast(Step& step, ValueId value, ElementType to, std::string_view hint = {});
void cast_into(Step& step, ValueId value, ElementType to, ValueId result);
Attr cast_target(const Step& step, ElementType to);

/// float64 numbers between the two.
ValueId bounded(Step& step, ValueId real, double least, double greatest);

/// Elements that the older version lacks, and ones that hold them and in which it gives the same.
struct Detour {
  ElementType from, to;
};
using Detours = std::vector<Detour>;

/// float32 for what is narrower: rounding its results once more gives the same.
Detours through_float32(std::initializer_list<ElementType> narrow = {ElementType::bfloat16});
/// Whole numbers of up to 32 bits in float64, exactly.
Detours whole_through_float64();
/// Integers of 8 and 16 bits in int32: what comes out of add, subtract, multiply and the like keeps its low bits.
Detours narrow_through_int32();

/// Down: casts before and after where the inputs have such a type; other nodes stay as they are.
Way by_way_of(Detours detours);
/// A part of it: true when the node takes a detour.
bool take_detour(Step& step, const Detours& detours);

}  // namespace onnxkit::opset
