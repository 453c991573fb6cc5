// A recurrent layer begins with zeros where it is given no state. Exporters give it zeros of a size that they compute.
#include <algorithm>
#include <set>

#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

constexpr int most_writers_of_zeros = 16;  // between the zeros and the layer

bool holds_zeros(const Tensor& content) {
  return std::ranges::all_of(content.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

/// Operators whose result has elements of the first input only.
bool takes_elements(const ir::Node& node) {
  static const std::set<std::string_view> names = {"Cast",  "Expand",  "Flatten", "Gather",    "Identity", "Reshape",
                                                   "Slice", "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  return ir::canonical_domain(node.domain).empty() && names.contains(node.op_type.view());
}

class ZeroStates {
 public:
  explicit ZeroStates(Subject& subject) : subject_(subject), graph_(subject.graph()), patch_(graph_) {}

  bool run() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const ir::Node& node = graph_.nodes[at];
      if (Subject::is_op(node, "LSTM") || Subject::is_op(node, "GRU") || Subject::is_op(node, "RNN")) drop(at);
    }
    if (patch_.empty()) return false;
    subject_.splice(std::move(patch_));
    return true;
  }

 private:
  void drop(std::size_t at) {
    constexpr std::size_t first_state = 5, states_end = 7;  // initial_h and, of LSTM, initial_c
    std::vector<ir::ValueId> inputs = graph_.nodes[at].inputs;
    for (std::size_t i = first_state; i < std::min(inputs.size(), states_end); ++i)
      if (inputs[i] != ir::ValueId::none && is_zeros(inputs[i], most_writers_of_zeros)) inputs[i] = ir::ValueId::none;
    if (inputs == graph_.nodes[at].inputs) return;
    while (inputs.back() == ir::ValueId::none) inputs.pop_back();
    patch_.set_inputs(at, std::move(inputs));
  }

  bool is_zeros(ir::ValueId id, int writers) const {
    if (subject_.is_constant(id)) {
      const auto content = subject_.content(id);
      return content && content->type() != ElementType::string && holds_zeros(*content);
    }
    const std::int32_t producer = subject_.uses().producer(id);
    if (producer < 0 || writers == 0) return false;
    const ir::Node& node = graph_.nodes[static_cast<std::size_t>(producer)];
    if (Subject::is_op(node, "ConstantOfShape")) {
      const ir::Attribute* const value = node.find_attribute("value");
      return !value || (value->tensor() && is_zero(*value->tensor()));
    }
    return takes_elements(node) && input_of(node, 0) != ir::ValueId::none && is_zeros(node.inputs[0], writers - 1);
  }

  /// Of one element.
  static bool is_zero(const ir::Tensor& tensor) {
    std::byte raw[8] = {};
    auto elements = ir::ElementReader::open(tensor);
    return elements && elements->read_raw(raw) > 0 &&
           std::ranges::all_of(raw, [](std::byte b) { return b == std::byte{0}; });
  }

  Subject& subject_;
  const ir::Graph& graph_;
  ir::Patch patch_;
};

}  // namespace

void register_drop_zero_states(PassRegistry& registry);
void register_drop_zero_states(PassRegistry& registry) {
  registry.add({.name = "drop_zero_states",
                .stage = Stage::clean,
                .run = [](Subject& subject) -> Result<bool> { return ZeroStates(subject).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
