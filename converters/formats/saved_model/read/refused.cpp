// Operators that are refused with a reason of their own.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void refuse_old_control_flow(Call& call) {
  call.refuse("it is a part of a loop or branch in the form of TensorFlow 1",
              "save the model again with control flow of version 2 enabled");
}
void refuse_change_of_state(Call& call) {
  call.refuse("it changes a variable, which a model in ONNX does not keep from run to run");
}
void refuse_variable(Call& call) {
  call.refuse("no value is stored for this variable", "save the model after its variables have values");
}
void refuse_placeholder(Call& call) { call.refuse("nothing is given for it: it is not an input of the signature"); }

}  // namespace

void register_refused(Mappings& mappings);
void register_refused(Mappings& mappings) {
  mappings.add_all({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge",
                    "RefEnter", "RefExit", "RefNextIteration"},
                   {"data"}, refuse_old_control_flow);
  mappings.add_all(
      {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "Assign", "AssignAdd", "AssignSub"},
      {"resource", "value"}, refuse_change_of_state);
  mappings.add_all({"VarHandleOp", "VariableV2", "Variable"}, {}, refuse_variable);
  mappings.add("Placeholder", {}, refuse_placeholder);
}

}  // namespace onnxkit::saved_model
