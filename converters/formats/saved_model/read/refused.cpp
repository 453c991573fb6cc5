// Operators that are refused with a reason of their own.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {

void register_refused(Mappings& mappings);
void register_refused(Mappings& mappings) {
  mappings.refuse({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "RefSwitch", "RefMerge", "RefEnter",
                   "RefExit", "RefNextIteration"},
                  {"its loop or branch of TensorFlow 1 does not have the structure that tf.while_loop and tf.cond give",
                   "save the model again with control flow of version 2 enabled"});
  mappings.refuse(
      {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "Assign", "AssignAdd", "AssignSub"},
      {"it changes a variable, which a model in ONNX does not keep from run to run"});
  mappings.refuse({"VarHandleOp", "VariableV2", "Variable"},
                  {"no value is stored for this variable", "save the model after its variables have values"});
  mappings.refuse({"Placeholder"}, {"nothing is given for it: it is not an input of the signature"});
}

}  // namespace onnxkit::saved_model
