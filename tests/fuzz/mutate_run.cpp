// How libFuzzer changes the models that targets take as models: as models (attributes, sizes, constants, types, edges, opsets) and now and then as
// bytes.
#include "tests/fuzz/mutate_run.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"

namespace {

using namespace onnxkit;

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void mutate(ir::Model& model) {
    ir::Graph& graph = *model.graph;
    for (int changes = 1 + below(3); changes > 0; --changes) {
      switch (below(6)) {
        case 0:
        case 1:
          if (ir::Node* node = pick(graph.nodes)) change_attribute(*node);
          break;
        case 2:
          if (ir::Tensor* tensor = pick(graph.initializers)) change_tensor(model, *tensor);
          break;
        case 3:
          if (ir::ValueInfo* input = pick(graph.inputs)) change_type(*input);
          break;
        case 4:
          if (ir::Node* node = pick(graph.nodes)) change_edge(graph, *node);
          break;
        default:
          if (ir::OpsetImport* import = pick(model.opset_imports)) import->version = 1 + below(28);
      }
    }
  }

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  template <class T>
  T* pick(std::vector<T>& all) {
    return all.empty() ? nullptr : &all[random_() % all.size()];
  }
  std::int64_t integer() {
    static constexpr std::int64_t telling[] = {0, 1, -1, 2, -2, 3, 7, 64, 1 << 20, INT32_MAX, INT64_MAX, INT64_MIN};
    return below(3) == 0 ? telling[below(std::size(telling))] : below(9) - 4;
  }

  void change_attribute(ir::Node& node) {
    ir::Attribute* attribute = pick(node.attributes);
    if (!attribute) return;
    if (below(8) == 0) {
      node.attributes.erase(node.attributes.begin() + (attribute - node.attributes.data()));
      return;
    }
    if (auto* value = std::get_if<std::int64_t>(&attribute->payload)) *value = integer();
    if (auto* value = std::get_if<float>(&attribute->payload)) *value = static_cast<float>(integer()) / 2;
    if (auto* values = std::get_if<std::vector<std::int64_t>>(&attribute->payload)) {
      if (below(4) == 0) values->resize(static_cast<std::size_t>(below(5)));
      if (std::int64_t* value = pick(*values)) *value = integer();
    }
  }

  /// Constants that nodes take as indices, axes, shapes ... are small, and kept in raw form by exporters.
  void change_tensor(ir::Model& model, ir::Tensor& tensor) {
    if (below(3) == 0) {
      if (std::int64_t* size = pick(tensor.dims)) *size = integer();
      return;
    }
    std::string bytes(tensor.raw_data.view());
    if (bytes.empty()) return;
    const std::int64_t number = integer();
    const std::size_t width = std::min<std::size_t>(sizeof number, bytes.size());
    const std::size_t at = random_() % (bytes.size() - width + 1) / width * width;
    bytes.replace(at, width, reinterpret_cast<const char*>(&number), width);
    tensor.raw_data = model.keep(bytes);
  }

  void change_type(ir::ValueInfo& input) {
    if (!input.type) return;
    if (below(2) == 0) input.type->elem_type = 1 + below(28);
    if (!input.type->shape) return;
    if (ir::DeclaredDim* dim = pick(input.type->shape->dims)) dim->value = below(2) == 0 ? integer() : below(5);
  }

  void change_edge(ir::Graph& graph, ir::Node& node) {
    ir::ValueId* input = pick(node.inputs);
    if (!input || graph.values.empty()) return;
    *input = below(4) == 0 ? ir::ValueId::none : static_cast<ir::ValueId>(random_() % graph.values.size());
  }

  std::mt19937 random_;
};

}  // namespace

std::size_t onnxkit::fuzz::mutate_model(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  if (seed % 8 == 0) return 0;
  auto model = wire::read_binary(MappedFile::from_bytes(std::string(reinterpret_cast<const char*>(data), size)));
  if (!model || !model->graph) return 0;
  Mutator(seed).mutate(*model);
  const std::string bytes = wire::to_bytes(*model);
  if (bytes.size() > most) return 0;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
