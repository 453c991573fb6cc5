#pragma once

#include <optional>
#include <vector>

#include "converters/foreign/tensorflow_family/operators.h"
#include "converters/foreign/written_bodies.h"

// Branches and loops. What a loop collects lies in a list of tensors in TensorFlow, in TensorFlow Lite in a tensor of the final size.
namespace onnxkit::tensorflow_family {

using foreign::Rounds;

/// A graph of the node, closed: weights may be given to it, other constants are its own. Refuses one whose values are not tensors.
WriteCall::Body body_of(WriteCall& call, std::string_view attribute);

/// What is carried from round to round; numbers are places among the carried values.
struct Carried {
  ValueId round = ValueId::none;  ///< its number, in the body
  ElementType round_elem = ElementType::undefined;
  ValueId length = ValueId::none;  ///< outside: the greatest number of rounds; none where it is not stated
  bool makes_room = false;         ///< whether there may be as many rounds as fit into memory at once
  std::size_t counter = 0, limit = Rounds::none;
  std::optional<std::size_t> goes_on = {};  ///< only a Loop may end before its limit
  std::vector<std::size_t> results = {};    ///< by output of the node
};

/// How a framework collects a result of each round, `whole` with the axis of the rounds first.
struct Collecting {
  foreign::LoopOperators operators;
  /// Puts the result of a round behind those of rounds before: its place among the carried values.
  std::size_t (*collect)(WriteCall& call, Rounds& rounds, const Carried& carried, ValueId result, const Type& whole);
  /// What was collected so far, of the carried value behind the last round, and the number of rounds.
  ValueId (*collected)(WriteCall& call, const Carried& carried, ValueId last, ValueId count, const Type& whole);
};

void write_loop(WriteCall& call, const Collecting& how);
void write_scan(WriteCall& call, const Collecting& how);

}  // namespace onnxkit::tensorflow_family
