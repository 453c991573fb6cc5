#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnxkit/convert.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/model.h"

namespace onnxkit::tools {

/// What `convert` did with one file.
struct ConvertedFile {
  std::string model, output;
  std::string from, to;  ///< names of formats
  bool is_written = false;
  bool is_refused = false;                 ///< the format of the output cannot express it
  std::string usage;                       ///< options that do not fit the model; empty: they do
  std::optional<Error> error;              ///< that ended it
  std::vector<Diagnostic> findings;        ///< what is in the way, and warnings
  std::optional<SourceReport> verified;    ///< compared with the framework's own run
  std::optional<SourceReport> round_trip;  ///< compared with what it was, after the way back
  std::optional<WeightsReport> weights;    ///< of another file
  std::string weights_file;
  /// What became of each node, where that is asked for: of the framework's model that was read, and of the ONNX model that was written for one.
  std::optional<std::vector<NodeMapping>> read, written;
};

/// "12 models: 10 converted, 1 refused, 1 unreadable"
std::string convert_summary(std::span<const ConvertedFile> files);

/// The form of docs/json/convert.schema.json.
std::string convert_json(std::span<const ConvertedFile> files);

}  // namespace onnxkit::tools
