#include <array>
#include <memory>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/kernels/grain.h"
#include "libonnxkit/cpu/map/block_loops.h"

namespace onnxkit::cpu {
namespace {

constexpr std::size_t most_map_operands = 32;

std::vector<const View*> output_and_inputs(const plan::Step& step) {
  std::vector<const View*> views = {&step.outputs[0]};
  for (const View& input : step.inputs) views.push_back(&input);
  return views;
}

/// The axis of several elements along which they lie side by side.
std::optional<std::size_t> inner_axis(const View& view) {
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.dims[axis] > 1 && view.strides[axis] == 1) return axis;
  return std::nullopt;
}

/// A block of numbers of 32 bits whose rows lie side by side in the output.
void store_turned(const BlockOperand& to, const std::byte* numbers, std::int64_t rows, std::int64_t columns) {
  auto* const first = const_cast<float*>(reinterpret_cast<const float*>(to.data));
  transpose(first, reinterpret_cast<const float*>(numbers), columns, rows, to.column_stride, columns);
}

/// How a map goes through its operands. Where the inputs have one order of axes and the output another, blocks follow the inputs and are turned when
/// they are stored.
struct MapOrder {
  BlockLoops loops;
  bool is_turned = false;  ///< the output is behind the inputs, too, where it lies

  static MapOrder of(const plan::Step& step) {
    const View& output = step.outputs[0];
    auto views = output_and_inputs(step);
    if (const View* like = turned_input(step)) {
      View pretended = output;
      pretended.strides = plan::dense_strides_like(output.dims, *like);
      views[0] = &pretended;
      views.push_back(&output);
      BlockLoops loops(views, BlockLoops::Shape::square);
      if (loops.row_stride(views.size() - 1) == 1) return {std::move(loops), true};
      views.pop_back();
      views[0] = &output;
    }
    return {BlockLoops(views)};
  }

 private:
  /// The first input as large as the output, when all of these have their elements side by side along one axis and the output along another.
  static const View* turned_input(const plan::Step& step) {
    constexpr std::int64_t least_elements = 4096;
    const View& output = step.outputs[0];
    const auto out = inner_axis(output);
    if (!out || output.size() < least_elements || storage_bits(output.type) != 32) return nullptr;
    const View* first = nullptr;
    for (const View& input : step.inputs) {
      if (plan::without_repetition(input).size() != output.size()) continue;
      const auto in = inner_axis(input);
      if (!in || in == out || (first && in != inner_axis(*first))) return nullptr;
      if (!first) first = &input;
    }
    return first;
  }
};

class MapKernel : public Kernel {
 public:
  MapKernel(const plan::Step& step, MapOrder order, Program program)
      : order_(std::move(order)), program_(std::move(program)), views_({step.outputs[0]}) {
    views_.insert(views_.end(), step.inputs.begin(), step.inputs.end());
    if (order_.is_turned) views_.push_back(step.outputs[0]);
    for (const View& view : views_) widths_.push_back(storage_bits(view.type) / 8);
  }

  void run(RunState& state) override {
    std::array<std::byte*, most_map_operands> bases{};
    for (std::size_t v = 0; v < views_.size(); ++v)
      bases[v] = state.bases[views_[v].buffer] + views_[v].offset * widths_[v];
    const std::int64_t grain = grain_for(order_.loops.block_size());
    if (order_.loops.blocks() <= grain) return run_blocks(bases, 0, order_.loops.blocks());
    state.threads->for_range(order_.loops.blocks(), grain,
                             [&](std::int64_t first, std::int64_t last) { run_blocks(bases, first, last); });
  }

 private:
  void run_blocks(const std::array<std::byte*, most_map_operands>& bases, std::int64_t first, std::int64_t last) const {
    constexpr std::size_t near_bytes = 32768;
    alignas(64) std::byte near[near_bytes];
    const bool is_near = program_.scratch_bytes() <= near_bytes;
    const auto far = std::make_unique_for_overwrite<std::byte[]>(is_near ? 0 : program_.scratch_bytes());
    std::byte* const scratch = is_near ? near : far.get();
    std::array<BlockOperand, most_map_operands> operands;
    const std::size_t inputs = views_.size() - (order_.is_turned ? 2 : 1);
    alignas(64) std::byte numbers[Program::block * sizeof(float)];
    for (std::int64_t block = first; block < last; ++block) {
      const auto [rows, columns] = order_.loops.place(block, bases, widths_, std::span(operands).first(views_.size()));
      if (order_.is_turned) operands[0] = {.data = numbers, .row_stride = columns, .column_stride = 1};
      program_.run(std::span(operands).subspan(1, inputs), operands[0], rows, columns, scratch);
      if (order_.is_turned) store_turned(operands[inputs + 1], numbers, rows, columns);
    }
  }

  MapOrder order_;
  Program program_;
  std::vector<View> views_;  // the output first
  std::vector<std::int64_t> widths_;
};

Result<Program> program_of(const plan::Step& step, const BlockLoops& loops) {
  std::vector<ElementType> types;
  std::array<bool, most_map_operands> ones{};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    types.push_back(step.inputs[i].type);
    ones[i] = loops.is_one(i);
  }
  const auto& parameters = static_cast<const plan::MapParameters&>(*step.parameters);
  return Program::make(parameters.expression, types, std::span(ones).first(types.size()), step.outputs[0].type);
}

std::optional<std::string> refuse_map(const plan::Plan&, const plan::Step& step) {
  const auto views = output_and_inputs(step);
  if (views.size() >= most_map_operands) return "a map of too many operands";
  const auto program = program_of(step, MapOrder::of(step).loops);
  return program ? std::nullopt : std::optional(program.error().diagnostic.message);
}

Result<std::unique_ptr<Kernel>> make_map(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_map(preparation.plan, step)) return make_error("not-supported", *reason);
  MapOrder order = MapOrder::of(step);
  auto program = program_of(step, order.loops);
  return std::unique_ptr<Kernel>(std::make_unique<MapKernel>(step, std::move(order), *std::move(program)));
}

}  // namespace

void register_map(KernelRegistry& registry);
void register_map(KernelRegistry& registry) { registry.add(plan::map_step, make_map, refuse_map); }

}  // namespace onnxkit::cpu
