#include "converters/formats/torch_source/source_writer.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "converters/containers/elem_names.h"
#include "converters/containers/json_writer.h"
#include "converters/formats/aten/code_writer.h"
#include "converters/formats/aten/parameters.h"
#include "converters/formats/pt2/names.h"

namespace onnxkit::torch_source {
namespace {

constexpr std::string_view imports = R"(import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

)";

constexpr std::string_view head = R"(
def register(module, name, tensor):
    *folders, last = name.split(".")
    for folder in folders:
        if folder not in module._modules:
            module.add_module(folder, torch.nn.Module())
        module = module._modules[folder]
    if tensor.is_floating_point() and name not in BUFFERS:
        module.register_parameter(last, torch.nn.Parameter(tensor))
    else:
        module.register_buffer(last, tensor)


class Model(torch.nn.Module):
    def __init__(self, weights=pathlib.Path(__file__).with_suffix(".safetensors")):
        super().__init__()
        for name, tensor in load_file(weights).items():
            register(self, name, tensor)

)";

/// safetensors' name of an element type; empty for those that it lacks, or that not all of its releases read.
std::string_view type_name(ElementType elem) {
  if (elem == ElementType::complex64 || elem == ElementType::float8e8m0) return {};
  return containers::name_of_elem(elem, &containers::ElemNames::safetensors);
}

std::vector<std::string> weight_names(const foreign::Graph& graph) {
  pt2::AttributePaths paths;
  std::vector<std::string> names;
  for (const foreign::Tensor& tensor : graph.tensors) names.push_back(paths.make(tensor.name));
  return names;
}

std::string source_key(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string source_text(const foreign::Model& model) {
  const foreign::Graph& graph = model.graph;
  aten::CodeWriter writer(aten::Dialect::python);
  const std::vector<std::string> names = weight_names(graph);
  for (std::size_t i = 0; i < names.size(); ++i)
    writer.name_as(graph, graph.tensors[i].value, fmt::format("weights[{}]", source_key(names[i])));
  std::string inputs;
  for (const foreign::ValueId input : graph.inputs) inputs += ", " + writer.name_input(graph, input);
  writer.write_nodes(graph, "        ");
  const std::vector<bool> is_parameter = aten::are_parameters(graph);
  std::vector<std::string> buffers;  // beside integers
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!is_parameter[i] && is_floating(graph.tensors[i].elem)) buffers.push_back(source_key(names[i]));
  std::string text(imports);
  text += fmt::format("BUFFERS = [{}]\n\n{}", fmt::join(buffers, ", "), head);
  text += fmt::format("    def forward(self{}):\n", inputs);
  if (!names.empty()) text += "        weights = {**dict(self.named_parameters()), **dict(self.named_buffers())}\n";
  return text + writer.text() + fmt::format("        {}\n", writer.returned(graph));
}

Result<void> write_weights(const foreign::Model& model, const ByteSink& sink) {
  const foreign::Graph& graph = model.graph;
  const std::vector<std::string> names = weight_names(graph);
  containers::JsonWriter header;
  header.open_object().key("__metadata__").open_object().member("format", "pt").close_object();
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const foreign::Tensor& tensor = graph.tensors[i];
    const std::string_view type = type_name(tensor.elem);
    if (type.empty())
      return make_error("not-supported", fmt::format("safetensors has no type for tensor {} of {}", quote(tensor.name),
                                                     name_of(tensor.elem)));
    header.key(names[i]).open_object().member("dtype", type).key("shape").open_array();
    for (const std::int64_t dim : tensor.dims) header.value(dim);
    header.close_array().key("data_offsets").open_array().value(static_cast<std::int64_t>(at));
    at += tensor.bytes.size();
    header.value(static_cast<std::int64_t>(at)).close_array().close_object();
  }
  header.close_object();
  std::string text = header.text();
  constexpr std::size_t alignment = 8;
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  std::string size;
  for (int i = 0; i < 8; ++i) size += static_cast<char>(text.size() >> (8 * i) & 0xff);
  if (Result<void> written = sink(size); !written) return written;
  if (Result<void> written = sink(text); !written) return written;
  for (const foreign::Tensor& tensor : graph.tensors) {
    const std::string_view content(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    if (Result<void> written = sink(content); !written) return written;
  }
  return {};
}

}  // namespace onnxkit::torch_source
