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

#include "onnxkit/context.h"
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

struct RunOptions {
  /// "reference", or a worker: "onnxruntime", "openvino" ... (docs/backends.md), which offers none of unrounded and on_node and keeps the limits of the
  /// context's workers in place of `limits`, but for that of time.
  std::string backend = "reference";
  std::map<std::string, std::string> backend_options = {};
  Context context = {};
  Limits limits = {};
  /// The binary file that the model was read from, when both are still what they were: a backend in a process of its own loads it there.
  /// Empty: the model is written for it.
  std::filesystem::path unchanged_file = {};
  /// Reals narrower than float64 are not rounded between nodes, and come out as float64: the exact answer that rounded ones are
  /// compared with.
  bool unrounded = false;
  std::uint64_t seed = 0;  ///< of made-up inputs and of random operators without a seed
  std::stop_token stop = {};
  /// Inputs that get no value are made up; else they are an error.
  bool make_up_inputs = true;
  std::map<std::string, std::int64_t> dims = {};  ///< sizes of named dimensions of made-up inputs
  bool allow_outside_data = false;
  /// Values inside the main graph that are handed to on_value as soon as they exist.
  std::vector<std::string> taps = {};
  std::function<Result<void>(std::string_view name, const Value& value)> on_value = {};
  std::function<void(const NodeTime&)> on_node = {};
};

struct RunInput {
  std::string name;
  Value value;
  std::string origin;  ///< "given", "initializer", or how it was made up
};

struct RunReport {
  std::vector<RunInput> inputs;
  std::vector<NamedValue> outputs;
  std::vector<std::string> warnings;  ///< what other runtimes read in another way than the reference
  double prepare_seconds = 0, run_seconds = 0;
  /// The steps that the backend ran, as text, and which nodes ran elsewhere than meant; empty for backends that make no plan.
  std::string plan = {};
  std::vector<std::string> plan_notes = {};
};

struct CompletedInputs {
  std::vector<RunInput> inputs;
  /// What to say when a run of them fails: sizes that were chosen for made up ones, and how to set them. Empty where none were.
  std::vector<std::string> notes = {};
  std::string help = {};
};

/// A value for each input of the main graph, in order: what is given, else made up (kind none where an initializer gives it, or
/// without make_up_inputs). Errors: unknown-input, input-missing, unknown-dimension, cancelled,
/// time-limit.
ONNXKIT_API Result<CompletedInputs> complete_inputs(const Model& model, std::vector<NamedValue> given,
                                                    const RunOptions& options = {});

/// Whether the main graph takes these values, one for each of its inputs in order, as complete_inputs has them. Errors: input-missing, input-type,
/// input-shape.
ONNXKIT_API Result<void> check_inputs(const Model& model, const std::vector<RunInput>& inputs);

/// Runs the main graph once. Inputs go by name. Errors: unknown-input, input-missing, input-type, input-shape, unknown-dimension, unknown-value,
/// unknown-backend, not-supported (every node that the backend cannot run), memory-limit, time-limit, iteration-limit, cancelled, kernel
/// (what an operator cannot do with its inputs), and those of external data.
ONNXKIT_API Result<RunReport> run(const Model& model, std::vector<NamedValue> inputs, const RunOptions& options = {});

/// Names of the main graph's inputs that need a value, those without an initializer, in order; and of its outputs.
ONNXKIT_API std::vector<std::string> input_names(const Model& model);
ONNXKIT_API std::vector<std::string> output_names(const Model& model);

}  // namespace onnxkit
