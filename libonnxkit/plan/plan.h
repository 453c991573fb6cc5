#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/plan/expression.h"
#include "libonnxkit/plan/view.h"
#include "onnxkit/plan.h"
#include "onnxkit/value.h"

// A model for given sizes, lowered to a flat list of steps over buffers (docs/plan.md). Nothing here computes: a backend has a kernel for each kind
// of step.
namespace onnxkit::plan {

/// Where the bytes of a buffer lie.
enum class Home : std::uint8_t {
  arena,     ///< at `offset` of the one block of memory that a run uses
  constant,  ///< Plan::constants[index]
  input,     ///< what the caller gives for input `index`, in row-major order
  output,    ///< what the caller gets as output `index`, in row-major order
  slot,  ///< a value of any kind and size, in slot `index`: strings, sequences, results whose size only the run tells
};

struct Buffer {
  Home home = Home::arena;
  ElementType type = ElementType::undefined;
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;
  std::size_t index = 0;
  /// In the model, of the values that it holds; `type` where they are of several, undefined where it holds none.
  ElementType declared = ElementType::undefined;
  bool keeps_type = false;  ///< in narrower precisions: partial sums
};

/// Which types of real numbers the operands of a step may have.
enum class OperandTypes : std::uint8_t {
  equal,      ///< one type for all
  converted,  ///< any, which generated kernels convert; libraries want one
  any,        ///< any, for libraries as well
};

/// Where a step may write its results, as far as the backend takes it.
enum class OutputOrder : std::uint8_t {
  row_major,  ///< or as the kind says
  rows,       ///< anywhere, the numbers of the last axis side by side
  any,
};

/// A kind of step, and what passes and precisions ask of it. The kinds are in steps.h, further ones in backends; the name tells them apart.
struct StepKind {
  std::string_view name;
  OperandTypes reads = OperandTypes::equal, writes = OperandTypes::equal;
  OutputOrder order = OutputOrder::row_major;
  /// The inputs from this one on, and the outputs if so, keep their types in every precision.
  std::size_t first_exact_input = SIZE_MAX;
  bool has_exact_outputs = false;
  std::uint32_t narrowed_constants = UINT32_MAX;  ///< bit i: a constant input i is stored in the narrow type
  bool wants_constants_early = false;             ///< before the first run, since libraries prepare them
  bool multiplies = false;                        ///< sums of products: what most of a network's time goes into

  bool narrows_constant(std::size_t input) const { return input >= 32 || (narrowed_constants >> input & 1) != 0; }
  friend bool operator==(const StepKind& a, const StepKind& b) { return a.name == b.name; }
};

/// What a step is told beside its operands; each kind has its own.
struct Parameters {
  Parameters() = default;
  Parameters(const Parameters&) = default;
  virtual ~Parameters() = default;
  /// For the plan's text: "stride 2, pads 1 1 1 1".
  virtual std::string text() const = 0;
  /// What is computed of each element, or of each sum; empty where nothing is, null where the kind has no such thing.
  virtual const Expression* elementwise() const { return nullptr; }
  /// The same with another expression. Precondition: elementwise() is not null.
  virtual std::shared_ptr<const Parameters> with_elementwise(Expression) const { return nullptr; }
  /// Sums of whole numbers, which float32 holds and narrower types may not.
  virtual bool is_exact() const { return false; }
  /// Its results are some of the numbers of its first input, to be compared with the others.
  virtual bool is_choice() const { return false; }
};

struct Step {
  StepKind kind;
  std::vector<View> inputs = {}, outputs = {};
  std::shared_ptr<const Parameters> parameters = {};
  std::vector<std::string> nodes = {};  ///< that it computes
  std::string_view converts = {};       ///< "an operand of": for the step of `nodes`, which this one does not compute
  std::string by = {};                  ///< what a backend gave it to, where it has a choice; for the plan's text
  std::string stays = {};  ///< where a precision changes some steps: why it left this one as it is; for the plan's text
};

/// An input or output of a plan.
struct Port {
  std::string name;
  std::uint32_t buffer = 0;
  ElementType type = ElementType::undefined;
  Dims dims = {};  ///< not of slots
};

/// A node that a pass took away or made another of. Nodes without a name go by the first value that they write.
struct NodeChange {
  std::string node, op;
  std::string_view pass;
  std::string made = {};  ///< the operator that writes its value now; empty for none
  std::string into = {};  ///< the node that stands in its place and that of others; empty where no pattern was matched
};

/// A node that began as what a pass looks for, and why it was left as it is.
struct NodeMiss {
  std::string node, op;
  std::string_view pass;
  std::string reason;
};

struct GenericModel;

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Tensor> constants;
  std::vector<Step> steps;
  std::vector<Port> inputs, outputs;
  std::size_t slots = 0;
  std::uint64_t arena_bytes = 0;
  /// What remains when sizes hang on results: a model whose inputs are among the names of `inputs` and `outputs`. Null when nothing does.
  std::shared_ptr<const ir::Model> rest;
  std::vector<std::string> open;    ///< why it ends: the values whose sizes only a run tells
  std::string order;                ///< of the steps, where a backend has a choice; for the plan's text
  std::vector<std::string> passes;  ///< that changed something
  std::shared_ptr<const GenericModel>
      generic;                      ///< that it was made from, which keeps its constants; null: of the model
  std::vector<NodeChange> changes;  ///< in the order of the passes, behind those of the generic model
  std::vector<NodeMiss> misses;     ///< the same
  std::map<std::string, std::string, std::less<>>
      origins;  ///< for nodes that passes made, beside those of the generic model: the node of the model that each stands for, or a value that it writes
  std::vector<std::string> notes;                            ///< of a backend, for reports on plans
  std::vector<std::pair<std::string, std::string>> lowered;  ///< name and operator of each node behind them
  std::vector<std::shared_ptr<const MappedFile>> files;  ///< that constants may lie in, for longer than the plan lives
  std::shared_ptr<const void> owner;                     ///< of what constants view
};

/// Why a backend does not run a step of a plan that is being made; nothing when it does. Asked for each step of a lowering, whose node becomes a host
/// step for that reason, and for what passes would make of steps. Host steps, copies and maps that convert one operand must be taken: they bring
/// operands to host steps.
using Takes = std::function<std::optional<std::string>(const Plan& plan, const Step& step)>;

/// Nodes that a plan is to have as host steps, as Step::nodes names them, each with the reason.
using HostNodes = std::map<std::string, std::string, std::less<>>;

/// Of its values: those between its steps and its outputs.
std::uint64_t memory_bytes(const Plan& plan);
/// Whether the values of the plan, and `more` bytes that a backend holds beside them, fit into a limit of memory; 0: none. Error memory-limit.
Result<void> check_memory(const Plan& plan, std::uint64_t limit, std::uint64_t more = 0);

/// Plan::changes, those of the generic model first.
void each_change(const Plan& plan, const std::function<void(const NodeChange&)>& visit);
/// As Plan::origins have it, and those of the generic model; null for nodes of the model.
const std::string* origin_of(const Plan& plan, std::string_view node);

/// The plan as text, for goldens and `run --dump-plan`.
std::string text_of(const Plan& plan);
/// What passes did and what the steps compute; `of` says what the plan is of.
PlanPart summary_of(const Plan& plan, std::string of);

}  // namespace onnxkit::plan
