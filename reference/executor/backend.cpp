#include "reference/executor/backend.h"

#include <optional>

#include <fmt/core.h>

#include "reference/executor/ensemble.h"
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

namespace {

Error error_of(std::string code, std::string message, Location location = {}) {
  Error error = make_error(std::move(code), std::move(message));
  error.diagnostic.location = std::move(location);
  return error;
}

/// The results of `run` on inputs that fit, or the error that a Fault tells.
template <class F>
auto without_faults(const PreparedModel& prepared, std::span<const onnxkit::Value> inputs, F run)
    -> Result<decltype(run())> {
  if (const auto fits = exec::check_inputs(*prepared.model->graph, inputs); !fits) return fits.error();
  try {
    return run();
  } catch (const LocatedFault& fault) {
    return error_of(fault.code, fault.message, fault.location);
  } catch (const Fault& fault) {
    return error_of(fault.code(), fault.what());
  } catch (const std::bad_alloc&) {
    return error_of("memory-limit", "the system has not enough memory");
  } catch (const std::exception& fault) {
    return error_of("kernel", fault.what());
  }
}

class ReferenceSession : public exec::Session {
 public:
  ReferenceSession(const ir::Model& model, const spec::OpTable& table, const exec::PrepareOptions& options)
      : prepared_(model, table, options.external_bytes), kept_(options.kept_bytes) {}

  Result<std::vector<onnxkit::Value>> run(std::span<const onnxkit::Value> inputs,
                                          const exec::RunOptions& options) override {
    return without_faults(prepared_, inputs, [&] {
      ThreadPool threads(options.threads);
      return Run(prepared_, options, threads, kept_).run(inputs);
    });
  }

 private:
  const PreparedModel prepared_;
  KeptConstants kept_;
};

class ReferenceEnsemble : public exec::Ensemble {
 public:
  ReferenceEnsemble(const ir::Model& model, const spec::OpTable& table, const exec::PrepareOptions& options)
      : prepared_(model, table, options.external_bytes) {}

  Result<std::vector<exec::Spread>> run(std::span<const onnxkit::Value> inputs,
                                        const exec::EnsembleOptions& options) const override {
    return without_faults(prepared_, inputs, [&] { return run_ensemble(prepared_, inputs, options); });
  }

 private:
  const PreparedModel prepared_;
};

/// Why the model cannot be run at all, if so.
std::optional<Error> obstacle(const ReferenceBackend& backend, const ir::Model& model, const spec::OpTable& table) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  const auto missing = exec::unsupported_nodes(backend, model, table);
  if (!missing.empty()) return exec::not_supported(missing);
  return std::nullopt;
}

}  // namespace

std::string ReferenceBackend::version() const { return "onnx " + std::string(spec::onnx_release()); }

exec::Support ReferenceBackend::supports(const ir::Node&, const spec::OpSchema& schema) const {
  if (kernel_registry().find(schema.domain, schema.name, schema.since_version)) return {};
  return {false, fmt::format("the reference has no kernel for version {}", schema.since_version)};
}

Result<std::unique_ptr<exec::Session>> ReferenceBackend::prepare(const ir::Model& model, const spec::OpTable& table,
                                                                 const exec::PrepareOptions& options) const {
  if (auto error = obstacle(*this, model, table)) return *std::move(error);
  return std::unique_ptr<exec::Session>(new ReferenceSession(model, table, options));
}

Result<std::unique_ptr<exec::Ensemble>> ReferenceBackend::prepare_ensemble(const ir::Model& model,
                                                                           const spec::OpTable& table,
                                                                           const exec::PrepareOptions& options) const {
  if (auto error = obstacle(*this, model, table)) return *std::move(error);
  return std::unique_ptr<exec::Ensemble>(new ReferenceEnsemble(model, table, options));
}

}  // namespace onnxkit::reference
