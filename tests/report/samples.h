#pragma once

#include <string>
#include <vector>

#include "onnxkit/diff.h"

namespace onnxkit::tests {

struct Sample {
  std::string name;
  DiffReport report;
};

/// Reports made by hand: healthy, a culprit among the layers, many sets, failures, segmentation, odd values, nothing compared, hostile names.
std::vector<Sample> sample_reports();

}  // namespace onnxkit::tests
