#include "reference/executor/executor.h"

#include <optional>

#include <fmt/core.h>

#include "libonnxkit/exec/guarded.h"
#include "libonnxkit/ir/scope.h"
#include "reference/executor/perturbed.h"
#include "reference/executor/run.h"

namespace onnxkit::reference {

void register_all_kernels(KernelRegistry& registry);

const KernelRegistry& kernel_registry() {
  static const KernelRegistry registry = [] {
    KernelRegistry all;
    register_all_kernels(all);
    return all;
  }();
  return registry;
}

const KernelTraits& traits_of(const ir::Node& node, std::span<const ir::OpsetImport> opsets,
                              const spec::OpTable& table) {
  static const KernelTraits none{};
  const std::string_view domain = ir::canonical_domain(node.domain);
  const auto opset = ir::opset_of(opsets, domain);
  const spec::OpSchema* schema = opset ? table.find_with_additions(domain, node.op_type, *opset) : nullptr;
  return schema ? kernel_registry().traits(schema->domain, schema->name, schema->since_version) : none;
}

namespace {

/// The results of `run` on inputs that fit, or the error that a Fault tells.
template <class F>
auto without_faults(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs, const RunOptions& options,
                    F run) -> Result<decltype(run())> {
  if (const auto fits = exec::check_inputs(*prepared.model->graph, inputs, options.math == exec::MathMode::unrounded);
      !fits)
    return fits.error();
  return exec::guarded([&]() -> Result<decltype(run())> {
    try {
      return run();
    } catch (const LocatedFault& fault) {
      return fault.error;
    } catch (const Fault& fault) {
      return fault.error();
    }
  });
}

}  // namespace

exec::Support supports(const ir::Node&, const spec::OpSchema& schema) {
  if (kernel_registry().find(schema.domain, schema.name, schema.since_version)) return {};
  return {false, fmt::format("the reference has no kernel for version {}", schema.since_version)};
}

struct Executor::State {
  PreparedModel prepared;
  ConstantCache kept;
  std::shared_ptr<exec::SessionContext> context;
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::~Executor() = default;

Result<std::unique_ptr<Executor>> Executor::make(const ir::Model& model, const spec::OpTable& table,
                                                 const ExecutorOptions& options) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  const auto missing = exec::unsupported_nodes(supports, model, table);
  if (!missing.empty()) return exec::not_supported(missing);
  auto context = options.context ? options.context : std::make_shared<exec::SessionContext>();
  return std::unique_ptr<Executor>(new Executor(std::unique_ptr<State>(
      new State{{model, table, options.external_bytes}, ConstantCache(options.kept_bytes), std::move(context)})));
}

Result<std::vector<onnxkit::Value>> Executor::run(std::span<const onnxkit::Value> inputs, const RunOptions& options) {
  return without_faults(state_->prepared, inputs, options, [&] {
    const auto threads = state_->context->threads(options.threads);
    return Run(state_->prepared, options, *threads, state_->kept).run(inputs);
  });
}

Result<std::vector<exec::Spread>> Executor::run_perturbed(std::span<const onnxkit::Value> inputs,
                                                          const exec::PerturbedOptions& options,
                                                          const RunOptions& run) {
  return without_faults(state_->prepared, inputs, run, [&] {
    const auto threads = state_->context->threads(run.threads);
    return reference::run_perturbed(state_->prepared, inputs, options, run, *threads);
  });
}

}  // namespace onnxkit::reference
