#include "tests/cuda_host/fibres.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <csetjmp>

#include <algorithm>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define ONNXKIT_HOST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONNXKIT_HOST_ASAN
#endif
#endif
#ifdef ONNXKIT_HOST_ASAN
#include <sanitizer/common_interface_defs.h>
#define ONNXKIT_UNSANITIZED [[gnu::no_sanitize_address]]
#else
#define ONNXKIT_UNSANITIZED
#endif
// Switching goes by jumps of the compiler where it has them: swapcontext calls the system each time, and so does longjmp with
// AddressSanitizer. Functions that do not return to their caller are unsanitized for the same reason.
#ifdef __x86_64__
#define ONNXKIT_SET_PLACE(place) __builtin_setjmp(place)
#define ONNXKIT_GO_TO(place) __builtin_longjmp(place, 1)
#else
#define ONNXKIT_SET_PLACE(place) ::_setjmp(place)
#define ONNXKIT_GO_TO(place) ::_longjmp(place, 1)
#endif

namespace onnxkit::cuda_host {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr std::size_t warp = 32;
Fibres* current = nullptr;  // launches follow each other

#ifdef __x86_64__
using Place = void* [5];
#else
using Place = jmp_buf;
#endif

/// Not inlined: the compiler's jumps must not be in the function that has set the place.
ONNXKIT_UNSANITIZED [[noreturn, gnu::noinline]] void go_to(Place& place) { ONNXKIT_GO_TO(place); }

}  // namespace

struct Fibres::Fibre {
  enum class State : std::uint8_t { ready, at_block, at_warp, ended };
  ucontext_t context{};
  Place place{};
  std::byte* stack = nullptr;
  void* fake_stack = nullptr;
  State state = State::ready;
  bool started = false;
  unsigned lanes = 0;
  std::size_t waits = 0;
};

struct Fibres::State {
  std::vector<std::unique_ptr<Fibre>> fibres;
  std::vector<unsigned long long> exchange;
  Kernel kernel = nullptr;
  void** parameters = nullptr;
  HostThread* at = nullptr;
  std::size_t count = 0, running = 0;
  Place home_place{};
  void* fake_stack = nullptr;
  const void* home_stack = nullptr;
  std::size_t home_bytes = 0;
};

Fibres::Fibres() : state_(std::make_unique<State>()) {}

Fibres::~Fibres() {
  for (const auto& fibre : state_->fibres) ::munmap(fibre->stack, stack_bytes);
}

ONNXKIT_UNSANITIZED void Fibres::start(unsigned, unsigned) {
  State& state = *current->state_;
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &state.home_stack, &state.home_bytes);
#endif
  state.kernel(state.parameters);
  Fibre& fibre = *state.fibres[state.running];
  fibre.state = Fibre::State::ended;
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_start_switch_fiber(nullptr, state.home_stack, state.home_bytes);
#endif
  go_to(state.home_place);
}

ONNXKIT_UNSANITIZED void Fibres::pause() {
  State& state = *state_;
  Fibre& fibre = *state.fibres[state.running];
  ++fibre.waits;
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_start_switch_fiber(&fibre.fake_stack, state.home_stack, state.home_bytes);
#endif
  if (ONNXKIT_SET_PLACE(fibre.place) == 0) go_to(state.home_place);
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_finish_switch_fiber(fibre.fake_stack, &state.home_stack, &state.home_bytes);
#endif
}

ONNXKIT_UNSANITIZED void Fibres::resume(std::size_t number) {
  State& state = *state_;
  Fibre& fibre = *state.fibres[number];
  state.running = number;
  state.at->thread = {static_cast<unsigned>(number), 0, 0};
  state.at->exchange = state.exchange.data() + number / warp * warp;
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_start_switch_fiber(&state.fake_stack, fibre.stack, stack_bytes);
#endif
  if (ONNXKIT_SET_PLACE(state.home_place) == 0) enter(fibre);
#ifdef ONNXKIT_HOST_ASAN
  __sanitizer_finish_switch_fiber(state.fake_stack, nullptr, nullptr);
#endif
}

ONNXKIT_UNSANITIZED void Fibres::enter(Fibre& fibre) {
  if (fibre.started) go_to(fibre.place);
  fibre.started = true;
  ::getcontext(&fibre.context);
  fibre.context.uc_stack.ss_sp = fibre.stack;
  fibre.context.uc_stack.ss_size = stack_bytes;
  fibre.context.uc_link = nullptr;
  ::makecontext(&fibre.context, reinterpret_cast<void (*)()>(&Fibres::start), 2, 0U, 0U);
  ::setcontext(&fibre.context);
}

void Fibres::wait_for_block() {
  State& state = *current->state_;
  state.fibres[state.running]->state = Fibre::State::at_block;
  current->pause();
}

void Fibres::wait_for_warp(unsigned lanes) {
  State& state = *current->state_;
  state.fibres[state.running]->state = Fibre::State::at_warp;
  state.fibres[state.running]->lanes = lanes;
  current->pause();
}

/// Lets the warps go on all of whose named lanes wait, or have ended.
bool Fibres::release_warps() {
  State& state = *state_;
  bool any = false;
  for (std::size_t first = 0; first < state.count; first += warp) {
    const std::size_t end = std::min(first + warp, state.count);
    for (std::size_t i = first; i < end; ++i) {
      if (state.fibres[i]->state != Fibre::State::at_warp) continue;
      const unsigned lanes = state.fibres[i]->lanes;
      bool all = true;
      for (std::size_t other = first; other < end; ++other) {
        const Fibre& fibre = *state.fibres[other];
        const bool is_named = (lanes >> (other - first) & 1U) != 0;
        const bool is_there = fibre.state == Fibre::State::at_warp && fibre.lanes == lanes;
        if (is_named && !is_there && fibre.state != Fibre::State::ended) all = false;
      }
      if (!all) continue;
      any = true;
      for (std::size_t other = first; other < end; ++other) {
        Fibre& fibre = *state.fibres[other];
        if (fibre.state == Fibre::State::at_warp && fibre.lanes == lanes) fibre.state = Fibre::State::ready;
      }
    }
  }
  return any;
}

bool Fibres::waited_alike() const {
  const auto& fibres = state_->fibres;
  return std::all_of(fibres.begin(), fibres.begin() + static_cast<std::ptrdiff_t>(state_->count),
                     [&](const auto& fibre) { return fibre->waits == fibres.front()->waits; });
}

bool Fibres::run_block(Kernel kernel, void** parameters, HostThread& at, bool backwards) {
  State& state = *state_;
  current = this;
  state.kernel = kernel;
  state.parameters = parameters;
  state.at = &at;
  state.count = at.threads.x;
  while (state.fibres.size() < state.count) {
    auto fibre = std::make_unique<Fibre>();
    void* stack =
        ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) return false;
    fibre->stack = static_cast<std::byte*>(stack);
    state.fibres.push_back(std::move(fibre));
  }
  state.exchange.assign((state.count + warp - 1) / warp * warp, 0);
  at.wait_for_block = &Fibres::wait_for_block;
  at.wait_for_warp = &Fibres::wait_for_warp;
  for (std::size_t i = 0; i < state.count; ++i) {
    state.fibres[i]->state = Fibre::State::ready;
    state.fibres[i]->started = false;
    state.fibres[i]->waits = 0;
  }
  while (true) {
    bool any = false, all_ended = true;
    for (std::size_t turn = 0; turn < state.count; ++turn) {
      const std::size_t i = backwards ? state.count - 1 - turn : turn;
      if (state.fibres[i]->state == Fibre::State::ready) {
        any = true;
        resume(i);
      }
      all_ended = all_ended && state.fibres[i]->state == Fibre::State::ended;
    }
    if (all_ended) return true;
    if (any && std::any_of(state.fibres.begin(), state.fibres.begin() + static_cast<std::ptrdiff_t>(state.count),
                           [](const auto& fibre) { return fibre->state == Fibre::State::ready; }))
      continue;
    if (release_warps()) continue;
    // Those that have ended count as arrived, as on a GPU.
    for (std::size_t i = 0; i < state.count; ++i) {
      if (state.fibres[i]->state == Fibre::State::at_warp) return false;
      if (state.fibres[i]->state == Fibre::State::at_block) state.fibres[i]->state = Fibre::State::ready;
    }
  }
}

}  // namespace onnxkit::cuda_host
