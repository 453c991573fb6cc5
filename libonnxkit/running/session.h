#pragma once

#include "libonnxkit/exec/backend.h"
#include "onnxkit/session.h"

namespace onnxkit::running {

/// As declared in onnxkit/session.h.
ModelPorts ports_of(const Model& model);

/// What onnxkit::Session holds.
class LoadedModel {
 public:
  static Result<LoadedModel> load(const Model& model, const SessionOptions& options);
  LoadedModel(LoadedModel&&) = default;  // and no assignment, which would end a backend before its session

  const std::vector<SessionPort>& inputs() const { return ports_.inputs; }
  const std::vector<SessionPort>& outputs() const { return ports_.outputs; }
  const std::vector<std::string>& warnings() const { return session_->loaded().warnings; }
  Result<std::vector<NamedValue>> run(const std::vector<NamedValue>& inputs, const SessionRun& options);

 private:
  LoadedModel() = default;

  exec::Capabilities capabilities_;
  Context context_;
  Limits limits_;
  ModelPorts ports_;
  std::unique_ptr<exec::Backend> backend_;
  std::unique_ptr<exec::Session> session_;  ///< ends before its backend
};

}  // namespace onnxkit::running
