#pragma once

#include "converters/formats/tflite/emit.h"

// Where elements lie, as GATHER_ND and SCATTER_ND are told.
namespace onnxkit::to_tflite {

/// Positions on an axis of the first input, counted from the start. Those that are computed may be negative.
ValueId positions(WriteCall& call, std::size_t input, std::size_t of_axis);
/// Rows of positions on the first axes of the first input, counted from the start.
ValueId row_positions(WriteCall& call, std::size_t input);
/// Coordinates of elements that an input of these sizes names by their place along an axis: along others they lie where the name does.
ValueId element_coordinates(WriteCall& call, std::size_t input, std::int64_t axis, const Shape& sizes);

}  // namespace onnxkit::to_tflite
