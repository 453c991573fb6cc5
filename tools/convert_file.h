#pragma once

#include <string>
#include <vector>

#include "onnxkit/dims.h"
#include "onnxkit/model.h"
#include "onnxkit/opset.h"
#include "tools/command.h"
#include "tools/options/notes.h"
#include "tools/options/output.h"
#include "tools/options/verification.h"
#include "tools/options/workers.h"
#include "tools/report/convert.h"

namespace onnxkit::tools {

/// What `convert` is told.
struct ConvertArguments {
  std::string input;
  std::string output;
  ReadOptions read;
  SaveOptions save;
  bool embed = false;
  std::string external;
  std::vector<std::string> opsets;
  VerificationOptions verification;
  std::string verify_with = "reference";
  bool round_trip = false;
  WorkerOptions workers;
  AlignCorners align_corners = AlignCorners::refuse;
  std::string weights;
  WeightsOptions weights_options;
  OutputOptions report;
  std::vector<std::string> input_shapes, values;
  DimSettings dims;
  bool half = false;
  bool reorders_boundary = false;
  bool explain = false;
  std::string recorded_options;  ///< as they go into the metadata of the result
  std::string proof_option;      ///< the first option given that only makes sense with a proof; empty: none
  bool names_backend = false;    ///< --verify-with is given
  Notes notes = Notes::usual;
  bool is_one_of_many = false;  ///< what is said names the file
};

/// What CLI11 stores for --external without a file name.
inline constexpr const char* no_file_name = "true";

/// The options of the library for the output.
SaveOptions save_options(const ConvertArguments& arguments);

/// Whether the format of this name is another framework's.
bool is_of_framework(const std::string& format);

/// Converts one model and prints what there is to say of it. Wrong usage that only shows with the model is in `file.usage`.
void convert_file(const ConvertArguments& arguments, ConvertedFile& file);

}  // namespace onnxkit::tools
