#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cuda/step.h"
#include "libonnxkit/cuda/text/loops.h"

namespace onnxkit::cuda {
namespace {

/// A copy knows the size of elements only.
std::string_view bits_type(ElementType type) {
  switch (storage_bits(type)) {
    case 8:
      return "unsigned char";
    case 16:
      return "unsigned short";
    case 32:
      return "unsigned int";
    case 64:
      return "unsigned long long";
    default:
      return {};
  }
}

Result<std::vector<Launch>> write_copy(const plan::Step& step, const Preparation&) {
  const View &from = step.inputs[0], &to = step.outputs[0];
  const std::string_view type = bits_type(from.type);
  if (type.empty()) return make_error("not-supported", "elements of less than a byte");
  const View* views[] = {&to, &from};
  const ElementLoop loop(views, true);
  std::string copy = fmt::format("y[{}] = x[{}]", loop.place(0), loop.place(1));
  if (loop.pack() > 1) {
    copy = loop.is_side_by_side(1) ? fmt::format("load_pack<{}>(x + {})", loop.pack(), loop.place(1))
                                   : fmt::format("repeated<{}>(x[{}])", loop.pack(), loop.place(1));
    copy = fmt::format("store_pack(y + {}, {})", loop.place(0), copy);
  }
  Launch launch;
  launch.text = fmt::format("(const {0}* __restrict__ x, {0}* __restrict__ y) {{\n{1}    {2};\n{3}}}\n", type,
                            loop.begin(), copy, loop.end());
  launch.add_operand(from, false);
  launch.add_operand(to, true);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_copy(StepRegistry& registry);
void register_copy(StepRegistry& registry) { registry.add(plan::copy_step, write_copy); }

}  // namespace onnxkit::cuda
