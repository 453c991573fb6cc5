#pragma once

#include <cstddef>
#include <vector>

#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {

/// Who reads and writes the buffers of a plan.
struct BufferUses {
  explicit BufferUses(const Plan& plan);
  std::vector<std::vector<std::size_t>> readers,
      writers;  ///< steps by buffer, ascending; one that reads twice comes twice
};

void remove_steps(Plan& plan, const std::vector<bool>& is_gone);

// Passes give the number of steps that they removed, and make no step that the backend does not take.

/// Joins a map with the one map that reads its result.
std::size_t fuse_maps(Plan& plan, const Takes& takes);
/// Puts a map into the product or convolution whose result it reads.
std::size_t fuse_epilogues(Plan& plan, const Takes& takes);
/// What is copied once as a whole is written where the copy would be.
std::size_t sink_copies(Plan& plan, const Takes& takes);
/// Takes a map over what copies and maps wrote in parts, as of a Concat, apart into a map for each part: no step writes the whole then.
std::size_t split_maps(Plan& plan, const Takes& takes);
/// What is copied to an output as a whole is written there, and read there by others.
std::size_t place_outputs(Plan& plan, const Takes& takes);
/// What copies an input as a whole is read there.
std::size_t read_inputs_in_place(Plan& plan);
/// Notes which maps stayed apart from the product or convolution whose result they read, and why.
void note_missed_epilogues(Plan& plan, const Takes& takes);
/// When steps run of which some may run side by side.
struct StepOrder {
  std::vector<std::size_t> streams;  ///< by step: where it runs, behind the earlier ones of the same stream
  std::vector<std::vector<std::size_t>>
      ended;  ///< by step and stream: of its steps, those before this one have ended when the step begins
};

/// A new value without gaps, whose buffer has no place yet.
View new_value(Plan& plan, ElementType type, const Dims& dims);
/// Gives all buffers of the arena a place, whatever places they have: those that live at the same time do not overlap.
void place_buffers(Plan& plan);
/// The same for steps that run side by side: none has to wait for another for the sake of a place.
void place_buffers(Plan& plan, const StepOrder& order);
/// Drops steps whose results nobody reads.
void drop_unused_steps(Plan& plan);

}  // namespace onnxkit::plan
