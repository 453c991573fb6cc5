#include "libonnxkit/cuda/libraries/driver.h"

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

// The oldest with all functions of the table; NVRTC 11.4 is the first that is of use with it.
constexpr int oldest_version = 11040;

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const LibraryPlaces& places) {
  auto library = SharedLibrary::open(places, {"libcuda.so.1"});
  if (!library) {
    Error error = library.error();
    if (places.named_by.empty()) error.diagnostic.message += ": install NVIDIA's driver";
    return error;
  }
  std::shared_ptr<Driver> driver(new Driver(library->path()));
  std::string_view missing;
  for_each_driver_function(driver->functions_, [&](auto*& function, const char* name) {
    if (!library->bind(function, name)) missing = name;
  });
  const DriverFunctions& call = driver->functions_;
  const bool tells = call.driver_get_version && call.driver_get_version(&driver->version_) == driver_success;
  if (tells && driver->version_ < oldest_version)
    return make_error("device-missing",
                      fmt::format("the driver is too old: it is for CUDA {}.{}, onnxkit needs one for 11.4 or newer",
                                  driver->version_ / 1000, driver->version_ % 1000 / 10));
  if (!missing.empty())
    return make_error("device-missing", fmt::format("the driver {} has no function {}", driver->path_, missing));
  if (!tells) return make_error("device-missing", "the driver does not tell its version");
  if (const DriverStatus status = call.init(0); status != driver_success)
    return make_error("device-missing", fmt::format("the driver does not start: {}", driver->text_of(status)));
  return std::shared_ptr<const Driver>(std::move(driver));
}

std::string Driver::text_of(DriverStatus status) const {
  const char *name = nullptr, *text = nullptr;
  if (functions_.get_error_name(status, &name) != driver_success || !name) return fmt::format("error {}", status);
  if (functions_.get_error_string(status, &text) != driver_success || !text) return name;
  return fmt::format("{}, {}", name, text);
}

Result<void> Driver::check(DriverStatus status, std::string_view doing) const {
  if (status == driver_success) return {};
  if (status == driver_out_of_memory)
    return make_error("out-of-memory", fmt::format("the GPU has not enough memory for {}", doing));
  return make_error("device-failed", fmt::format("the GPU failed at {}: {}", doing, text_of(status)));
}

}  // namespace onnxkit::cuda
