#include "converters/formats/torchscript/module_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "converters/containers/elem_names.h"
#include "converters/containers/pickle_writer.h"
#include "converters/formats/aten/code_writer.h"
#include "converters/formats/aten/parameters.h"
#include "converters/formats/pt2/names.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/wire/zip/writer.h"

namespace onnxkit::torchscript {
namespace {

constexpr std::size_t storage_alignment = 64;

/// torch's name of storages of that type; empty for those that old releases cannot read.
std::string_view storage_of(ElementType elem) {
  return containers::name_of_elem(elem, &containers::ElemNames::torch_storage);
}

using containers::PickleWriter;

struct Attribute {
  const foreign::Tensor* tensor = nullptr;
  std::string name;
  std::size_t storage = 0;
  ElementType stored = ElementType::undefined;
  std::string widened = {};  ///< the bytes, where they are not those of the tensor

  std::span<const std::byte> bytes() const {
    return widened.empty() ? tensor->bytes : std::as_bytes(std::span(widened));
  }
};

/// Unsigned integers that have no storage are stored as int64, and cast where they are read.
void widen(Attribute& attribute) {
  const foreign::Tensor& tensor = *attribute.tensor;
  const bool is_long = tensor.elem == ElementType::uint64;
  if (!is_long && tensor.elem != ElementType::uint16 && tensor.elem != ElementType::uint32) return;
  attribute.stored = ElementType::int64;
  if (is_long) return;  // the same bits
  std::vector<std::int64_t> values(tensor.bytes.size() / (tensor.elem == ElementType::uint16 ? 2 : 4));
  decode(tensor.elem, tensor.bytes, std::span(values));
  attribute.widened.resize(values.size() * sizeof(std::int64_t));
  encode(ElementType::int64, std::span<const std::int64_t>(values),
         std::as_writable_bytes(std::span(attribute.widened.data(), attribute.widened.size())));
}

std::string data_of(const std::vector<Attribute>& attributes) {
  PickleWriter pickle;
  pickle.global("__torch__", "Model").empty_tuple().new_object().empty_dictionary().mark();
  pickle.text("training").boolean(false);
  for (const Attribute& attribute : attributes) {
    pickle.text(attribute.name);
    pickle.tensor(storage_of(attribute.stored), attribute.storage, attribute.tensor->dims);
  }
  return pickle.set_items().build().finished();
}

std::string code_of(const foreign::Graph& graph, const std::vector<Attribute>& attributes) {
  aten::CodeWriter writer(aten::Dialect::torchscript);
  std::string parameters, buffers, types, inputs;
  const std::vector<bool> is_parameter = aten::are_parameters(graph);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const Attribute& attribute = attributes[i];
    (is_parameter[i] ? parameters : buffers) += fmt::format("\"{}\", ", attribute.name);
    types += fmt::format("  {} : Tensor\n", attribute.name);
    const ElementType elem = attribute.tensor->elem;
    const std::string read = "self." + attribute.name;
    writer.name_as(
        graph, attribute.tensor->value,
        attribute.stored == elem ? read : fmt::format("torch.to({}, dtype={})", read, aten::script_type(elem)));
  }
  for (const foreign::ValueId input : graph.inputs)
    inputs += fmt::format(",\n    {}: Tensor", writer.name_input(graph, input));
  writer.write_nodes(graph, "    ");
  std::string result = "Tensor";
  if (graph.outputs.size() != 1) {
    result = "Tuple[";
    for (std::size_t o = 0; o < graph.outputs.size(); ++o) result += o == 0 ? "Tensor" : ", Tensor";
    result += "]";
  }
  return fmt::format(
      "class Model(Module):\n  __parameters__ = [{}]\n  __buffers__ = [{}]\n{}  training : bool\n  def forward(self: "
      "__torch__.Model{}) -> {}:\n{}    {}\n",
      parameters, buffers, types, inputs, result, writer.text(), writer.returned(graph));
}

/// Tensors with the same bytes share a storage.
Result<std::vector<Attribute>> attributes_of(const foreign::Graph& graph) {
  std::vector<Attribute> attributes;
  pt2::Identifiers names;
  names.make("training");
  names.make("forward");
  std::map<std::tuple<const std::byte*, std::size_t, ElementType>, std::size_t> storages;
  for (const foreign::Tensor& tensor : graph.tensors) {
    Attribute attribute{.tensor = &tensor, .name = names.make(tensor.name), .stored = tensor.elem};
    widen(attribute);
    if (storage_of(attribute.stored).empty())
      return make_error("not-supported", fmt::format("TorchScript has no storage for tensor {} of {}",
                                                     quote(tensor.name), name_of(tensor.elem)));
    const auto key = std::make_tuple(tensor.bytes.data(), tensor.bytes.size(), tensor.elem);
    attribute.storage = storages.emplace(key, storages.size()).first->second;
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

}  // namespace

Result<void> write_module(const foreign::Model& model, const ByteSink& sink) {
  const auto attributes = attributes_of(model.graph);
  if (!attributes) return attributes.error();
  wire::ZipWriter zip(sink);
  const std::vector<std::pair<std::string_view, std::string>> texts = {
      {"model/version", "5\n"},
      {"model/byteorder", "little"},
      {"model/code/__torch__.py", code_of(model.graph, *attributes)},
      {"model/data.pkl", data_of(*attributes)},
      {"model/constants.pkl", PickleWriter().empty_tuple().finished()}};
  for (const auto& [entry, content] : texts)
    if (Result<void> added = zip.add(entry, content); !added) return added;
  std::size_t written = 0;
  for (const Attribute& attribute : *attributes) {
    if (attribute.storage < written) continue;
    ++written;
    const auto bytes = attribute.bytes();
    const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (Result<void> added = zip.add(fmt::format("model/data/{}", attribute.storage), {content}, storage_alignment);
        !added)
      return added;
  }
  return zip.finish();
}

}  // namespace onnxkit::torchscript
