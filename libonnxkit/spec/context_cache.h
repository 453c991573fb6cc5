#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "onnxkit/context.h"

namespace onnxkit {

/// Things that are made when first asked for and kept as long as their context; safe to use from several threads.
class Context::Cache {
 public:
  /// The thing of that key, of type T for every caller of that key. `make` returns Result<T>; what fails is not kept.
  template <class T, class Make>
  Result<std::shared_ptr<const T>> get(std::string_view key, Make&& make) {
    const std::lock_guard lock(mutex_);
    if (const auto known = things_.find(key); known != things_.end())
      return std::static_pointer_cast<const T>(known->second);
    Result<T> made = make();
    if (!made) return std::move(made).error();
    auto thing = std::make_shared<const T>(*std::move(made));
    things_.emplace(key, thing);
    return thing;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const void>, std::less<>> things_;
};

}  // namespace onnxkit
