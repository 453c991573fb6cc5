#pragma once

#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "libonnxkit/cuda/chooser.h"
#include "libonnxkit/cuda/host_copies.h"
#include "libonnxkit/cuda/kernels.h"
#include "libonnxkit/cuda/memory.h"
#include "libonnxkit/cuda/precision.h"
#include "libonnxkit/cuda/streams.h"
#include "libonnxkit/cuda/uploads.h"
#include "libonnxkit/plan/host_node.h"
#include "libonnxkit/plan/planned.h"

namespace onnxkit::cuda {

/// What all plans of a session share.
struct Shared {
  Shared(exec::LoadOptions options, KernelMaker kernel_maker)
      : load(std::move(options)), maker(std::move(kernel_maker)), copies(maker.device, load.threads) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared();

  exec::LoadOptions load;
  std::shared_ptr<exec::Backend> host;
  KernelMaker maker;
  bool memory_apart = false;
  std::vector<std::unique_ptr<Library>> libraries;  ///< asked in this order
  std::vector<std::string> notes;                   ///< on libraries that are not there
  Precision precision = Precision::f32;
  bool rounds = true;             ///< casts to narrow types in plans of doubles
  bool measures_engines = false;  ///< of libraries, when a plan is made
  std::size_t most_streams = 1;   ///< for a plan
  bool measures_streams = false;  ///< a stretch runs on one where that is faster
  bool streams_weights = false;   ///< sends all in each run, though they would fit
  int halvings = 0;               ///< of what constants may take, as plans found less room than they were told
  bool can_send_more = false;     ///< in each run of the last plan that was made
  SharedConstants constants;
  KernelStore kernels;
  std::shared_ptr<plan::KeptPlans> kept_plans = std::make_shared<plan::KeptPlans>();
  HostCopies copies;
  std::unique_ptr<Uploads> uploads;  ///< null until a plan needs them
};

/// After a plan found no room: whether the next one sends more of its constants in each run.
bool takes_less(Shared& shared);

/// A launch or a call of a library.
struct DeviceWork {
  std::optional<Launch> launch;
  std::unique_ptr<LibraryCall> call;
  LaunchedKernel kernel = {};
  const plan::Step* step = nullptr;
  std::size_t stream = 0;          ///< of those of its stretch
  std::uint32_t* fault = nullptr;  ///< the word that the launch sets, in pinned memory; null: it has none

  const std::vector<View>& operands() const { return launch ? launch->operands : call->operands(); }
};

/// A plan with its kernels, its memory and its graphs.
class ReadyPlan : public plan::Executable {
 public:
  /// As PlannedOptions::make.
  static Result<std::unique_ptr<plan::Executable>> make(plan::Plan plan, Shared& shared, plan::HostNodes& refused,
                                                        const plan::PlannedRun& run);
  ~ReadyPlan() override;

  const plan::Plan& plan() const override { return plan_; }
  std::uint64_t bytes() const override { return memory_->bytes(); }
  Result<std::vector<Value>> run(std::span<const Value> inputs, const plan::PlannedRun& run) override;

 private:
  /// Bytes of a buffer that go from the host to the device or back.
  struct Copy {
    std::uint32_t buffer = 0;
    std::uint64_t begin = 0, bytes = 0;
    DevicePointer device = 0;
    bool operator==(const Copy&) const = default;
  };
  /// What is captured as one graph, what is sent to the device meanwhile, and the host step behind it.
  struct Stretch {
    std::vector<const plan::Step*> uploads;
    std::vector<Copy> to_device;
    std::vector<DeviceWork> works;
    Schedule schedule;  ///< of the works; empty where they take one stream
    std::vector<Copy> to_host;
    Event start, end;  ///< of the works in `graph`
    RunnableGraph graph;
    std::vector<Event> events;  ///< for profiles: before the first step and behind each
    RunnableGraph timed;        ///< the same with these; made when it is wanted
    std::optional<plan::HostNode> host;
    const plan::Step* host_step = nullptr;
  };

  ReadyPlan(plan::Plan plan, Shared& shared) : plan_(std::move(plan)), shared_(shared), slots_(plan_.slots) {}
  /// Nodes of steps without a kernel are added to `refused`; the error is that of the first.
  Result<void> add_steps(plan::HostNodes& refused, const plan::PlannedRun& run);
  Result<void> add_step(plan::Step& step, Chooser& chooser, Stopwatch* stopwatch);
  Result<void> add_host_step(const plan::Step& step);
  void add_upload(const plan::Step& step);
  bool has_uploads() const;
  /// Whether the step reads an upload of the stretch that is being made.
  bool waits_for_uploads(const plan::Step& step) const;
  Result<void> add_library_step(LibraryStep made, const plan::Step& step);
  /// `of`: the step of the plan that they are a part of.
  Result<void> add_launches(Stretch& stretch, const plan::Step& step, const plan::Step& of);
  Result<void> compile();
  Result<void> run_once();
  Result<void> place();
  Result<void> place_faults();
  void plan_copies();
  /// What a graph has beside copies and works.
  enum class Form : std::uint8_t { chain, branches, profile };
  Result<RunnableGraph> capture(Stretch& stretch, Form form);
  Result<void> enqueue(Stretch& stretch, Form form, std::vector<Event>& edges);
  Result<void> enqueue_works(Stretch& stretch, Form form);
  Result<void> enqueue_branches(Stretch& stretch, std::vector<Event>& edges);
  Result<void> enqueue(DeviceWork& work, DriverStream stream);
  Result<void> record(const Event& event, DriverStream stream, unsigned flags) const;
  // session_streams.cpp
  void choose_streams();
  /// By the places of what they read and write.
  Result<void> schedule_works();
  DriverStream stream(std::size_t number) const { return number == 0 ? stream_.get() : branches_[number - 1].get(); }
  /// Stretches with branches get the graph that has them, unless one without is measured to be as fast.
  Result<void> make_graphs();
  Result<double> seconds_of(const Stretch& stretch, const RunnableGraph& graph) const;
  /// Steps of a stretch on the device, in their order.
  static std::vector<const plan::Step*> steps_of(const Stretch& stretch);
  Result<void> make_timed(Stretch& stretch);
  Result<void> tell_times(const Stretch& stretch, const plan::PlannedRun& run,
                          std::chrono::steady_clock::time_point start) const;
  std::optional<Copy> copy_of(const View& view) const;
  /// Whether it goes to the device while it is copied, before the graph starts.
  bool is_sent_in_parts(const plan::Buffer& buffer) const;
  Result<void> send(std::uint32_t buffer, std::span<const std::byte> bytes);
  Result<void> bind_inputs(std::span<const Value> inputs, std::optional<std::size_t> unchanged);
  Result<void> go(const plan::PlannedRun& run);
  /// The graph of a stretch and what is sent beside it; both have ended when it returns.
  Result<void> go(Stretch& stretch, const plan::PlannedRun& run);
  Result<void> send_uploads(const Stretch& stretch, const plan::PlannedRun& run);
  /// Adds the time of the works of a stretch that has ended to that of the run.
  Result<void> tell_device_time(const Stretch& stretch, const plan::PlannedRun& run) const;
  /// Error kernel, with what the kernels of stretches that have ended found wrong.
  Result<void> found_faults() const;
  /// Of large outputs, straight to what becomes the caller's.
  Result<void> fetch_outputs();
  std::vector<Value> take_outputs();

  plan::Plan plan_;
  Shared& shared_;
  std::unordered_set<const std::byte*> given_;  ///< bytes of constants that are as the plan came
  Kernels kernels_;
  std::optional<PlanMemory> memory_;
  PinnedMemory faults_;                 ///< a word for each launch that may set one
  std::vector<Error> faults_of_works_;  ///< what each word of faults_ says
  Stream stream_;
  std::vector<Stream> branches_;  ///< further ones, which captures fork to
  std::vector<plan::Step> once_steps_;
  Stretch once_;  ///< works that ran when the memory was new
  std::vector<Stretch> stretches_;
  std::vector<Value> slots_;
  std::vector<bool> are_read_;                       ///< by buffer
  std::optional<plan::HostSteps> host_steps_;        ///< once there is one
  std::vector<std::shared_ptr<std::byte>> fetched_;  ///< by output; null for those in the plan's pinned memory
};

/// A session whose values are float64 inside and, unless its math mode is unrounded, of their declared types outside.
class WideSession : public plan::PlannedSession {
 public:
  /// `samples`: a session of the reference, whose large products the device computes; it makes the perturbed samples.
  WideSession(std::shared_ptr<const ir::Model> model, plan::PlannedOptions options, bool rounds,
              std::unique_ptr<exec::Session> samples)
      : PlannedSession(model, std::move(options)),
        model_(std::move(model)),
        rounds_(rounds),
        samples_(std::move(samples)) {}

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override;
  exec::PerturbedSamples* perturbed() override { return samples_->perturbed(); }

 private:
  std::shared_ptr<const ir::Model> model_;
  bool rounds_;
  std::unique_ptr<exec::Session> samples_;
};

}  // namespace onnxkit::cuda
