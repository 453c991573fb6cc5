#include "tests/cuda_host/tracking.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace onnxkit::cuda_host {

Tracking::Tracking(const char* library) : library_(library) {
  if (const char* log = std::getenv("ONNXKIT_CUDA_HOST_LOG")) log_ = log;
  const char* fail = std::getenv("ONNXKIT_CUDA_HOST_FAIL");
  if (!fail) return;
  std::string text = fail;
  if (const std::size_t lost = text.rfind(":lost"); lost != std::string::npos) {
    stays_lost_ = true;
    text.resize(lost);
  }
  if (const std::size_t colon = text.find(':'); colon != std::string::npos) {
    fail_name_ = text.substr(0, colon);
    text = text.substr(colon + 1);
  }
  fail_at_ = std::atol(text.c_str());
}

Tracking::~Tracking() {
  if (left_.empty()) return;
  for (const auto& [handle, kind] : left_) std::fprintf(stderr, "%s: not given back: %s\n", library_, kind.c_str());
  std::fflush(stderr);
  ::_exit(86);
}

bool Tracking::call(const char* name) {
  ++calls_;
  if (!log_.empty()) {
    if (std::FILE* file = std::fopen(log_.c_str(), "a")) {
      std::fprintf(file, "%s\n", name);
      std::fclose(file);
    }
  }
  if (lost_) return true;
  if (fail_at_ == 0) return false;
  const bool fails = fail_name_.empty() ? calls_ == fail_at_ : fail_name_ == name && ++named_ == fail_at_;
  lost_ = fails && stays_lost_;
  return fails;
}

bool Tracking::gone(const void* handle, const char* kind) {
  const auto found = left_.find(handle);
  if (found == left_.end() || found->second != kind) return false;
  left_.erase(found);
  return true;
}

bool Tracking::has(const void* handle, const char* kind) const {
  const auto found = left_.find(handle);
  return found != left_.end() && found->second == kind;
}

}  // namespace onnxkit::cuda_host
