#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "libonnxkit/ir/model.h"

namespace onnxkit::reference {

/// What kernels make of the attributes of nodes, such as trees or tables of words, for all runs of a model. Thread-safe.
class DerivedForms {
 public:
  using Make = std::function<std::shared_ptr<const void>()>;
  /// What was made for the node, or what is made now. What `make` throws passes.
  std::shared_ptr<const void> of(const ir::Node& node, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (const auto known = forms_.find(&node); known != forms_.end()) return known->second;
    return forms_.emplace(&node, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const ir::Node*, std::shared_ptr<const void>> forms_;
};

}  // namespace onnxkit::reference
