#pragma once

#include <string>
#include <vector>

#include "onnxkit/inspect.h"
#include "onnxkit/result.h"
#include "tools/report/json.h"

namespace onnxkit::tools {

/// A JSON report of `onnxkit check` or `onnxkit diff`, as a file holds it.
struct ReportFile {
  std::string path, text;
};

/// What reports say of the nodes of a model, for its page.
struct Marks {
  Json data;  ///< reports, findings, deviations, and unmatched: what names no node of this model
  std::vector<std::string> warnings;  ///< for standard error
};

/// Finds the nodes that the reports name. Fails with json-syntax for a file that is no such report, and with usage for one of another model: its
/// path is another, and not all of the nodes that it names are in this model.
Result<Marks> marks_of(const InspectReport& model, const std::vector<ReportFile>& reports);

}  // namespace onnxkit::tools
