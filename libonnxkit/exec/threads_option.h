#pragma once

#include "libonnxkit/exec/backend.h"

// The option of backends that run in this process and share their work out to its threads.
namespace onnxkit::exec {

inline constexpr const char* threads_option = "threads";

OptionDesc describe_threads_option();

/// The option's number, or LoadOptions::threads where it is not given; 0: all cores. For options that check_load has passed.
int threads_of(const LoadOptions& options);

}  // namespace onnxkit::exec
