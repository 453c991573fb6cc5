#include "reference/executor/perturbed.h"

#include <algorithm>
#include <deque>

namespace onnxkit::reference {
namespace {

class Lockstep {
 public:
  Lockstep(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs, const exec::PerturbedOptions& options,
           const RunOptions& run, ThreadPool& threads)
      : prepared_(prepared), options_(options), run_options_(run), threads_(threads) {
    run_options_.math = exec::MathMode::unrounded;
    run_options_.on_value = nullptr;
    run_options_.on_node = nullptr;
    const auto memory = std::make_shared<Memory>(run_options_.memory_limit);
    runs_.emplace_back(prepared, run_options_, threads_, memory, std::nullopt);
    for (int sample = 0; sample < options.samples; ++sample) {
      const std::uint64_t seed =
          options.noise_seed * 1'000'003 + static_cast<std::uint64_t>(options.first_sample + sample) + 1;
      runs_.emplace_back(prepared, run_options_, threads_, memory, Noise(options.profile, seed, options.amplitude));
    }
    for (Run& each : runs_) frames_.push_back(each.start(inputs));
  }

  std::vector<exec::Spread> run() {
    const ir::Graph& graph = *prepared_.model->graph;
    for (const exec::GraphPlan::Step& step : frames_.front().prepared->plan.steps) {
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        runs_[i].run_step(frames_[i], step.node);
        if (i == 0) share_weights(graph.nodes[step.node]);
        free(frames_[i], step, options_.on_spread ? &graph.nodes[step.node] : nullptr);
      }
      if (!options_.on_spread) continue;
      deliver(graph, step.node);
      for (Frame& frame : frames_) free(frame, step, nullptr);
    }
    std::vector<exec::Spread> outputs;
    for (const ir::ValueInfo& output : graph.outputs) outputs.push_back(spread(output.value));
    return outputs;
  }

 private:
  /// Weights are the same in all runs: the first decodes them.
  void share_weights(const ir::Node& node) {
    const Frame& first = frames_.front();
    for (const ir::ValueId id : node.inputs) {
      if (id == ir::ValueId::none || !first.prepared->initializers.find(id)) continue;
      for (Frame& frame : frames_) {
        Value& value = frame.values[ir::index_of(id)];
        if (value.kind == ValueKind::none) value = first.values[ir::index_of(id)];
      }
    }
  }

  /// What nobody reads any more makes room for the next run, but for outputs of a node whose values are still to be delivered.
  static void free(Frame& frame, const exec::GraphPlan::Step& step, const ir::Node* undelivered) {
    for (const ir::ValueId id : step.last_reads) {
      const bool is_output = undelivered && std::find(undelivered->outputs.begin(), undelivered->outputs.end(), id) !=
                                                undelivered->outputs.end();
      if (!is_output) frame.values[ir::index_of(id)] = {};
    }
  }

  exec::Spread spread(ir::ValueId id) {
    exec::Spread all;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const Value* value = runs_[i].value_of(frames_[i], id);
      onnxkit::Value packed = value ? pack(*value, true) : onnxkit::Value();
      if (i == 0 && value && value->is_tensor()) all.type = value->tensor.type();
      if (i == 0)
        all.exact = std::move(packed);
      else
        all.samples.push_back(std::move(packed));
    }
    return all;
  }

  void deliver(const ir::Graph& graph, std::size_t node) {
    for (const ir::ValueId id : graph.nodes[node].outputs) {
      if (id == ir::ValueId::none) continue;
      const auto taken = options_.on_spread(node, graph.name_of(id), spread(id));
      if (!taken) throw LocatedFault{taken.error()};
    }
  }

  const PreparedModel& prepared_;
  const exec::PerturbedOptions& options_;
  RunOptions run_options_;
  ThreadPool& threads_;
  std::deque<Run> runs_;  // the exact one first
  std::vector<Frame> frames_;
};

}  // namespace

std::vector<exec::Spread> run_perturbed(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs,
                                        const exec::PerturbedOptions& options, const RunOptions& run,
                                        ThreadPool& threads) {
  return Lockstep(prepared, inputs, options, run, threads).run();
}

}  // namespace onnxkit::reference
