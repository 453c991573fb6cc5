#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converters/foreign/write_call.h"

// Types and constants, as mappings from ONNX to any framework look at them.
namespace onnxkit::foreign {

using Ints = std::vector<std::int64_t>;

/// The shape that two values broadcast to, unknown where a rank is.
Type broadcast_type(WriteCall& call, ValueId a, ValueId b);
Shape shape_from(const Ints& dims);
/// The sizes, when all are constants.
std::optional<Ints> known_sizes(const Type& type);
/// Refuses when the rank is unknown, and gives 0.
std::size_t rank_of(WriteCall& call, ValueId value);

/// The elements of an input that is a constant of whatever size.
std::optional<std::vector<double>> constant_reals(WriteCall call, std::size_t input);
std::optional<Ints> constant_integers(WriteCall call, std::size_t input);

/// The axes of a reduction: all where the node names none, unless it then does nothing. Refuses those that are not constant.
std::optional<Ints> reduced_axes(WriteCall& call);
bool keeps_axes(const WriteCall& call);

}  // namespace onnxkit::foreign
