#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/result.h"

namespace onnxkit::saved_model {

/// What a signature calls a tensor.
struct TensorInfo {
  std::string_view name, tensor;
  std::int64_t type = 0;
  bool has_rank = true;
  std::vector<std::int64_t> sizes;  ///< -1 where one is not known
  bool is_composite = false;        ///< sparse, ragged: more than one tensor
};

struct SignatureDef {
  std::vector<TensorInfo> inputs, outputs;
};

/// A MetaGraphDef: a graph for one purpose.
struct MetaGraph {
  std::vector<std::string_view> tags;
  std::string_view version;  ///< of TensorFlow
  std::string_view graph;    ///< the bytes of a GraphDef
  std::string_view restore_node;
  std::map<std::string_view, SignatureDef> signatures;
};

/// The graph of a SavedModel that serves, or the only one. Error codes: malformed-model, not-supported.
Result<MetaGraph> read_meta_graph(std::string_view saved_model);

}  // namespace onnxkit::saved_model
