#pragma once

#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/ensemble.h"

namespace onnxkit::reference {

/// The executor that others are judged by: every operator in every version, as its specification says, computed in double or 64-bit integers
/// and rounded once.
class ReferenceBackend : public exec::Backend {
 public:
  std::string_view name() const override { return "reference"; }
  std::string version() const override;
  exec::Support supports(const ir::Node& node, const spec::OpSchema& schema) const override;
  Result<std::unique_ptr<exec::Session>> prepare(const ir::Model& model, const spec::OpTable& table,
                                                 const exec::PrepareOptions& options) const override;
  /// As prepare, for exact and noisy runs side by side.
  Result<std::unique_ptr<exec::Ensemble>> prepare_ensemble(const ir::Model& model, const spec::OpTable& table,
                                                           const exec::PrepareOptions& options) const;
};

}  // namespace onnxkit::reference
