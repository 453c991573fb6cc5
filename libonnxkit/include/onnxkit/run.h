#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit {

/// One node has run.
struct NodeTime {
  Location location;
  double seconds = 0;
  std::uint64_t live_bytes = 0;  ///< of all values alive when it ended
};

/// Where programs that host other runtimes are, and what they may take.
struct WorkerSettings {
  std::vector<std::filesystem::path> folders;
  std::string python = "python3";
  std::uint64_t start_limit_ms = 60'000, load_limit_ms = 300'000, run_limit_ms = 300'000;
  std::uint64_t memory_limit = 0;  ///< bytes; 0: none
};

struct RunOptions {
  /// "reference", or a worker: "onnxruntime", "openvino" ... (docs/backends.md), which offers none of wide and on_node and keeps the limits of
  /// `workers` in place of those below.
  std::string backend = "reference";
  std::map<std::string, std::string> backend_options;
  WorkerSettings workers;
  /// The binary file that the model was read from, when both are still what they were: a backend in a process of its own loads it there.
  /// Empty: the model is written for it.
  std::filesystem::path unchanged_file;
  /// Reals narrower than float64 are not rounded between nodes, and come out as float64: the exact answer that rounded ones are held
  /// against.
  bool wide = false;
  int threads = 0;                    ///< 0: all cores that this process may use
  std::uint64_t seed = 0;             ///< of made-up inputs and of random operators without a seed
  std::uint64_t memory_limit = 0;     ///< bytes of values alive at once; 0: none
  std::uint64_t time_limit_ms = 0;    ///< 0: none
  std::uint64_t iteration_limit = 0;  ///< passes of one loop; 0: none
  std::stop_token stop;
  /// Inputs that get no value are made up; else they are an error.
  bool make_up_inputs = true;
  std::map<std::string, std::int64_t> dims;  ///< sizes of named dimensions of made-up inputs
  std::vector<std::filesystem::path> schemas;
  bool allow_outside_data = false;
  /// Values inside the main graph that are handed to on_value as soon as they exist.
  std::vector<std::string> taps;
  std::function<Result<void>(std::string_view name, const Value& value)> on_value;
  std::function<void(const NodeTime&)> on_node;
};

struct RunInput {
  std::string name;
  Value value;
  std::string origin;  ///< "given", "initializer", or how it was made up
};

struct RunReport {
  std::vector<RunInput> inputs;
  std::vector<NamedValue> outputs;
  double prepare_seconds = 0, run_seconds = 0;
};

/// A value for each input of the main graph, in order: what is given, else made up (kind none where an initializer gives it, or
/// without make_up_inputs). Errors: unknown-input, input-missing, unknown-dimension.
ONNXKIT_API Result<std::vector<RunInput>> complete_inputs(const Model& model, std::vector<NamedValue> given,
                                                          const RunOptions& options = {});

/// Runs the main graph once. Inputs go by name. Errors: unknown-input, input-missing, input-type, input-shape, unknown-dimension, unknown-value,
/// unknown-backend, not-supported (every node that the backend cannot run), memory-limit, time-limit, iteration-limit, cancelled, kernel
/// (what an operator cannot do with its inputs), and those of external data.
ONNXKIT_API Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options = {});

/// Names of the main graph's inputs that need a value, those without an initializer, in order; and of its outputs.
ONNXKIT_API std::vector<std::string> input_names(const Model& model);
ONNXKIT_API std::vector<std::string> output_names(const Model& model);

}  // namespace onnxkit
