#pragma once

#include <span>
#include <string>
#include <vector>

#include "onnxkit/diff.h"

// Where two models have the channels of what both take or give: as the user says, or told from shapes.
namespace onnxkit::diffing {

/// The values with the channels of those that DiffOptions::axes names where the model `to` has them: the first side's, or another one.
enum class Owner : std::uint8_t { first, other };
std::vector<NamedValue> in_axes_of(std::vector<NamedValue> values, const DiffOptions& options, Owner from, Owner to);

/// Names of values whose shape is the same with the channels second and last, though values of the same rank had theirs moved for this model
/// (`ranks`), and of which the user does not say where they are.
std::vector<std::string> undecided_axes(const std::vector<NamedValue>& values, std::span<const std::size_t> ranks,
                                        const DiffOptions& options);

/// Ranks of the inputs of a set whose channels were moved for a model, by the user's word or by their shape (`moved`).
std::vector<std::size_t> moved_ranks(const InputSet& set, const std::vector<std::string>& moved,
                                     const DiffOptions& options);

}  // namespace onnxkit::diffing
