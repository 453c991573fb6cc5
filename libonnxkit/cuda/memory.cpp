#include "libonnxkit/cuda/memory.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::cuda {

using plan::Home;

namespace {

Result<void> upload(const Device& device, DevicePointer to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  return device.driver().check(device.driver()->memcpy_h_to_d(to, bytes.data(), bytes.size()),
                               "copying constants to it");
}

}  // namespace

Result<SharedConstants::Memory> SharedConstants::get(const std::shared_ptr<const Device>& device,
                                                     std::span<const std::byte> bytes) {
  if (auto memory = find(bytes)) return memory;
  std::erase_if(by_bytes_, [](const auto& entry) { return entry.second.expired(); });
  auto made = allocate(device, bytes.size(), "a constant");
  if (!made) return made.error();
  Memory memory = std::make_shared<const DeviceMemory>(*std::move(made));
  if (auto copied = upload(*device, memory->get(), bytes); !copied) return copied.error();
  by_bytes_[key_of(bytes)] = memory;
  return memory;
}

SharedConstants::Memory SharedConstants::find(std::span<const std::byte> bytes) const {
  const auto found = by_bytes_.find(key_of(bytes));
  return found == by_bytes_.end() ? nullptr : found->second.lock();
}

DevicePointer PlanMemory::at(const plan::View& view) const {
  const auto width = static_cast<std::int64_t>(storage_bits(view.type)) / 8;
  return device_[view.buffer] + static_cast<DevicePointer>(view.offset * width);
}

Result<DevicePointer> PlanMemory::own(const std::shared_ptr<const Device>& device, std::uint64_t bytes,
                                      std::string_view what) {
  auto memory = allocate(device, bytes, what);
  if (!memory) return memory.error();
  owned_.push_back(*std::move(memory));
  bytes_ += bytes;
  return owned_.back().get();
}

Result<void> PlanMemory::place_constants(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                                         const Options& options, SharedConstants& shared) {
  std::uint64_t small_bytes = 0;
  std::vector<std::uint32_t> small;
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].home != Home::constant || !options.is_on_device[b]) continue;
    const auto bytes = plan.constants[plan.buffers[b].index].bytes();
    const bool is_alone = bytes.size() >= least_alone_bytes || options.apart;
    if (!options.is_shared[b] && is_alone) {
      auto memory = own(device, bytes.size(), "a constant");
      if (!memory) return memory.error();
      device_[b] = *memory;
      if (auto copied = upload(*device, *memory, bytes); !copied) return copied.error();
    } else if (is_alone) {
      auto memory = shared.get(device, bytes);
      if (!memory) return memory.error();
      device_[b] = (*memory)->get();
      constants_.push_back(*std::move(memory));
    } else {
      small.push_back(b);
      small_bytes += aligned_bytes(bytes.size());
    }
  }
  if (small.empty()) return {};
  auto block = own(device, small_bytes, "small constants");
  if (!block) return block.error();
  std::vector<std::byte> content(small_bytes);
  std::uint64_t offset = 0;
  for (const std::uint32_t b : small) {
    const auto bytes = plan.constants[plan.buffers[b].index].bytes();
    std::copy(bytes.begin(), bytes.end(), content.begin() + static_cast<std::ptrdiff_t>(offset));
    device_[b] = *block + offset;
    offset += aligned_bytes(bytes.size());
  }
  return upload(*device, *block, content);
}

Result<void> PlanMemory::place_values(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                                      const Options& options) {
  const std::uint64_t arena = aligned_bytes(plan.arena_bytes);
  std::uint64_t rest = arena;
  std::vector<std::uint64_t> offsets(plan.buffers.size());
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    const plan::Buffer& buffer = plan.buffers[b];
    if (buffer.home == Home::constant || buffer.home == Home::slot) continue;
    if (options.apart) {
      auto memory = own(device, std::max<std::uint64_t>(buffer.bytes, 1), "a value");
      if (!memory) return memory.error();
      device_[b] = *memory;
    } else if (buffer.home == Home::arena) {
      offsets[b] = buffer.offset;
    } else {
      offsets[b] = rest;
      rest += aligned_bytes(buffer.bytes);
    }
  }
  if (!options.apart) {
    auto block = own(device, rest, "the values between its steps, inputs and outputs");
    if (!block) return block.error();
    for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
      const Home home = plan.buffers[b].home;
      if (home != Home::constant && home != Home::slot) device_[b] = *block + offsets[b];
    }
  }
  for (const std::uint64_t bytes : options.workspaces) {
    workspaces_.push_back(0);
    if (bytes == 0) continue;
    auto workspace = own(device, bytes, "calls of libraries");
    if (!workspace) return workspace.error();
    workspaces_.back() = *workspace;
  }
  return {};
}

Result<void> PlanMemory::place_on_host(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                                       const Options& options) {
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> offsets(plan.buffers.size());
  const auto is_pinned = [&](std::uint32_t b) {
    const Home home = plan.buffers[b].home;
    if (home == Home::output) return options.is_on_host[b] || plan.buffers[b].bytes < options.fetched_bytes;
    return home == Home::input || (home == Home::arena && options.is_on_host[b]);
  };
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (!is_pinned(b)) continue;
    offsets[b] = bytes;
    bytes += aligned_bytes(plan.buffers[b].bytes);
  }
  if (bytes != 0) {
    auto block = allocate_pinned(device, bytes);
    if (!block) return block.error();
    pinned_ = *std::move(block);
  }
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (is_pinned(b)) host_[b] = static_cast<std::byte*>(pinned_.get()) + offsets[b];
    if (plan.buffers[b].home != Home::constant || !options.is_on_host[b]) continue;
    const auto content = plan.constants[plan.buffers[b].index].bytes();
    host_[b] = const_cast<std::byte*>(content.data());
    constexpr std::uintptr_t widest = 8;
    if (reinterpret_cast<std::uintptr_t>(content.data()) % widest != 0)
      host_[b] = copies_.emplace_back(content.begin(), content.end()).data();
  }
  return {};
}

void PlanMemory::clear_host(const plan::Plan& plan) const {
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (host_[b] && plan.buffers[b].home != Home::constant) std::fill_n(host_[b], plan.buffers[b].bytes, std::byte{0});
  }
}

Result<PlanMemory> PlanMemory::make(const std::shared_ptr<const Device>& device, const plan::Plan& plan,
                                    const Options& options, SharedConstants& shared) {
  PlanMemory memory;
  memory.device_.resize(plan.buffers.size());
  memory.host_.resize(plan.buffers.size());
  if (auto placed = memory.place_constants(device, plan, options, shared); !placed) return placed.error();
  if (auto placed = memory.place_values(device, plan, options); !placed) return placed.error();
  if (auto placed = memory.place_on_host(device, plan, options); !placed) return placed.error();
  // The copies of constants are of another stream than the steps.
  const Driver& driver = device->driver();
  if (auto done = driver.check(driver->stream_synchronize(nullptr), "copying constants to it"); !done)
    return done.error();
  return memory;
}

}  // namespace onnxkit::cuda
