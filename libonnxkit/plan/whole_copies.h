#pragma once

#include <cstddef>

#include "libonnxkit/plan/plan.h"

// Copies of whole values from and to what the caller holds. Both give the number of copies that they removed.
namespace onnxkit::plan {

/// What is copied to an output as a whole is written there, and read there by others.
std::size_t write_outputs_in_place(Plan& plan, const Takes& takes);
/// What copies an input as a whole is read there.
std::size_t read_inputs_in_place(Plan& plan);

}  // namespace onnxkit::plan
