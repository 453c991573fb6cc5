#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "libonnxkit/base/system/shared_library.h"
#include "onnxkit/result.h"

// The part of CUDA's runtime library that the execution provider cuda needs beside it: places for inputs and outputs on the device, and time there.
namespace onnxkit::onnxruntime {

class CudaRuntime {
 public:
  using Status = int;
  struct StreamOpaque;
  struct EventOpaque;
  using Stream = StreamOpaque*;
  using Event = EventOpaque*;

  /// Opens the libraries that the provider links against, so that the loader finds them, and the runtime among them. Errors worker-unavailable: no
  /// library, no device.
  static Result<std::shared_ptr<const CudaRuntime>> open(std::string_view python);

  /// At least a byte on the device.
  Result<std::shared_ptr<void>> allocate(std::size_t bytes) const;
  Result<std::shared_ptr<StreamOpaque>> make_stream() const;
  Result<std::shared_ptr<EventOpaque>> make_event() const;
  /// Behind what is on the stream; where it lies follows from the addresses.
  Result<void> copy(void* to, const void* from, std::size_t bytes, Stream stream) const;
  Result<void> record(Event event, Stream stream) const;
  Result<void> wait(Stream stream) const;
  /// Between two events that have happened.
  Result<double> seconds(Event start, Event end) const;
  /// Bytes of the device that are in use, by anyone.
  std::optional<std::uint64_t> used_bytes() const;

 private:
  Result<void> checked(Status status, std::string_view doing) const;

  struct Functions {
    Status (*get_device_count)(int* count);
    const char* (*get_error_string)(Status status);
    Status (*malloc)(void** memory, std::size_t bytes);
    Status (*free)(void* memory);
    Status (*memcpy_async)(void* to, const void* from, std::size_t bytes, int kind, Stream stream);
    Status (*mem_get_info)(std::size_t* free, std::size_t* total);
    Status (*stream_create)(Stream* stream, unsigned flags);
    Status (*stream_destroy)(Stream stream);
    Status (*stream_synchronize)(Stream stream);
    Status (*event_create)(Event* event);
    Status (*event_destroy)(Event event);
    Status (*event_record)(Event event, Stream stream);
    Status (*event_elapsed_time)(float* milliseconds, Event start, Event end);
  };
  Functions call_{};
};

}  // namespace onnxkit::onnxruntime
