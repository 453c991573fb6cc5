#include "libonnxkit/onnxruntime/cuda_values.h"

#include <algorithm>

namespace onnxkit::onnxruntime {

Result<std::shared_ptr<RuntimeValue>> value_over(const Library& library, const MemoryInfo* memory, void* data,
                                                 const Tensor& like) {
  return library.make<RuntimeValue>(slots::create_tensor, slots::release_value, memory, data, like.bytes().size(),
                                    like.dims().data(), like.dims().size(), static_cast<int>(like.type()));
}

Result<CudaValues::Place> CudaValues::place(const Tensor& like, const MemoryInfo* memory) const {
  auto made = cuda_->allocate(like.bytes().size());
  if (!made) return made.error();
  auto value = value_over(*library_, memory, made->get(), like);
  if (!value) return value.error();
  Place place;
  place.type = like.type();
  place.dims.assign(like.dims().begin(), like.dims().end());
  place.memory = *std::move(made);
  place.value = *std::move(value);
  return place;
}

Result<CudaValues> CudaValues::make(std::shared_ptr<const Library> library, std::shared_ptr<const CudaRuntime> cuda,
                                    std::span<const Value> inputs, const std::vector<NamedValue>& outputs) {
  constexpr int device_allocator = 0, first_device = 0, default_memory = 0;
  const auto memory = library->make<MemoryInfo>(slots::create_device_memory_info, slots::release_memory_info, "Cuda",
                                                device_allocator, first_device, default_memory);
  if (!memory) return memory.error();
  CudaValues values(std::move(library), std::move(cuda));
  for (const Value& input : inputs) {
    auto place = values.place(input.tensor, memory->get());
    if (!place) return place.error();
    values.inputs_.push_back(*std::move(place));
  }
  for (const NamedValue& output : outputs) {
    auto place = values.place(output.value.tensor, memory->get());
    if (!place) return place.error();
    place->name = output.name;
    place->host.resize(output.value.tensor.bytes().size());
    values.outputs_.push_back(*std::move(place));
  }
  return values;
}

bool CudaValues::fits(std::span<const Value> inputs) const {
  return std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end(),
                    [](const Value& input, const Place& place) {
                      const auto& dims = input.tensor.dims();
                      return input.tensor.type() == place.type &&
                             std::equal(dims.begin(), dims.end(), place.dims.begin(), place.dims.end());
                    });
}

Result<void> CudaValues::send(std::span<const Value> inputs, CudaRuntime::Stream stream) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = inputs[i].tensor.bytes();
    if (auto done = cuda_->copy(inputs_[i].memory.get(), bytes.data(), bytes.size(), stream); !done) return done;
  }
  return {};
}

Result<void> CudaValues::bind(Binding* binding, const std::vector<exec::ValueDesc>& inputs) const {
  const auto bind = [&](const auto& slot, const std::string& name, const Place& place) {
    return library_->call(slot, binding, name.c_str(), static_cast<const RuntimeValue*>(place.value.get()));
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (auto done = bind(slots::bind_input, inputs[i].name, inputs_[i]); !done) return done;
  for (const Place& output : outputs_)
    if (auto done = bind(slots::bind_output_value, output.name, output); !done) return done;
  return {};
}

Result<void> CudaValues::fetch(CudaRuntime::Stream stream) {
  for (Place& output : outputs_)
    if (auto done = cuda_->copy(output.host.data(), output.memory.get(), output.host.size(), stream); !done)
      return done;
  return {};
}

std::vector<NamedValue> CudaValues::outputs() const {
  std::vector<NamedValue> values;
  for (const Place& output : outputs_)
    values.push_back({output.name, Value(*Tensor::from_bytes(output.type, output.dims, output.host))});
  return values;
}

}  // namespace onnxkit::onnxruntime
