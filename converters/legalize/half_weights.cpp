#include "converters/legalize/half_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::legalize {
namespace {

constexpr std::size_t least_bytes = 1024;
constexpr double greatest_half = 65504, least_normal_half = 0x1p-14;

/// The elements in float16. Empty when one is beyond its range, or when more than half of those that are not 0 are too small to keep their digits.
Result<std::string> half_bytes(const ir::Tensor& tensor, wire::ExternalData& data) {
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    const auto bytes = data.bytes(tensor);
    if (!bytes) return bytes.error();
    outside = *bytes;
  }
  auto reader = ir::ElementReader::open(tensor, outside);
  if (!reader) return std::string();
  std::string half(reader->count() * 2, '\0');
  std::span<std::byte> left = std::as_writable_bytes(std::span(half.data(), half.size()));
  std::array<double, 4096> part;
  std::size_t tiny = 0, nonzero = 0;
  while (!left.empty()) {
    const std::size_t count = reader->read(std::span(part).first(std::min(part.size(), left.size() / 2)));
    if (count == 0) return std::string();
    for (const double value : std::span(part).first(count)) {
      const double size = std::abs(value);
      if (std::isfinite(value) && size > greatest_half) return std::string();
      nonzero += size > 0;
      tiny += size > 0 && size < least_normal_half;
    }
    encode(ElementType::float16, std::span<const double>(part.data(), count), left.first(count * 2));
    left = left.subspan(count * 2);
  }
  return tiny * 2 > nonzero ? std::string() : half;
}

class HalfStore {
 public:
  explicit HalfStore(ir::Model& model) : model_(model), names_(model), data_(model.path) {}

  Result<HalfWeights> run() {
    for (ir::Graph* graph : ir::mutable_graphs(model_))
      if (auto done = change(*graph); !done) return std::move(done).error();
    for (auto& file : data_.files()) model_.files.push_back(file);
    return done_;
  }

 private:
  Result<void> change(ir::Graph& graph) {
    std::set<ir::ValueId> inputs;
    for (const ir::ValueInfo& input : graph.inputs) inputs.insert(input.value);
    std::vector<ir::Node> casts;
    for (ir::Tensor& tensor : graph.initializers) {
      const auto bytes = ir::expected_bytes(tensor);
      const ir::ValueId value = graph.find(tensor.name.view());
      if (ir::element_type_of(tensor) != ElementType::float32 || !bytes || *bytes < least_bytes ||
          value == ir::ValueId::none || inputs.contains(value))
        continue;
      auto half = half_bytes(tensor, data_);
      if (!half) return std::move(half).error();
      if (half->empty()) {
        ++done_.kept;
        continue;
      }
      ir::Tensor stored = ir::make_tensor(model_, ElementType::float16, tensor.dims,
                                          std::as_bytes(std::span(half->data(), half->size())));
      stored.name = names_.make(fmt::format("{}_half", tensor.name.view()));
      casts.push_back(cast_of(graph.intern(stored.name), value));
      ++done_.stored;
      done_.saved += *bytes - half->size();
      tensor = std::move(stored);
    }
    graph.nodes.insert(graph.nodes.begin(), std::make_move_iterator(casts.begin()),
                       std::make_move_iterator(casts.end()));
    graph.intern_initializers();
    return {};
  }

  ir::Node cast_of(ir::ValueId half, ir::ValueId value) {
    return ir::make_node(model_, "Cast", {half}, {value}, {{"to", static_cast<std::int64_t>(ElementType::float32)}});
  }

  ir::Model& model_;
  ir::FreshNames names_;
  wire::ExternalData data_;
  HalfWeights done_;
};

}  // namespace

Result<HalfWeights> store_half(ir::Model& model) {
  constexpr std::int64_t first_cast_by_number = 6;
  const auto opset = ir::opset_of(model.opset_imports, "");
  if (!opset || *opset < first_cast_by_number)
    return make_error("usage", "weights can be stored as float16 from opset 6 on, whose Cast names types by number");
  return HalfStore(model).run();
}

}  // namespace onnxkit::legalize
