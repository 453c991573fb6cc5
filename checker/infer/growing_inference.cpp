#include "checker/infer/growing_inference.h"

namespace onnxkit::checker {

GrowingInference::GrowingInference(const ir::Model& model, const spec::OpTable& table)
    : model_(model), resolution_(model, table), inference_(model, resolution_, options_, collector_) {
  open(*model.graph, nullptr);
}

void GrowingInference::open(const ir::Graph& graph, const ir::Graph* outer) {
  auto frame = std::make_unique<Frame>();
  frame->graph = &graph;
  frame->info = &inference_.result_.graphs[&graph];
  if (outer) {
    frame->parent = frames_.at(outer).get();
    frame->scope = frame->parent->scope;
    frame->depth = frame->parent->depth + 1;
    frame->in_body = true;
  }
  frame->scope.emplace_back(outer ? "body" : "main");
  inference_.prepare(*frame);
  inference_.seed_inputs(*frame, {}, {});
  frames_.insert_or_assign(&graph, std::move(frame));
  advance(graph);
}

void GrowingInference::advance(const ir::Graph& graph) {
  Frame& frame = *frames_.at(&graph);
  Inference::grow(frame);
  resolution_.extend(graph, model_.opset_imports);
  for (; frame.nodes < graph.nodes.size(); ++frame.nodes) {
    inference_.budget_ = options_.extra_node_budget;
    inference_.infer_node(frame, frame.nodes);
  }
}

const Type& GrowingInference::type(const ir::Graph& graph, ir::ValueId id) {
  return inference_.lookup(*frames_.at(&graph), id)->type;
}

const Constant* GrowingInference::content(const ir::Graph& graph, ir::ValueId id) {
  return inference_.content(*frames_.at(&graph), id);
}

}  // namespace onnxkit::checker
