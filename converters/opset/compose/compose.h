#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/step.h"

// Nodes for compositions whose parameters are attributes in some versions and inputs in others, written for the opset that the step leads to.
namespace onnxkit::opset {

/// ReduceSum, ReduceMean ... along these axes.
ValueId reduce(Step& step, std::string_view op, ValueId x, const std::vector<std::int64_t>& axes, bool keep = true,
               std::string_view hint = {});
/// From opset 5 on; a size of 0 stands for that of x, one of -1 for the rest.
ValueId reshape(Step& step, ValueId x, const std::vector<std::int64_t>& sizes, std::string_view hint = {});
ValueId squeeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint = {});
ValueId unsqueeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint = {});
/// [begin, end) along an axis.
ValueId slice(Step& step, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end,
              std::string_view hint = {});
/// `pads` as the operator has them: all begins, then all ends. From opset 2 on.
ValueId pad(Step& step, ValueId x, ElementType type, const std::vector<std::int64_t>& pads, double value,
            std::string_view hint = {});
/// The narrowest type that holds all numbers of both floating types.
ElementType wider(ElementType a, ElementType b);

}  // namespace onnxkit::opset
