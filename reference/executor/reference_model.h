#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "libonnxkit/exec/ensemble.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::reference {

/// A model and all that the reference executor needs beside it. The model must outlive it, and it its sessions.
class ReferenceModel {
 public:
  /// Errors: those of schema packs.
  static Result<std::unique_ptr<ReferenceModel>> make(const ir::Model& model,
                                                      const std::vector<std::filesystem::path>& schemas,
                                                      bool allow_outside_data);

  const ir::Model& model() const { return model_; }
  const spec::OpTable& table() const { return table_; }
  /// `kept_bytes`: of exec::PrepareOptions. Errors: no-graph, not-supported.
  Result<std::unique_ptr<exec::Session>> session(std::uint64_t kept_bytes = 0) const;
  Result<std::unique_ptr<exec::Ensemble>> ensemble() const;

 private:
  ReferenceModel(const ir::Model& model, spec::OpTable table, bool allow_outside_data);
  exec::PrepareOptions prepare_options() const;

  const ir::Model& model_;
  const spec::OpTable table_;
  mutable wire::ExternalData external_;
};

}  // namespace onnxkit::reference
