#include <fmt/core.h>

#include "libonnxkit/cuda/text/expression.h"
#include "libonnxkit/cuda/text/loops.h"
#include "libonnxkit/cuda/text/parameters.h"

namespace onnxkit::cuda {
namespace {

/// One element for each turn of the loop.
Result<std::string> write_single(const plan::Step& step, const plan::Expression& expression, const ElementLoop& loop) {
  std::vector<InputText> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    inputs.push_back({fmt::format("x{}[{}]", i, loop.place(i + 1)), step.inputs[i].type});
  const auto text = write_expression(expression, inputs, "    ");
  if (!text) return text.error();
  return fmt::format("{}    y[{}] = {};\n", text->statements, loop.place(0),
                     stored(step.outputs[0].type, text->lane, text->result));
}

/// Loads of neighbours, the elements of a pack one by one, a store of all.
Result<std::string> write_pack(const plan::Step& step, const plan::Expression& expression, const ElementLoop& loop) {
  std::string loads;
  std::vector<InputText> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (loop.is_side_by_side(i + 1)) {
      loads += fmt::format("    const auto p{0} = load_pack<{1}>(x{0} + {2});\n", i, loop.pack(), loop.place(i + 1));
      inputs.push_back({fmt::format("p{}.at[i]", i), step.inputs[i].type});
    } else {
      loads += fmt::format("    const auto e{0} = x{0}[{1}];\n", i, loop.place(i + 1));
      inputs.push_back({fmt::format("e{}", i), step.inputs[i].type});
    }
  }
  const auto text = write_expression(expression, inputs, "      ");
  if (!text) return text.error();
  const ElementType type = step.outputs[0].type;
  return fmt::format(
      "{0}    Pack<{1}, {2}> q;\n#pragma unroll\n    for (int i = 0; i < {2}; ++i) {{\n{3}      q.at[i] = {4};\n    "
      "}}\n"
      "    store_pack(y + {5}, q);\n",
      loads, stored_type(type), loop.pack(), text->statements, stored(type, text->lane, text->result), loop.place(0));
}

Result<std::vector<Launch>> write_map(const plan::Step& step, const Preparation& preparation) {
  if (const auto fits = check_types(step); !fits) return fits.error();
  constexpr std::size_t most_operands = 500;  // a launch has 4 KiB of parameters
  if (step.inputs.size() > most_operands) return make_error("not-supported", "more operands than a kernel has");
  const auto& expression = static_cast<const plan::MapParameters&>(*step.parameters).expression;
  std::vector<const View*> views = {&step.outputs[0]};
  for (const View& view : step.inputs) views.push_back(&view);
  const ElementLoop loop(views, true);
  const auto body = loop.pack() > 1 ? write_pack(step, expression, loop) : write_single(step, expression, loop);
  if (!body) return body.error();
  Launch launch;
  launch.text = write_parameters(step, preparation) + " {\n" + loop.begin() + *body + loop.end() + "}\n";
  launch.add_operands(step);
  launch.blocks = loop.blocks();
  launch.threads = loop.threads();
  return std::vector<Launch>{std::move(launch)};
}

}  // namespace

void register_map(StepRegistry& registry);
void register_map(StepRegistry& registry) { registry.add(plan::map_step, write_map); }

}  // namespace onnxkit::cuda
