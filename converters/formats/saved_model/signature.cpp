#include "converters/formats/saved_model/signature.h"

#include <algorithm>

#include "converters/containers/protobuf.h"
#include "converters/formats/saved_model/graph_def.h"

namespace onnxkit::saved_model {
namespace {

using containers::ProtoFields;

TensorInfo read_tensor_info(std::string_view key, std::string_view message, bool& damaged) {
  TensorInfo info;
  info.name = key;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) info.tensor = field.bytes();
    if (field.number() == 2) info.type = field.integer();
    if (field.number() == 3) {
      auto shape = read_shape(field.bytes(), damaged);
      info.has_rank = shape.has_value();
      if (shape) info.sizes = *std::move(shape);
    }
    if (field.number() == 4 || field.number() == 5) info.is_composite = true;
  }
  return info;
}

TensorInfo read_port(std::string_view map_entry, bool& damaged) {
  std::string_view key, value;
  for (ProtoFields field(map_entry, damaged); field.next();) {
    if (field.number() == 1) key = field.bytes();
    if (field.number() == 2) value = field.bytes();
  }
  return read_tensor_info(key, value, damaged);
}

void add_signature(std::string_view map_entry, MetaGraph& graph, bool& damaged) {
  std::string_view key, message;
  for (ProtoFields field(map_entry, damaged); field.next();) {
    if (field.number() == 1) key = field.bytes();
    if (field.number() == 2) message = field.bytes();
  }
  SignatureDef signature;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) signature.inputs.push_back(read_port(field.bytes(), damaged));
    if (field.number() == 2) signature.outputs.push_back(read_port(field.bytes(), damaged));
  }
  // A map has no order of its own.
  const auto by_name = [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; };
  std::sort(signature.inputs.begin(), signature.inputs.end(), by_name);
  std::sort(signature.outputs.begin(), signature.outputs.end(), by_name);
  graph.signatures.emplace(key, std::move(signature));
}

MetaGraph read_meta_graph_def(std::string_view message, bool& damaged) {
  MetaGraph graph;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1)
      for (ProtoFields info(field.bytes(), damaged); info.next();) {
        if (info.number() == 4) graph.tags.push_back(info.bytes());
        if (info.number() == 5) graph.version = info.bytes();
      }
    if (field.number() == 2) graph.graph = field.bytes();
    if (field.number() == 3)
      for (ProtoFields saver(field.bytes(), damaged); saver.next();)
        if (saver.number() == 3) graph.restore_node = saver.bytes();
    if (field.number() == 5) add_signature(field.bytes(), graph, damaged);
  }
  return graph;
}

}  // namespace

Result<MetaGraph> read_meta_graph(std::string_view saved_model) {
  bool damaged = false;
  std::vector<MetaGraph> graphs;
  for (ProtoFields field(saved_model, damaged); field.next();)
    if (field.number() == 2) graphs.push_back(read_meta_graph_def(field.bytes(), damaged));
  if (damaged || graphs.empty()) return make_error("malformed-model", "saved_model.pb is damaged");
  for (MetaGraph& graph : graphs)
    if (graphs.size() == 1 || std::find(graph.tags.begin(), graph.tags.end(), "serve") != graph.tags.end())
      return std::move(graph);
  return make_error("not-supported", "none of the graphs of the SavedModel has the tag serve");
}

}  // namespace onnxkit::saved_model
