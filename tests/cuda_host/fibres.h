#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/cuda_host/thread.h"

namespace onnxkit::cuda_host {

/// Runs the threads of a block in turns: each until it ends or waits for others.
class Fibres {
 public:
  Fibres();
  ~Fibres();
  Fibres(const Fibres&) = delete;
  Fibres& operator=(const Fibres&) = delete;

  using Kernel = void (*)(void** parameters);
  /// `at` has the block and the sizes; the kernel reads its thread there. False when threads wait for others that wait for them or have ended.
  /// Threads run in their order, or the other way round.
  bool run_block(Kernel kernel, void** parameters, HostThread& at, bool backwards = false);
  /// All threads of the last block waited equally often.
  bool waited_alike() const;

 private:
  struct Fibre;
  struct State;
  static void start(unsigned low, unsigned high);
  static void wait_for_block();
  static void wait_for_warp(unsigned lanes);
  void resume(std::size_t number);
  void pause();
  void enter(Fibre& fibre);
  bool release_warps();

  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::cuda_host
