#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/dtype/packed.h"
#include "libonnxkit/inputs/files/value_file.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit::inputs {
namespace {

using Ranks = std::unordered_map<std::string_view, std::size_t>;

Ranks declared_ranks(const ir::Graph& graph) {
  Ranks ranks;
  for (const ir::ValueInfo& input : graph.inputs) {
    if (input.type && input.type->shape) ranks.emplace(graph.name_of(input.value), input.type->shape->dims.size());
  }
  return ranks;
}

/// Entry `index` along the first axis.
Result<Tensor> entry_of(const Tensor& stack, std::size_t index) {
  std::vector<std::int64_t> dims(stack.dims().begin() + 1, stack.dims().end());
  const auto each = static_cast<std::size_t>(stack.size() / stack.dims().front());
  if (stack.type() == ElementType::string) {
    const auto part = stack.strings().subspan(index * each, each);
    return Tensor::from_strings(std::move(dims), {part.begin(), part.end()});
  }
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(packed_size(stack.type(), static_cast<std::int64_t>(each)).value_or(0)));
  copy_elements(storage_bits(stack.type()), stack.bytes(), index * each, bytes, 0, each);
  return Tensor::from_bytes(stack.type(), std::move(dims), std::move(bytes));
}

/// How many samples the arrays hold; 0 where they have no axis for them.
Result<std::size_t> sample_count(const ir::Graph& graph, const std::vector<NamedValue>& arrays) {
  const Ranks ranks = declared_ranks(graph);
  std::size_t with_axis = 0, without = 0;
  std::int64_t count = -1;
  for (const NamedValue& array : arrays) {
    const auto rank = ranks.find(array.name);
    const std::vector<std::int64_t>& dims = array.value.tensor.dims();
    if (rank != ranks.end() && dims.size() == rank->second) ++without;
    if (rank == ranks.end() || dims.size() != rank->second + 1) continue;
    ++with_axis;
    if (count >= 0 && dims.front() != count)
      return make_error("sample-axis", fmt::format("{} has {} samples, but other inputs have {}", quote(array.name),
                                                   dims.front(), count));
    count = dims.front();
  }
  if (with_axis == 0) return std::size_t{0};
  if (without > 0) return make_error("sample-axis", "some arrays have a leading axis of samples, others do not");
  if (count < 1) return make_error("sample-axis", "the arrays hold no samples");
  for (const NamedValue& array : arrays) {
    if (array.value.tensor.dims().empty() || array.value.tensor.dims().front() != count)
      return make_error("sample-axis", fmt::format("{} has no axis for the {} samples", quote(array.name), count));
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

Result<std::vector<std::vector<NamedValue>>> read_samples(const ir::Model& model, const std::filesystem::path& archive,
                                                          std::uint64_t most_bytes) {
  auto arrays = read_inputs(model, archive, most_bytes);
  if (!arrays) return arrays.error();
  auto count = sample_count(*model.graph, *arrays);
  if (!count) {
    Error error = count.error();
    error.diagnostic.location.file = archive.string();
    return error;
  }
  if (*count == 0) return std::vector<std::vector<NamedValue>>{*std::move(arrays)};
  std::vector<std::vector<NamedValue>> samples(*count);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const NamedValue& array : *arrays) {
      auto entry = entry_of(array.value.tensor, i);
      if (!entry) return entry.error();
      samples[i].push_back({array.name, Value(*std::move(entry))});
    }
  }
  return samples;
}

}  // namespace onnxkit::inputs
