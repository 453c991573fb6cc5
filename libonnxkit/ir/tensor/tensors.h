#pragma once

#include <type_traits>

#include "libonnxkit/ir/model.h"

namespace onnxkit::ir {

/// What a tensor is part of.
enum class TensorRole : std::uint8_t { initializer, sparse, attribute };

template <class M, class Visit>
void each_tensor(M& part, Visit&& visit);

namespace detail {

/// T as constant as M is.
template <class M, class T>
using Like = std::conditional_t<std::is_const_v<M>, const T, T>;

template <class M, class Visit>
void each_tensor_of_sparse(M& sparse, Visit& visit) {
  if (sparse.values) visit(static_cast<Like<M, Tensor>&>(*sparse.values), TensorRole::sparse);
  if (sparse.indices) visit(static_cast<Like<M, Tensor>&>(*sparse.indices), TensorRole::sparse);
}

template <class P, class Visit>
void each_tensor_of_payload(P& payload, Visit& visit) {
  if (auto* held = std::get_if<std::unique_ptr<Tensor>>(&payload); held && *held) {
    visit(static_cast<Like<P, Tensor>&>(**held), TensorRole::attribute);
  }
  if (auto* held = std::get_if<std::unique_ptr<Graph>>(&payload); held && *held)
    each_tensor(static_cast<Like<P, Graph>&>(**held), visit);
  if (auto* held = std::get_if<std::unique_ptr<SparseTensor>>(&payload); held && *held) {
    each_tensor_of_sparse(static_cast<Like<P, SparseTensor>&>(**held), visit);
  }
  if (auto* held = std::get_if<std::vector<Tensor>>(&payload)) {
    for (auto& tensor : *held) visit(tensor, TensorRole::attribute);
  }
  if (auto* held = std::get_if<std::vector<std::unique_ptr<Graph>>>(&payload)) {
    for (auto& graph : *held) each_tensor(static_cast<Like<P, Graph>&>(*graph), visit);
  }
  if (auto* held = std::get_if<std::vector<SparseTensor>>(&payload)) {
    for (auto& sparse : *held) each_tensor_of_sparse(sparse, visit);
  }
}

template <class A, class Visit>
void each_tensor_of_attributes(A& attributes, Visit& visit) {
  for (auto& attribute : attributes) {
    each_tensor_of_payload(attribute.payload, visit);
    for (auto& payload : attribute.more_payloads) each_tensor_of_payload(payload, visit);
  }
}

}  // namespace detail

/// Calls visit(tensor, role) for every tensor of a model or graph, in subgraphs, functions, training graphs and sparse tensors too, in the
/// order of the file.
template <class M, class Visit>
void each_tensor(M& part, Visit&& visit) {
  if constexpr (std::is_same_v<std::remove_const_t<M>, Graph>) {
    for (auto& node : part.nodes) detail::each_tensor_of_attributes(node.attributes, visit);
    for (auto& tensor : part.initializers) visit(tensor, TensorRole::initializer);
    for (auto& sparse : part.sparse_initializers) detail::each_tensor_of_sparse(sparse, visit);
  } else {
    static_assert(std::is_same_v<std::remove_const_t<M>, Model>);
    using SomeGraph = detail::Like<M, Graph>;
    if (part.graph) each_tensor(static_cast<SomeGraph&>(*part.graph), visit);
    for (auto& training : part.training_infos) {
      if (training.initialization) each_tensor(static_cast<SomeGraph&>(*training.initialization), visit);
      if (training.algorithm) each_tensor(static_cast<SomeGraph&>(*training.algorithm), visit);
    }
    for (auto& function : part.functions) {
      detail::each_tensor_of_attributes(function.attribute_protos, visit);
      each_tensor(static_cast<SomeGraph&>(function.body), visit);
    }
  }
}

}  // namespace onnxkit::ir
