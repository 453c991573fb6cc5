#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/onnxruntime/cuda_runtime.h"
#include "libonnxkit/onnxruntime/library.h"
#include "onnxkit/value.h"

namespace onnxkit::onnxruntime {

/// The runtime's value over memory of its caller, which must live as long.
Result<std::shared_ptr<RuntimeValue>> value_over(const Library& library, const MemoryInfo* memory, void* data,
                                                 const Tensor& like);

/// Places on the device for the inputs and outputs of one set of sizes, which stay where they are, as a captured graph wants it.
class CudaValues {
 public:
  /// `outputs` are those of a run on such inputs.
  static Result<CudaValues> make(std::shared_ptr<const Library> library, std::shared_ptr<const CudaRuntime> cuda,
                                 std::span<const Value> inputs, const std::vector<NamedValue>& outputs);

  bool fits(std::span<const Value> inputs) const;
  Result<void> send(std::span<const Value> inputs, CudaRuntime::Stream stream) const;
  /// Behind `send`, whose values the runtime may copy elsewhere now.
  Result<void> bind(Binding* binding, const std::vector<exec::ValueDesc>& inputs) const;
  /// To memory of the host that is there until the stream has come so far.
  Result<void> fetch(CudaRuntime::Stream stream);
  std::vector<NamedValue> outputs() const;

 private:
  struct Place {
    std::string name;
    ElementType type = ElementType::undefined;
    std::vector<std::int64_t> dims;
    std::shared_ptr<void> memory;
    std::shared_ptr<RuntimeValue> value;
    std::vector<std::byte> host;  ///< of outputs
  };

  CudaValues(std::shared_ptr<const Library> library, std::shared_ptr<const CudaRuntime> cuda)
      : library_(std::move(library)), cuda_(std::move(cuda)) {}
  Result<Place> place(const Tensor& like, const MemoryInfo* memory) const;

  std::shared_ptr<const Library> library_;
  std::shared_ptr<const CudaRuntime> cuda_;
  std::vector<Place> inputs_, outputs_;
};

}  // namespace onnxkit::onnxruntime
