#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// What runs a model. `diff`, `bench`, `run` and the tests see these classes only; the reference, fast executors in this process and other
// people's runtimes in worker processes stand behind them alike.
namespace onnxkit::exec {

/// Yes, or no because.
struct Support {
  bool supported = true;
  std::string reason = {};
};

/// A node that a backend cannot run.
struct Unsupported {
  Location location;
  std::string reason;
};

using ir::ExternalBytes;

struct PrepareOptions {
  ExternalBytes external_bytes;
  /// Bytes of weights and other constants that a session may keep from run to run, ready to compute with. Runs with a memory limit neither keep
  /// nor use them.
  std::uint64_t kept_bytes = 0;
};
/// What is enough for most networks and little for a machine that runs them often.
inline constexpr std::uint64_t usual_kept_bytes = std::uint64_t{1} << 30;

/// One node has run.
struct NodeEvent {
  const ir::Graph* graph;
  std::size_t node;
  std::chrono::nanoseconds wall;
  std::uint64_t live_bytes;  ///< of all values alive when it ended, but for constants kept from earlier runs
};

/// How far results are rounded between nodes.
enum class Rounding : std::uint8_t {
  spec,  ///< every node's output to its declared type
  wide,  ///< float16, bfloat16 and float32 stay double, and outputs of these types come out as float64
};

struct RunOptions {
  Rounding rounding = Rounding::spec;
  int threads = 0;                          ///< 0: all cores that this process may use
  std::uint64_t seed = 0;                   ///< of random operators that name none themselves
  std::uint64_t memory_limit = 0;           ///< bytes of values alive at once, 0: none
  std::chrono::milliseconds time_limit{0};  ///< 0: none
  std::uint64_t iteration_limit = 0;        ///< of one Loop, Scan or SequenceMap, 0: none
  std::stop_token stop;
  /// Values of the main graph to hand to on_value as soon as they exist; they are not kept.
  std::vector<std::string> taps = {};
  bool tap_all = false;
  /// An error ends the run.
  std::function<Result<void>(std::string_view name, const Value& value)> on_value;
  std::function<void(const NodeEvent&)> on_node;
};

/// A model made ready to run. The model and table that it was prepared from must outlive it.
class Session {
 public:
  virtual ~Session() = default;
  /// One value for each input of the main graph, in order; kind none takes the initializer of the same name. Errors: input-missing,
  /// input-type, input-shape, undefined-for-type, memory-limit, time-limit, iteration-limit, cancelled, not-supported, kernel.
  virtual Result<std::vector<Value>> run(std::span<const Value> inputs, const RunOptions& options) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string version() const = 0;
  /// Whether this version of an operator can be run at all. `node` may tell more: attributes, overloads.
  virtual Support supports(const ir::Node& node, const spec::OpSchema& schema) const = 0;
  /// Fails with not-supported and every node that cannot be run.
  virtual Result<std::unique_ptr<Session>> prepare(const ir::Model& model, const spec::OpTable& table,
                                                   const PrepareOptions& options) const = 0;
};

/// Every node of the model, in subgraphs and functions too, that the backend cannot run. Operators without a schema are among them.
std::vector<Unsupported> unsupported_nodes(const Backend& backend, const ir::Model& model, const spec::OpTable& table);
/// The error not-supported that lists them: the first as its location and message, the rest as notes.
Error not_supported(std::span<const Unsupported> nodes);

/// Whether these are values for the inputs of a graph: their number, kinds, element types and constant sizes, and that only inputs with an
/// initializer are left out. Errors: input-missing, input-type, input-shape.
Result<void> check_inputs(const ir::Graph& graph, std::span<const Value> inputs);

}  // namespace onnxkit::exec
