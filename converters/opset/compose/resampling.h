#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converters/opset/compose/sampling.h"
#include "converters/opset/engine/step.h"

// What a step knows of an Upsample or Resize, and how such a node is written without one.
namespace onnxkit::opset {

/// Of one axis that scales or sizes speak of.
struct ResampledAxis {
  std::int64_t axis = 0;  ///< counted from the front
  bool stays = false;     ///< surely as it was
  std::optional<std::int64_t> size = {}, new_size = {};
  std::optional<double> scale = {};  ///< which positions follow
  std::optional<std::pair<double, double>> region = {};

  std::optional<SampledAxis> sampled() const;
};

struct Resampling {
  SamplingRules rules;
  ValueId x = ValueId::none;
  ValueId roi = ValueId::none, scales = ValueId::none, sizes = ValueId::none;  ///< none when not given
  std::string policy = "stretch";
  std::optional<std::int64_t> rank;
  bool axes_known = false;  ///< which axes are spoken of; `axes` is empty when not
  std::vector<ResampledAxis> axes;

  bool keeps_ratio() const { return sizes != ValueId::none && policy != "stretch" && (!axes_known || axes.size() > 1); }
};

/// The node as its version means it. Refuses when scales and sizes are there and which of them is empty is not known.
Resampling read_resampling(Step& step);
SamplingRules version_10_rules(SamplingRules::Mode mode);

/// Refuses a rewrite of align_corners by scales where the scaled length is not surely whole. The official cases measure positions by that length, and
/// ONNX Runtime and torch by the size of the result; nothing is refused where the user said which.
void refuse_two_readings(const Step& step, const Resampling& resampling);

/// Weights that differ by no more are the same in the type of x.
double weight_tolerance(const Step& step, ValueId x);

/// Replaces the node by Gather: with constant indices and weights where sizes and scales are known, else with ones that are computed at run time.
void write_with_gather(Step& step, const Resampling& resampling);

}  // namespace onnxkit::opset
