#include "reference/executor/perturbed.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "libonnxkit/base/dtype/rounding.h"
#include "reference/kernels/shared_factors.h"
#include "reference/noise/draws.h"
#include "reference/numerics/unrounded.h"

namespace onnxkit::reference {
namespace {

class Lockstep {
 public:
  Lockstep(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs, const exec::PerturbedOptions& options,
           const RunOptions& run, ThreadPool& threads)
      : prepared_(prepared), options_(options), run_options_(run), threads_(threads) {
    run_options_.math = exec::MathMode::unrounded;
    run_options_.rounds_constants = true;
    run_options_.on_value = nullptr;
    run_options_.on_node = nullptr;
    run_options_.shared_factors = &factors_;
    const auto memory = std::make_shared<Memory>(run_options_.memory_limit);
    runs_.emplace_back(prepared, run_options_, threads_, memory, std::nullopt);
    for (int sample = 0; sample < options.samples; ++sample) {
      const std::uint64_t seed =
          options.noise_seed * 1'000'003 + static_cast<std::uint64_t>(options.first_sample + sample) + 1;
      runs_.emplace_back(prepared, run_options_, threads_, memory, Noise(options.profile, seed, options.amplitude));
    }
    for (int edge = 0; edge < options.edge_samples; ++edge)
      runs_.emplace_back(prepared, run_options_, threads_, memory, std::nullopt);
    for (std::size_t i = first_edge(); i < runs_.size(); ++i) runs_[i].set_edges(edges_of(i));
    frames_.assign(runs_.size(), runs_.front().start(inputs));
    for (std::size_t i = 1; i < first_edge(); ++i) runs_[i].store_inputs(frames_[i]);
    is_steps_.assign(prepared.model->graph->values.size(), false);
  }

  std::vector<exec::Spread> run() {
    const ir::Graph& graph = *prepared_.model->graph;
    for (const exec::GraphPlan::Step& step : frames_.front().prepared->plan.steps) {
      std::vector<double> sigmas;
      share_weights(graph.nodes[step.node]);
      share_factors(graph.nodes[step.node]);
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (i > 0 && is_shared(step.node))
          share_outputs(graph.nodes[step.node], frames_[i]);
        else if (!sigmas.empty() && i >= first_edge())
          run_over_edges(graph.nodes[step.node], step.node, i, sigmas);
        else
          runs_[i].run_step(frames_[i], step.node);
        if (i == 0) {
          mark_steps(graph.nodes[step.node], step.node);
          sigmas = sigmas_at(graph, step.node);
        }
        free(frames_[i], step, options_.on_spread ? &graph.nodes[step.node] : nullptr);
      }
      if (is_quantizer(graph, step.node)) {
        count_exposed(graph.nodes[step.node].outputs[0]);
        undo_flips(graph.nodes[step.node]);
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
    Frame& first = frames_.front();
    for (const ir::ValueId id : node.inputs) {
      if (id == ir::ValueId::none || !first.prepared->initializers.find(id)) continue;
      try {
        const Value weights = *runs_.front().value_of(first, id);
        for (Frame& frame : frames_) {
          Value& value = frame.values[ir::index_of(id)];
          if (value.kind == ValueKind::none) value = weights;
        }
      } catch (const Fault&) {
        return;  // the first run of the node finds it, too, and says where
      }
    }
  }

  /// Inputs that all runs have in one place.
  void share_factors(const ir::Node& node) {
    std::vector<std::span<const double>> fixed;
    for (const ir::ValueId id : node.inputs) {
      const Value* const first = id == ir::ValueId::none ? nullptr : &frames_.front().values[ir::index_of(id)];
      if (!first || !first->is_tensor() || first->tensor.domain() != Domain::real) continue;
      const std::span<const double> numbers = first->tensor.as<double>();
      const auto holds = [&](const Frame& frame) {
        const Value& value = frame.values[ir::index_of(id)];
        return value.is_tensor() && value.tensor.domain() == Domain::real &&
               value.tensor.as<double>().data() == numbers.data();
      };
      if (runs_.size() > 1 && std::ranges::all_of(frames_, holds)) fixed.push_back(numbers);
    }
    factors_.begin(std::move(fixed));
  }

  /// What is computed from constants alone is the same in all runs.
  bool is_shared(std::size_t index) const {
    const PreparedNode& prepared = frames_.front().prepared->nodes[index];
    return prepared.origin == Origin::constant && prepared.role.repeats;
  }
  void share_outputs(const ir::Node& node, Frame& frame) {
    for (const ir::ValueId id : node.outputs)
      if (id != ir::ValueId::none) frame.values[ir::index_of(id)] = frames_.front().values[ir::index_of(id)];
  }

  /// What nobody reads any more makes room for the next run, but for outputs of a node whose values are still to be delivered.
  static void free(Frame& frame, const exec::GraphPlan::Step& step, const ir::Node* undelivered) {
    for (const ir::ValueId id : step.last_reads) {
      const bool is_output = undelivered && std::find(undelivered->outputs.begin(), undelivered->outputs.end(), id) !=
                                                undelivered->outputs.end();
      if (!is_output) frame.values[ir::index_of(id)] = {};
    }
  }

  Edges edges_of(std::size_t run) const { return Edges(options_.noise_seed, run - first_edge()); }

  std::size_t first_edge() const { return 1 + static_cast<std::size_t>(options_.samples); }

  /// Values of whole steps: what quantizers give, and what only moves or picks among it.
  void mark_steps(const ir::Node& node, std::size_t index) {
    const PreparedNode& prepared = frames_.front().prepared->nodes[index];
    const ir::ValueId from = node.inputs.empty() ? ir::ValueId::none : node.inputs[0];
    const bool passes = from != ir::ValueId::none && is_steps_[ir::index_of(from)];
    if (!passes && !prepared.is_quantizing) return;
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::ValueId::none) continue;
      const Value& value = frames_.front().values[ir::index_of(id)];
      is_steps_[ir::index_of(id)] = value.is_tensor() && is_quantized_type(value.tensor.type());
    }
  }

  /// Where a node rounds real numbers to steps and samples of edges are asked for: the standard deviation of each number by the other samples.
  std::vector<double> sigmas_at(const ir::Graph& graph, std::size_t index) {
    const PreparedNode& prepared = frames_.front().prepared->nodes[index];
    if (options_.edge_samples == 0 || !prepared.noise.steps || prepared.origin != Origin::data) return {};
    const ir::ValueId id = graph.nodes[index].inputs[0];
    const Value* exact = runs_.front().value_of(frames_.front(), id);
    if (!exact || !exact->is_tensor() || !is_noisy_type(exact->tensor.type())) return {};
    const std::span<const double> numbers = exact->tensor.as<double>();
    std::vector<double> squares(numbers.size(), 0);
    for (std::size_t r = 1; r < first_edge(); ++r) {
      const Value* sample = runs_[r].value_of(frames_[r], id);
      if (!sample || !sample->is_tensor() || sample->tensor.dims() != exact->tensor.dims()) return {};
      const std::span<const double> others = sample->tensor.as<double>();
      for (std::size_t i = 0; i < squares.size(); ++i) {
        const double d = others[i] - numbers[i];
        if (std::isfinite(d)) squares[i] += d * d / static_cast<double>(options_.samples);
      }
    }
    double pooled = 0;
    for (const double square : squares) pooled += square / static_cast<double>(squares.size());
    const double unit = unit_roundoff(exact->tensor.type()) * deviation_of_uniform;
    const double step = largest_step(graph.nodes[index]);
    const ElementType type = runs_.front().value_of(frames_.front(), graph.nodes[index].outputs[0])->tensor.type();
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const double own = std::isfinite(numbers[i]) && step > 0 ? step * quotient_sigma(numbers[i] / step, type) : 0;
      const double stored = std::isfinite(numbers[i]) ? unit * numbers[i] : 0;
      squares[i] = std::sqrt(std::max(squares[i], pooled / 4) + stored * stored + own * own);
    }
    return squares;
  }

  /// The scale of a quantizer that has run exactly; the largest of several.
  double largest_step(const ir::Node& node) {
    const bool is_dynamic = node.outputs.size() > 1;
    const ir::ValueId id = is_dynamic ? node.outputs[1] : node.inputs[1];
    const Value* scales = runs_.front().value_of(frames_.front(), id);
    double largest = 0;
    if (!scales || !scales->is_tensor()) return largest;
    for (const double scale : scales->tensor.reals()) largest = std::max(largest, std::abs(scale));
    return std::isfinite(largest) ? largest : 0;
  }

  bool is_quantizer(const ir::Graph& graph, std::size_t index) const {
    const PreparedNode& prepared = frames_.front().prepared->nodes[index];
    if (options_.edge_samples == 0 || !prepared.is_quantizing || prepared.origin != Origin::data) return false;
    const ir::ValueId id = graph.nodes[index].outputs[0];
    return id != ir::ValueId::none && is_steps_[ir::index_of(id)];
  }

  /// Runs a node with its first input a few sigmas up or down, each number at random, those of the other run of a pair the other way.
  void run_over_edges(const ir::Node& node, std::size_t index, std::size_t run, const std::vector<double>& sigmas) {
    const ir::ValueId id = node.inputs[0];
    const Value* found = runs_[run].value_of(frames_[run], id);
    if (!found || !found->is_tensor() || static_cast<std::size_t>(found->tensor.size()) != sigmas.size())
      return runs_[run].run_step(frames_[run], index);
    const Value before = *found;
    Value& at = frames_[run].values[ir::index_of(id)];
    at = before;
    const Edges edges = edges_of(run);
    const std::span<double> numbers = at.tensor.write<double>();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = edges.moved(numbers[i], sigmas[i], index, i);
    runs_[run].set_edges(std::nullopt);  // the quantizer's own errors are in these sigmas
    runs_[run].run_step(frames_[run], index);
    runs_[run].set_edges(edges);
    at = before;
  }

  /// Where there are samples of edges the others tell how far rounding moves what a quantizer reads. What a flip of theirs moves is not that.
  void undo_flips(const ir::Node& node) {
    for (const ir::ValueId id : node.outputs) {
      if (id == ir::ValueId::none) continue;
      const Value& exact = frames_.front().values[ir::index_of(id)];
      for (std::size_t r = 1; r < first_edge(); ++r) frames_[r].values[ir::index_of(id)] = exact;
    }
  }

  void count_exposed(ir::ValueId id) {
    const Value& exact = frames_.front().values[ir::index_of(id)];
    if (!exact.is_tensor()) return;
    std::vector<bool> flips(static_cast<std::size_t>(exact.tensor.size()), false);
    const std::vector<std::int64_t> numbers = exact.tensor.integers();
    for (std::size_t r = first_edge(); r < runs_.size(); ++r) {
      const Value& other = frames_[r].values[ir::index_of(id)];
      if (!other.is_tensor() || other.tensor.size() != exact.tensor.size()) continue;
      const std::vector<std::int64_t> others = other.tensor.integers();
      for (std::size_t i = 0; i < flips.size(); ++i) flips[i] = flips[i] || others[i] != numbers[i];
    }
    exposed_ += static_cast<std::size_t>(std::count(flips.begin(), flips.end(), true));
    quantized_ += flips.size();
  }

  exec::Spread spread(ir::ValueId id) {
    exec::Spread all;
    all.is_steps = is_steps_[ir::index_of(id)];
    all.edges = static_cast<std::size_t>(options_.edge_samples);
    if (quantized_ > 0) all.exposed = static_cast<double>(exposed_) / static_cast<double>(quantized_);
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
      if (id == ir::ValueId::none || (options_.wants && !options_.wants(graph.name_of(id)))) continue;
      const auto taken = options_.on_spread(node, graph.name_of(id), spread(id));
      if (!taken) throw LocatedFault{taken.error()};
    }
  }

  const PreparedModel& prepared_;
  const exec::PerturbedOptions& options_;
  RunOptions run_options_;
  ThreadPool& threads_;
  SharedFactors factors_;
  std::deque<Run> runs_;  // the exact one first
  std::vector<Frame> frames_;
  std::vector<bool> is_steps_;  // by value
  std::size_t exposed_ = 0, quantized_ = 0;
};

}  // namespace

std::vector<exec::Spread> run_perturbed(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs,
                                        const exec::PerturbedOptions& options, const RunOptions& run,
                                        ThreadPool& threads) {
  return Lockstep(prepared, inputs, options, run, threads).run();
}

}  // namespace onnxkit::reference
