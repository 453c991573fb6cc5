#pragma once

#include <cstdint>

namespace onnxkit {

/// What one call may take. 0 means what the context says (onnxkit/context.h), and there no limit.
struct Limits {
  int threads = 0;                 ///< 0 in the context, too: all cores that this process may use
  std::uint64_t memory_bytes = 0;  ///< of values alive at once
  std::uint64_t time_ms = 0;       ///< of one run, the generation of its inputs included
  std::uint64_t iterations = 0;    ///< passes of one loop
};

/// What a program that hosts another runtime may take; memory 0: no limit.
struct WorkerLimits {
  std::uint64_t start_ms = 60'000, load_ms = 300'000, run_ms = 300'000;
  std::uint64_t memory_bytes = 0;
};

}  // namespace onnxkit
