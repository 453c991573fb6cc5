#include "libonnxkit/cuda/uploads.h"

#include <algorithm>

namespace onnxkit::cuda {

Result<std::unique_ptr<Uploads>> Uploads::make(const std::shared_ptr<const Device>& device, HostCopies& copies) {
  std::unique_ptr<Uploads> uploads(new Uploads(device, copies));
  for (Part& part : uploads->parts_) {
    auto memory = allocate_pinned(device, part_bytes);
    if (!memory) return memory.error();
    part.memory = *std::move(memory);
    auto stream = make_stream(device);
    if (!stream) return stream.error();
    part.stream = *std::move(stream);
  }
  return uploads;
}

Result<void> Uploads::send(DevicePointer to, std::span<const std::byte> from) {
  const Driver& driver = device_->driver();
  for (std::size_t begin = 0; begin < from.size(); begin += part_bytes) {
    const auto bytes = from.subspan(begin, std::min(part_bytes, from.size() - begin));
    const Part& part = parts_[next_];
    next_ = (next_ + 1) % parts_.size();
    if (auto is_free = wait(part); !is_free) return is_free;
    copies_.copy(static_cast<std::byte*>(part.memory.get()), bytes);
    const DriverStatus begun =
        driver->memcpy_h_to_d_async(to + begin, part.memory.get(), bytes.size(), part.stream.get());
    if (auto sent = driver.check(begun, "sending constants to it"); !sent) return sent;
  }
  return {};
}

Result<void> Uploads::wait() {
  const auto first = wait(parts_[0]), second = wait(parts_[1]);
  return first ? second : first;
}

Result<void> Uploads::wait(const Part& part) {
  const Driver& driver = device_->driver();
  return driver.check(driver->stream_synchronize(part.stream.get()), "sending constants to it");
}

}  // namespace onnxkit::cuda
