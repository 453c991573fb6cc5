#include "converters/opset/steps.h"

namespace onnxkit::opset {

void register_sequence(StepRegistry& registry) {
  const Way none = never("no older version knows sequences");
  registry.introduced({"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
                       "SequenceLength", "SplitToSequence", "ConcatFromSequence"},
                      11, none);
  registry.types({"SplitToSequence"}, {24});
}

}  // namespace onnxkit::opset
