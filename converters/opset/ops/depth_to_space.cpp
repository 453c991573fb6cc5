#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// 0, 1 ... `channels` - 1 as a matrix, transposed. One of rows and columns is -1.
ValueId transposed_channels(Step& step, const Size& channels, std::int64_t rows, std::int64_t columns) {
  if (channels.known) {
    if (rows < 0) rows = *channels.known / columns;
    if (columns < 0) columns = *channels.known / rows;
    std::vector<std::int64_t> order;
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) order.push_back(i * columns + j);
    }
    return step.vector(order, "channels");
  }
  const ValueId shape = step.vector(std::vector<std::int64_t>{rows, columns});
  const ValueId matrix = step.add("Reshape", {count_up(step, channels), shape}, {}, "channel_matrix");
  const ValueId turned = step.add("Transpose", {matrix}, {}, "turned");
  return step.add("Reshape", {turned, step.vector(std::vector<std::int64_t>{-1})}, {}, "channels");
}

/// The number of elements in a block; 0 when the mode goes without any other change.
std::int64_t block_elements_of_crd(Step& step) {
  const bool is_crd = step.string("mode", "DCR") == "CRD";
  step.remove("mode");
  if (!is_crd) return 0;
  const std::int64_t block = step.integer("blocksize");
  if (block < 1 || block > (std::int64_t{1} << 20)) refuse("blocksize is out of range");
  step.note("mode CRD rewritten as DCR with reordered channels");
  return block * block;
}

void depth_in_dcr_order(Step& step) {
  const std::int64_t block_elements = block_elements_of_crd(step);
  if (block_elements == 0) return;
  const ValueId order = transposed_channels(step, size_of(step, step.input(0), 1), -1, block_elements);
  step.set_input(0, step.add("Gather", {step.input(0), order}, {{"axis", std::int64_t{1}}}, "reordered"));
}

void depth_from_dcr_order(Step& step) {
  const std::int64_t block_elements = block_elements_of_crd(step);
  if (block_elements == 0) return;
  const Size channels = product(step, size_of(step, step.input(0), 1), Size(block_elements));
  const ValueId order = transposed_channels(step, channels, block_elements, -1);
  const ValueId result = step.value("of_mode_dcr");
  step.set_output(0, result);
  step.then();
  step.emit("Gather", {result, order}, {step.output(0)}, {{"axis", std::int64_t{1}}});
}

}  // namespace

void register_depth_to_space(StepRegistry& registry) {
  registry.change({"DepthToSpace"}, 11, compatible("the default of mode is the older behaviour"),
                  adapt("removed mode", depth_in_dcr_order));
  registry.types({"DepthToSpace"}, {13, 28});
  registry.types({"SpaceToDepth"}, {13});
  registry.change({"SpaceToDepth"}, 28, compatible("the default of mode is the older behaviour"),
                  adapt("removed mode", depth_from_dcr_order));
}

}  // namespace onnxkit::opset
