#pragma once

// What a kernel of the host and the library that runs it share. No header of the system: kernels are compiled often.

struct HostThree {
  unsigned x, y, z;
};

/// Where the thread that runs is, and how it waits for others. The library sets it before a thread goes on.
struct HostThread {
  HostThree thread, block, threads, blocks;
  unsigned long long* exchange;     ///< a place for each lane of the warp
  void (*wait_for_block)();         ///< null in kernels that do not synchronize
  void (*wait_for_warp)(unsigned);  ///< lanes by bits
};
