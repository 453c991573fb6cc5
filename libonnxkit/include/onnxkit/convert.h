#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/opset.h"
#include "onnxkit/result.h"

// Models of other frameworks: reading and writing them is read_model and write_model (onnxkit/model.h); here is the proof that a
// conversion computes the same, and weights of files that have no network.
namespace onnxkit {

struct SourceCheckOptions {
  std::string backend = "reference";  ///< that runs the ONNX model
  std::string format = {};            ///< of the framework's file; empty: by its content
  /// Where the framework's worker is found, and the limits of both runs: time 0 is no limit.
  Context context = {};
  Limits limits = {.threads = 0, .memory_bytes = 0, .time_ms = 20'000, .iterations = 0};
  /// Sizes of named dimensions; others are those that the model was exported with, where the file says so.
  std::map<std::string, std::int64_t> dims = {};
  std::uint64_t seed = 0;
  std::stop_token stop = {};
};

struct SourceReport {
  Equality verdict = Equality::not_compared;
  /// What differs, or why nothing was compared.
  std::string reason;
  std::string runtime;         ///< that ran the framework's file: "torch 2.15.0"
  std::size_t outputs = 0;     ///< that were compared
  std::string finest_profile;  ///< of arithmetic that explains all deviations ("float32"); empty: they are identical
};

/// The functions of a file that ReadOptions::signature chooses from, such as the signatures of a TensorFlow SavedModel; empty where there is
/// nothing to choose. `format` is that of ReadOptions. Fails with cannot-read or malformed-model.
ONNXKIT_API Result<std::vector<std::string>> signatures_of(const std::filesystem::path& path,
                                                           const std::string& format = {});

/// Runs the file that a model was read from in its own framework, and the model itself, on the same made-up inputs. The noise floor
/// judges (docs/noise-floor.md). Errors: usage (no backend runs files of this format), unknown-dimension, unknown-backend, cancelled.
ONNXKIT_API Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                                     const SourceCheckOptions& options = {});

/// The way back: runs a file that was written from a model in its framework, and the model itself on options.backend. As compare_with_source
/// otherwise.
ONNXKIT_API Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                                     const SourceCheckOptions& options = {});

/// An input or output whose axes have another order.
struct BoundaryChange {
  std::string name;
  bool is_output = false;
  std::vector<std::int64_t> order;  ///< the axes, counted as they were
};

/// Gives inputs and outputs the order of axes in which the model computes behind them, so that no Transpose stands there: the order that the
/// kernels of a format want, by its name (channels last for "tflite"); without one, that of the model's own nodes. What the model computes
/// stays the same but for that order.
ONNXKIT_API std::vector<BoundaryChange> reorder_boundary(Model& model, const std::string& format = {});
/// Runs two models on options.backend on the same made-up inputs, as after a conversion there and back. Inputs and outputs
/// belong together by their places, as not every format takes every name. Errors as above.
ONNXKIT_API Result<SourceReport> compare_models(const Model& before, const Model& after,
                                                const SourceCheckOptions& options = {});

/// Where a model came from, and with which options. Empty texts are left out.
struct ConversionRecord {
  std::string file, format, options;
};
/// Writes it into the model's metadata: "source_file", "source_format", "converter_options"; onnxkit becomes the producer, with its version.
ONNXKIT_API void record_conversion(Model& model, const ConversionRecord& record);

struct HalfReport {
  std::size_t stored = 0;   ///< tensors that are float16 now
  std::size_t kept = 0;     ///< that float16 cannot hold: an element beyond its range, or most of them below it
  std::uint64_t saved = 0;  ///< bytes
};
/// Stores the float32 weights from 1 KiB on as float16, each behind a Cast: the graph computes as before, with rounded weights. Errors: usage
/// (below opset 6), those of external data.
ONNXKIT_API Result<HalfReport> store_half(Model& model);

struct WeightsOptions {
  /// Initializers that the file lacks, or has in another shape, keep their content; else that is a finding and nothing changes.
  bool partial = false;
  /// What the arrays of a .npz file may take; 0: a quarter of the memory.
  std::uint64_t most_bytes = 0;
};

/// An initializer and the tensor that it got.
struct WeightMatch {
  enum class How : std::uint8_t {
    name,    ///< the same
    prefix,  ///< the same without "module.", "model." and the like
    shape,   ///< only these two have it
    order,   ///< several have the shape, as many on both sides: taken in the order of the files
  };
  std::string initializer, tensor;
  How how = How::name;
  bool is_transposed = false;
};
ONNXKIT_API std::string_view name_of(WeightMatch::How how);

struct WeightsReport {
  std::vector<WeightMatch> matches;
  std::vector<std::string> missing;  ///< initializers with real numbers, more than one, that the file has nothing for
  std::vector<std::string> unused;   ///< tensors of the file
  std::vector<Diagnostic> findings;  ///< errors weight-missing and weight-shape; warnings when `partial`

  /// Without an error among the findings.
  bool fits() const {
    for (const Diagnostic& finding : findings)
      if (finding.severity == Severity::error) return false;
    return true;
  }
};

/// Puts the tensors of a file into the initializers of the main graph: a state_dict of PyTorch (.pt, .pth), safetensors or .npz. They match by name,
/// then by name without the prefixes of wrapping modules, then by type and shape; a matrix may be the transpose. The model is unchanged when a
/// finding is an error. Errors: no-graph, cannot-read, unsupported-format, memory-limit and those of the formats (malformed-pickle,
/// malformed-safetensors, malformed-npz ...).
ONNXKIT_API Result<WeightsReport> load_weights(Model& model, const std::filesystem::path& file,
                                               const WeightsOptions& options = {});

}  // namespace onnxkit
