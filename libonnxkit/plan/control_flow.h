#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/plan/planned.h"

namespace onnxkit::plan {

/// The body of an If, Loop or Scan as a model of its own: what it captures are further inputs, or constants where they are.
class Body {
 public:
  /// `model` has one node, whose body `graph` is.
  Body(const ir::Model& model, const ir::Graph& graph, std::string title, const PlannedOptions& options);

  const ir::Graph& graph() const { return *model_->graph; }
  const std::string& title() const { return title_; }
  /// Inputs that the body declares; what it captures comes behind them.
  std::size_t own_inputs() const { return own_inputs_; }
  /// That the body declares.
  std::size_t outputs() const { return passed_on_.size(); }
  /// Outputs in the order of the body's. `captured` are looked up by name; `inputs` come in the order of the body's own.
  Result<std::vector<Value>> run(std::vector<Value> inputs, const std::vector<NamedValue>& captured,
                                 const PlannedRun& run);
  const Planned& planned() const { return *planned_; }
  /// Why it gets no plans any more, so that the node runs on the reference; nothing while it does.
  std::optional<std::string> out_of_plans() const;

 private:
  static constexpr std::size_t most_plans_of_a_body = 16;  ///< that no generic model is behind
  static constexpr std::size_t most_quick_plans = 32;      ///< that take longer to make than to run

  std::string title_;
  PlannedOptions options_;  ///< of the model, with the body as it was written
  std::size_t own_inputs_ = 0;
  /// By output of the body: the input that it is, which no plan copies.
  std::vector<std::optional<std::size_t>> passed_on_;
  std::shared_ptr<const ir::Model> model_;
  std::unique_ptr<Planned> planned_;
};

/// An If, Loop or Scan of a host step. Its bodies run as plans, one for each combination of sizes, in a loop on the host.
class ControlFlow {
 public:
  /// Of the model of a host step; null for other operators, and where bodies cannot run as plans: then `why_not` says why.
  static std::unique_ptr<ControlFlow> make(std::shared_ptr<const ir::Model> model, const PlannedOptions& options,
                                           std::string& why_not);

  /// As the session of the model would. `around`: the run whose step this is.
  Result<std::vector<NamedValue>> run(const exec::RunRequest& request, const PlannedRun& around);
  const std::vector<std::unique_ptr<Body>>& bodies() const { return bodies_; }
  /// Why the last run gave the node to the reference as a whole; empty when its bodies ran as plans, or when none was.
  const std::string& why_whole() const { return why_whole_; }

 private:
  ControlFlow(std::shared_ptr<const ir::Model> model, const PlannedOptions& options);
  const ir::Node& node() const { return model_->graph->nodes.front(); }
  Result<std::vector<NamedValue>> run_whole(const exec::RunRequest& request);
  /// Outputs of the node; nothing where the body that runs gets no plans any more.
  Result<std::optional<std::vector<Value>>> run_if(const std::vector<NamedValue>& given, const PlannedRun& run);
  Result<std::optional<std::vector<Value>>> run_loop(const std::vector<NamedValue>& given, const PlannedRun& run);
  Result<std::optional<std::vector<Value>>> run_scan(const std::vector<NamedValue>& given, const PlannedRun& run);
  /// Values of the node's inputs, kind none for those that are left out.
  std::vector<Value> node_inputs(const std::vector<NamedValue>& given) const;
  /// Why the reference runs it as a whole with such inputs; empty for nothing.
  std::string why_not_plain(const std::vector<Value>& inputs) const;
  std::string why_not_plain_loop(const std::vector<Value>& inputs) const;
  std::string why_not_plain_scan(const std::vector<Value>& inputs) const;

  std::shared_ptr<const ir::Model> model_;
  const PlannedOptions& options_;
  std::vector<std::unique_ptr<Body>> bodies_;
  std::unique_ptr<exec::Session> whole_;
  std::string why_whole_;
};

}  // namespace onnxkit::plan
