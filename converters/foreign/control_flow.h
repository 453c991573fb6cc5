#pragma once

#include <vector>

#include "converters/foreign/call.h"

// Branches and loops whose bodies are graphs of the file, with their operands passed explicitly. In ONNX, bodies see the values around them.
namespace onnxkit::foreign {

/// If: the results are those of one of two graphs of the same operands. `condition` has one element.
void branch(Call& call, Val condition, const Graph& then_graph, const Graph& else_graph,
            const std::vector<Val>& operands);

/// What a while loop passes from graph to graph.
struct WhileLoop {
  std::vector<Val> carried;          ///< before the first pass
  std::vector<checker::Type> types;  ///< of what is carried, in every pass
  std::vector<Val> constants = {};   ///< that both graphs take behind it
  /// How often the body runs, where that is known before the first pass; the condition is not asked then.
  Val passes = {};
  /// A pass may change the sizes of what is carried, which are left open then.
  bool may_resize = false;
};

/// Loop: runs the body while the condition, which has one result, holds. What the body gives behind that which is carried is gathered, an
/// element of a new first axis for each pass.
std::vector<Val> looped(Call& call, const Graph& condition, const Graph& body, const WhileLoop& loop);
/// The same, with what is carried as results.
void repeat_while(Call& call, const Graph& condition, const Graph& body, WhileLoop loop);

/// Scan: the body for each slice along axis 0 of `sliced`, behind what is carried and before constants.
void scan(Call& call, const Graph& body, const std::vector<Val>& carried, const std::vector<Val>& sliced,
          const std::vector<Val>& constants);

}  // namespace onnxkit::foreign
