#pragma once

#include <type_traits>

#include "libonnxkit/ir/model.h"

namespace onnxkit::wire::text {

/// Messages that have no syntax of their own and are written {field: value, ...}.
template <class M>
concept PlainMessage = std::is_same_v<M, ir::TrainingInfo> || std::is_same_v<M, ir::DeviceConfiguration> ||
    std::is_same_v<M, ir::NodeDeviceConfiguration> || std::is_same_v<M, ir::ShardingSpec> ||
    std::is_same_v<M, ir::IntIntListEntry> || std::is_same_v<M, ir::ShardedDim> ||
    std::is_same_v<M, ir::SimpleShardedDim> || std::is_same_v<M, ir::TensorAnnotation>;

}  // namespace onnxkit::wire::text
