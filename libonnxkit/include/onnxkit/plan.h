#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/run.h"

namespace onnxkit {

/// A node by its name, or by the first value that it writes where it has none.
struct PlanNode {
  std::string name, op;
};

/// A place where a pass changed the model.
struct PlanChange {
  std::string pass;
  std::vector<PlanNode> nodes;  ///< that are gone, or are of another operator now
  std::string made;             ///< the operator that stands in their place; empty where none does
};

/// A place that was left as it is although it began as what a pass looks for.
struct PlanMiss {
  std::string pass;
  PlanNode node;
  std::string reason;
};

struct PlanStep {
  std::string kind;  ///< "product", "map" ...; "host" for a node on the reference, "conversion" for one to another type
  std::vector<PlanNode>
      nodes;                 ///< that it computes, or converts for; none for copies of inputs and constants to outputs
  std::string by;            ///< the library that runs it, where the backend has a choice
  std::string reason;        ///< of a host step
  bool runs_bodies = false;  ///< its bodies have plans of their own, which are made when it runs
};

/// A plan for some part of a model.
struct PlanPart {
  std::string of;  ///< "the model", "the rest of the model, with sizes that the run computed"
  std::vector<PlanChange> changes;
  std::vector<PlanMiss> misses;
  std::vector<PlanStep> steps;
  std::vector<PlanNode> without_step;  ///< nodes that are views or constants
  std::uint64_t arena_bytes = 0;       ///< of memory for values between steps
  std::vector<std::string> open;       ///< values whose sizes only a run tells, so that the plan ends there
};

struct PlanSummary {
  std::string backend;
  std::vector<RunInput> inputs;  ///< that the plan was made for
  std::vector<PlanPart> parts;
};

/// What a backend makes of a model for inputs of these sizes, as `run` would complete them. The model runs where sizes depend on results and
/// where nodes have bodies, whose plans are made then, within the limits of the options. Errors:
/// those of run; not-supported for a backend that makes no plan.
ONNXKIT_API Result<PlanSummary> summarize_plan(const Model& model, std::vector<NamedValue> inputs,
                                               const RunOptions& options = {});

}  // namespace onnxkit
