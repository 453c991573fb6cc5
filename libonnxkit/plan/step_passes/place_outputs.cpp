#include "libonnxkit/plan/step_pass.h"
#include "libonnxkit/plan/whole_copies.h"

namespace onnxkit::plan {

void register_place_outputs(StepPassRegistry& registry);
void register_place_outputs(StepPassRegistry& registry) {
  registry.add({.name = "place_outputs", .stage = StepStage::place, .run = write_outputs_in_place});
}

}  // namespace onnxkit::plan
