#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "libonnxkit/diff/noise_floor.h"
#include "libonnxkit/diff/side.h"
#include "onnxkit/diff.h"

namespace onnxkit::diffing {

struct LayerQuestion {
  const DiffSide& base;  ///< the ONNX model of the floor
  const DiffSide& side;  ///< another side with an ONNX model
  const InputSet& set;
  NoiseFloor& noise_floor;
  Profile profile;
  const DiffOptions& options;
  Sessions& sessions;
  std::filesystem::path repro;                ///< folder for what shows the first culprit; empty for none
  std::optional<std::size_t> set_index = {};  ///< where the floor of the outputs is asked for later on
  Side* open = nullptr;                       ///< the side, where it is open; frameworks take seconds to start
};

/// Compares values inside the graph that both models have under one name, a boundary's worth at a time, and finds the nodes that are wrong by themselves:
/// all of them with options.layers, else the first by search. Results go into the report's layers, first_culprit, not_looked_at, layers_note and repro. Errors: of
/// changing and running the model.
Result<void> compare_layers(const LayerQuestion& question, SideReport& report);

/// compare_layers with options.layers for a side that runs the floor's own model, begun before its outputs are judged: the perturbed runs that it takes
/// give the floor of the outputs, too. Gives the rest, for when they are judged; question and report must outlive it.
std::function<Result<void>()> begin_layers(const LayerQuestion& question, SideReport& report);

}  // namespace onnxkit::diffing
