#pragma once

#include <memory>

#include "libonnxkit/exec/registry.h"
#include "libonnxkit/ir/model.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

/// What all sessions of a comparison share. The options must outlive it.
class Sessions {
 public:
  explicit Sessions(const DiffOptions& options);

  const DiffOptions& options() const { return options_; }
  const exec::BackendRegistry& registry() const { return registry_; }
  const exec::BackendSettings& settings() const { return settings_; }
  /// Ready for Backend::load but for what is the side's own.
  exec::LoadOptions load_options() const;
  /// Of backends in this process.
  Limits limits() const;

 private:
  const DiffOptions& options_;
  exec::BackendRegistry registry_;
  exec::BackendSettings settings_;
};

/// The graph's model, kept alive by the whole.
std::shared_ptr<const ir::Model> ir_of(const std::shared_ptr<const Model>& model);

}  // namespace onnxkit::diffing
