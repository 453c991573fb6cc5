#include "libonnxkit/plan/host_node.h"

#include "libonnxkit/cpu/step.h"

namespace onnxkit::cpu {
namespace {

class HostKernel : public Kernel {
 public:
  explicit HostKernel(plan::HostNode node) : node_(std::move(node)) {}
  void run(RunState& state) override {
    if (auto done = node_.run(state.bases, state.slots, *state.run); !done) state.error = done.error();
  }

 private:
  plan::HostNode node_;
};

Result<std::unique_ptr<Kernel>> make_host(const plan::Step& step, Preparation& preparation) {
  auto node = plan::HostNode::make(preparation.host_steps, step, preparation.host, preparation.options);
  if (!node) return node.error();
  return std::unique_ptr<Kernel>(std::make_unique<HostKernel>(*std::move(node)));
}

}  // namespace

void register_host(KernelRegistry& registry);
void register_host(KernelRegistry& registry) { registry.add(plan::host_step, make_host); }

}  // namespace onnxkit::cpu
