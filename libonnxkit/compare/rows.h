#pragma once

#include <cstddef>
#include <optional>

#include "libonnxkit/compare/verdict.h"

// Tensors whose number of rows rounding decides: what NonMaxSuppression, NonZero or a threshold leave.
namespace onnxkit::comparison {

/// The one axis along which the tensors of a spread and the compared ones have other sizes; nullopt where there is none, or more than one.
std::optional<std::size_t> axis_of_rows(const exec::Spread& spread, const Tensor& got, const Tensor* origin);

/// The axis of rows where samples of one shape have rows of the exact answer at other places, as those of equal scores; else nullopt. Elements tell
/// nothing there.
std::optional<std::size_t> axis_of_exchanged_rows(const exec::Spread& spread, ElementType type);

/// Arguments as those of verdict_of. Rows, which are the slices along an axis, are matched as a set: of numbers the nearest ones, of all else equal
/// ones. Matched rows are within the floor or not; rows without a counterpart are flips, which samples have, too, or not. Where rows keep their
/// places, so are those that are elsewhere.
TensorVerdict verdict_of_rows(const exec::Spread& spread, const Tensor& got, Profile profile, const Tensor* origin,
                              std::size_t sets, std::size_t axis, bool keeps_places = false);

}  // namespace onnxkit::comparison
