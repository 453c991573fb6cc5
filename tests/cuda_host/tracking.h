#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

// What both libraries of the host do for tests: they count calls, fail where they are told to, log, and know at the end what was not given back.
//   ONNXKIT_CUDA_HOST_FAIL   "12": the 12th call fails; "cuMemAlloc_v2:2": the 2nd of this name; "12:lost": all from the 12th on fail, too
//   ONNXKIT_CUDA_HOST_LOG    a file to which each call is added as a line
// A process that ends with something left over says so and exits with status 86.
namespace onnxkit::cuda_host {

class Tracking {
 public:
  explicit Tracking(const char* library);
  ~Tracking();

  std::mutex mutex;
  /// Counts a call; true when it is to fail.
  bool call(const char* name);
  bool is_lost() const { return lost_; }
  void made(const void* handle, const char* kind) { left_[handle] = kind; }
  /// False when there is no such handle.
  bool gone(const void* handle, const char* kind);
  bool has(const void* handle, const char* kind) const;

 private:
  const char* library_;
  std::string fail_name_, log_;
  long fail_at_ = 0, calls_ = 0, named_ = 0;
  bool stays_lost_ = false, lost_ = false;
  std::map<const void*, std::string> left_;
};

}  // namespace onnxkit::cuda_host
