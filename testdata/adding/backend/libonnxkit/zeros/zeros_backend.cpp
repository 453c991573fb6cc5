// A backend that computes nothing: every output is zero, in the shape that the model declares.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/exec/registry.h"

namespace onnxkit::zeros {
namespace {

Result<Tensor> zeros(const exec::ValueDesc& output) {
  std::int64_t count = 1;
  bool is_known = output.kind == ValueKind::tensor && output.has_shape;
  for (const std::int64_t size : output.dims)
    is_known = is_known && size >= 0 && !__builtin_mul_overflow(count, size, &count);
  const auto bytes = is_known ? packed_size(output.type, count) : std::nullopt;
  if (!bytes) return make_error("not-supported", fmt::format("output {} has no fixed shape", quote(output.name)));
  return Tensor::from_bytes(output.type, output.dims, std::vector<std::byte>(*bytes));
}

class ZerosSession : public exec::Session {
 public:
  explicit ZerosSession(const ir::Graph& graph)
      : inputs_(exec::describe_inputs(graph)), outputs_(exec::describe_outputs(graph)) {}

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    std::vector<NamedValue> all;
    for (const exec::ValueDesc& output : outputs_) {
      auto tensor = zeros(output);
      if (!tensor) return tensor.error();
      all.push_back({output.name, *std::move(tensor)});
    }
    auto wanted = exec::select_outputs(std::move(all), request.outputs);
    if (!wanted) return wanted.error();
    return exec::RunAnswer{*std::move(wanted), {}};
  }

 private:
  std::vector<exec::ValueDesc> inputs_, outputs_;
  exec::LoadReport report_;
};

class ZerosBackend : public exec::Backend {
 public:
  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc desc;
    desc.name = desc.runtime = desc.title = "zeros";
    desc.formats = {"onnx"};
    desc.capabilities.in_memory = true;
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source, const exec::LoadOptions&) override {
    if (!source.model || !source.model->graph) return make_error("no-model", "zeros are made for ONNX models only");
    return std::unique_ptr<exec::Session>(std::make_unique<ZerosSession>(*source.model->graph));
  }
};

}  // namespace

void register_zeros_backend(exec::BackendRegistry& registry);
void register_zeros_backend(exec::BackendRegistry& registry) {
  registry.add(
      {.name = "zeros", .make = [](const exec::BackendSettings&) { return std::make_unique<ZerosBackend>(); }});
}

}  // namespace onnxkit::zeros
