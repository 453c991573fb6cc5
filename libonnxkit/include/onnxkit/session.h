#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/element_type.h"
#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

namespace onnxkit {

/// An input or output of a model that is ready to run.
struct SessionPort {
  std::string name;
  ValueKind kind = ValueKind::tensor;                  ///< none where the model declares no type
  ElementType type = ElementType::undefined;           ///< of a tensor's elements
  std::optional<std::vector<std::int64_t>> dims = {};  ///< -1 for a size that the model leaves open; nullopt: any rank
  bool has_default = false;  ///< an input that may be left out: an initializer gives its value
};

struct ModelPorts {
  std::vector<SessionPort> inputs, outputs;
};
/// What the main graph declares, in its order; none without a graph.
ONNXKIT_API ModelPorts ports_of(const Model& model);

struct SessionOptions {
  /// "reference", "cpu", "cuda", or a worker ("onnxruntime", "openvino" ...; docs/backends.md).
  std::string backend = "reference";
  std::map<std::string, std::string> backend_options = {};
  Context context = {};
  /// Threads, and what each run may take. Workers keep the limits of the context's workers, and that of time.
  Limits limits = {};
  /// As RunOptions::unchanged_file.
  std::filesystem::path unchanged_file = {};
  bool unrounded = false;  ///< as RunOptions::unrounded
  bool allow_outside_data = false;
  std::stop_token stop = {};  ///< of loading
};

struct SessionRun {
  std::vector<std::string> outputs = {};  ///< wanted, in this order; empty: all
  std::uint64_t seed = 0;                 ///< of random operators without a seed
  std::stop_token stop = {};
};

/// A model that is loaded once and run any number of times, with sizes that may differ from run to run. It keeps what it needs of the model, which
/// may change or end before it. One run at a time; sessions of one Context share its threads.
class ONNXKIT_API Session {
 public:
  /// Errors: no-graph, unknown-backend, unknown-option, not-supported (every node that the backend cannot run), cancelled, and those of external data and
  /// of workers.
  static Result<Session> open(const Model& model, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Of the main graph, in its order.
  const std::vector<SessionPort>& inputs() const;
  const std::vector<SessionPort>& outputs() const;
  /// What the runtime said when it loaded the model.
  const std::vector<std::string>& warnings() const;

  /// Inputs go by name; those with a default may be missing. Errors: unknown-input, unknown-value (an output), input-missing, input-type, input-shape, memory-limit,
  /// time-limit, iteration-limit, cancelled, kernel, and those of workers.
  Result<std::vector<NamedValue>> run(const std::vector<NamedValue>& inputs, const SessionRun& options = {});

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace onnxkit
