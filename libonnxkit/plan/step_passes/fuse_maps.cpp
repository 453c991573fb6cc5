#include "libonnxkit/plan/join_maps.h"
#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {
namespace {

/// Joins a map with the one map that reads its result.
std::size_t fuse_maps(Plan& plan, const Takes& takes) { return join_producers(plan, takes, joined_maps); }

}  // namespace

void register_fuse_maps(StepPassRegistry& registry);
void register_fuse_maps(StepPassRegistry& registry) {
  registry.add({.name = "fuse_maps", .stage = StepStage::join, .run = fuse_maps});
}

}  // namespace onnxkit::plan
