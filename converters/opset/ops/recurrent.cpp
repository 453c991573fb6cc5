#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// Until version 6 Y may be left out only where output_sequence is 0; the text hardly says more.
void state_whether_y_is_wanted(Step& step) {
  if (step.output(0) != ValueId::none) step.set({"output_sequence", std::int64_t{1}});
}

/// GRU 1 misspells its default.
void spell_direction(Step& step) {
  if (step.is_reference("direction")) return;
  const std::string direction = step.string("direction");
  if (direction == "foward") step.set({"direction", std::string("forward")});
}

void to_first_gru(Step& step) {
  drop_if_default(step, "linear_before_reset");
  if (step.output(1) == ValueId::none) step.set_output(1, step.value("last_state"));
}

/// layout = 1 puts the batch first.
void time_first(Step& step) {
  if (step.integer("layout") == 0) return step.remove("layout");
  const List swapped = {1, 0, 2};
  const auto turn_input = [&](std::size_t index) {
    if (step.has_input(index))
      step.set_input(index, step.add("Transpose", {step.input(index)}, {{"perm", swapped}}, "time_first"));
  };
  turn_input(0);
  turn_input(5);
  if (step.node().op_type == "LSTM") turn_input(6);
  step.remove("layout");
  step.then();
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    if (step.output(i) == ValueId::none) continue;
    const ValueId turned = step.value("time_first");
    step.set_output(i, turned);
    step.emit("Transpose", {turned}, {step.output(i)}, {{"perm", i == 0 ? List{2, 0, 1, 3} : swapped}});
  }
  step.note("transposed: the batch is no longer first");
}

}  // namespace

void register_recurrent(StepRegistry& registry) {
  const StepRegistry::Names cells = {"RNN", "GRU", "LSTM"};
  registry.change({"GRU"}, 3, adapt("the spelling of the default of direction was corrected", spell_direction),
                  adapt("the last state is always returned", to_first_gru));
  registry.change(cells, 7, drop_attribute("output_sequence"),
                  adapt("output_sequence decides whether Y is returned", state_whether_y_is_wanted));
  registry.change(cells, 14, compatible("time stays first"), adapt("time is first", time_first));
  registry.types(cells, {22});
}

}  // namespace onnxkit::opset
