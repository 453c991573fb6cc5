#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "libonnxkit/ir/dim/dim.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit::inputs {

/// nullopt when a name in `dim` has no size among `sizes`.
std::optional<std::int64_t> size_of(const ir::DimPool& pool, ir::Dim dim,
                                    const std::map<std::string, std::int64_t>& sizes);

/// `sizes` of named dimensions, and those that the values which were given for inputs of the graph have. `given` is in the order of the inputs, kind
/// none where there is no value. Error input-shape when a name would have two sizes.
Result<std::map<std::string, std::int64_t>> bound_sizes(const ir::Graph& graph, std::span<const Value> given,
                                                        const std::map<std::string, std::int64_t>& sizes);

}  // namespace onnxkit::inputs
