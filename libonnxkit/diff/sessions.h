#pragma once

#include <map>
#include <memory>
#include <string>

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
  /// A session with perturbed samples of a model: of the backend that take_floor_from named, else of the one that has them for every model.
  /// Errors: not-supported; those of loading.
  Result<std::unique_ptr<exec::Session>> load_perturbed(const std::shared_ptr<const ir::Model>& model) const;
  /// From now on noise floors come from this backend, with these options.
  void take_floor_from(const std::string& backend, const std::map<std::string, std::string>& options);
  /// Of backends in this process.
  Limits limits() const;

 private:
  const DiffOptions& options_;
  exec::BackendRegistry registry_;
  exec::BackendSettings settings_;
  std::string floor_backend_;  ///< empty: any
  std::map<std::string, std::string> floor_options_;
};

/// The graph's model, kept alive by the whole.
std::shared_ptr<const ir::Model> ir_of(const std::shared_ptr<const Model>& model);

}  // namespace onnxkit::diffing
