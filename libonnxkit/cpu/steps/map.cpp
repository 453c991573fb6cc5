#include <array>
#include <memory>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/map/block_loops.h"

namespace onnxkit::cpu {
namespace {

constexpr std::size_t most_map_operands = 32;

std::vector<const View*> output_and_inputs(const plan::Step& step) {
  std::vector<const View*> views = {&step.outputs[0]};
  for (const View& input : step.inputs) views.push_back(&input);
  return views;
}

class MapKernel : public Kernel {
 public:
  MapKernel(const plan::Step& step, BlockLoops loops, Program program)
      : loops_(std::move(loops)), program_(std::move(program)), views_({step.outputs[0]}) {
    views_.insert(views_.end(), step.inputs.begin(), step.inputs.end());
    for (const View& view : views_) widths_.push_back(storage_bits(view.type) / 8);
  }

  void run(RunState& state) override {
    std::array<std::byte*, most_map_operands> bases{};
    for (std::size_t v = 0; v < views_.size(); ++v)
      bases[v] = state.bases[views_[v].buffer] + views_[v].offset * widths_[v];
    constexpr std::int64_t grain_numbers = 32768;
    const std::int64_t grain =
        std::max<std::int64_t>(1, grain_numbers / std::max<std::int64_t>(loops_.block_size(), 1));
    if (loops_.blocks() <= grain) return run_blocks(bases, 0, loops_.blocks());
    state.threads->for_range(loops_.blocks(), grain,
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
    for (std::int64_t block = first; block < last; ++block) {
      const auto [rows, columns] = loops_.place(block, bases, widths_, std::span(operands).first(views_.size()));
      program_.run(std::span(operands).subspan(1, views_.size() - 1), operands[0], rows, columns, scratch);
    }
  }

  BlockLoops loops_;
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
  if (views.size() > most_map_operands) return "a map of too many operands";
  const auto program = program_of(step, BlockLoops(views));
  return program ? std::nullopt : std::optional(program.error().diagnostic.message);
}

Result<std::unique_ptr<Kernel>> make_map(const plan::Step& step, Preparation& preparation) {
  if (const auto reason = refuse_map(preparation.plan, step)) return make_error("not-supported", *reason);
  BlockLoops loops(output_and_inputs(step));
  auto program = program_of(step, loops);
  return std::unique_ptr<Kernel>(std::make_unique<MapKernel>(step, std::move(loops), *std::move(program)));
}

}  // namespace

void register_map(KernelRegistry& registry);
void register_map(KernelRegistry& registry) { registry.add(plan::map_step, make_map, refuse_map); }

}  // namespace onnxkit::cpu
