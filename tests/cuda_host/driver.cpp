// The driver's interface over memory and compiled code of the host (tracking.h, kernel.h). Work of a stream waits until somebody waits for the stream, so
// that who forgets to wait sees what a GPU might show.
// Works of a graph that nothing orders run in another order than they were captured in: the last one first, or as ONNXKIT_CUDA_HOST_ORDER says
// (a number, from which the order follows).
//   ONNXKIT_CUDA_HOST_DEVICES, _CAPABILITY ("75"), _VERSION ("13000"), _MEMORY (bytes)    what the device is
//   ONNXKIT_CUDA_HOST_TOLD (bytes)    what it says of its memory, of which others take the rest
#include <dlfcn.h>
#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/cuda_host/fibres.h"
#include "tests/cuda_host/tracking.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace fs = std::filesystem;
using onnxkit::cuda_host::Fibres;
using onnxkit::cuda_host::Tracking;

constexpr int success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100, invalid_image = 200,
              invalid_context = 201, invalid_handle = 400, not_found = 500, illegal_address = 700, launch_failed = 719,
              capture_unsupported = 900, capture_unjoined = 904;
constexpr unsigned long long first_address = 256;

struct Module {
  void* library = nullptr;
  std::vector<std::unique_ptr<struct Function>> functions;
};

struct Function {
  void (*call)(void**) = nullptr;
  HostThread** at = nullptr;
  unsigned arity = 0, pointers = 0;  ///< parameters, and those of them that are pointers, which are the first
  bool synchronizes = false;
};

using Work = std::function<int()>;

struct Node {
  Work work;
  std::set<std::size_t> before;  ///< that have to have run
};

/// While it is captured, and then as it runs: in the order of `works`.
struct Graph {
  std::vector<Node> nodes;
  std::vector<Work> works;
};

struct Event {
  std::chrono::steady_clock::time_point at;
  bool is_recorded = false;
  const Graph* capture = nullptr;  ///< in which it was recorded as an edge
  std::set<std::size_t> before;
};

struct Stream {
  std::deque<std::pair<long, Work>> waiting;  ///< with when it was given
  std::shared_ptr<Graph> capture;
  bool is_origin = false;        ///< of the capture
  std::set<std::size_t> before;  ///< what its next node comes behind
};

long variable(const char* name, long fallback) {
  const char* text = std::getenv(name);
  return text ? std::atol(text) : fallback;
}

struct Driver {
  Tracking tracking{"libcuda"};
  std::map<std::uintptr_t, std::size_t> memory, pinned;
  std::vector<Stream*> streams;
  std::size_t used = 0, total = static_cast<std::size_t>(variable("ONNXKIT_CUDA_HOST_MEMORY", 16L << 30));
  std::size_t told = static_cast<std::size_t>(variable("ONNXKIT_CUDA_HOST_TOLD", static_cast<long>(total)));
  int retained = 0, depth = 0, sticky = success;
  Fibres fibres;
  int context = 0;
  long given = 0;  ///< works, so far
};

Driver& driver() {
  static Driver all;
  return all;
}

/// Every call begins with one: counts it, and says whether it fails.
class Call {
 public:
  Call(const char* name, int failure = launch_failed) : lock_(driver().tracking.mutex) {
    const bool fails = driver().tracking.call(name);
    if (fails) status_ = driver().tracking.is_lost() ? illegal_address : failure;
  }
  /// The call does its work first where it gives back something, as the driver does.
  int status() const { return status_; }
  explicit operator bool() const { return status_ != success; }

 private:
  std::lock_guard<std::mutex> lock_;
  int status_ = success;
};

bool within(const std::map<std::uintptr_t, std::size_t>& blocks, const void* at, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin()) return false;
  --next;
  return address + bytes <= next->first + next->second;
}

int run_kernel(const Function& function, unsigned blocks, unsigned threads, std::vector<void*> values) {
  for (unsigned i = 0; i < function.pointers; ++i) {  // unified addressing: kernels reach pinned memory, too
    if (!within(driver().memory, values[i], 0) && !within(driver().pinned, values[i], 0)) return illegal_address;
  }
  std::vector<void*> parameters;
  for (void*& value : values) parameters.push_back(&value);
  HostThread at{};
  at.threads = {threads, 1, 1};
  at.blocks = {blocks, 1, 1};
  *function.at = &at;
  unsigned long long exchange[32] = {};
  for (unsigned block = 0; block < blocks; ++block) {
    at.block = {block, 0, 0};
    if (function.synchronizes) {
      if (!driver().fibres.run_block(function.call, parameters.data(), at)) return launch_failed;
      continue;
    }
    at.exchange = exchange;
    for (unsigned thread = 0; thread < threads; ++thread) {
      at.thread = {thread, 0, 0};
      function.call(parameters.data());
    }
  }
  return success;
}

void run_next(Stream& stream) {
  const Work work = std::move(stream.waiting.front().second);
  stream.waiting.pop_front();
  if (driver().sticky == success) driver().sticky = work();
}

void flush(Stream& stream) {
  while (!stream.waiting.empty()) run_next(stream);
}

void flush_all() {
  for (Stream* stream : driver().streams) flush(*stream);
}

/// What all streams were given before the last work of one, in that order, as if each had begun at once.
void flush_as_given(const Stream& last) {
  if (last.waiting.empty()) return;
  const long end = last.waiting.back().first;
  while (true) {
    Stream* next = nullptr;
    for (Stream* stream : driver().streams) {
      if (stream->waiting.empty() || stream->waiting.front().first > end) continue;
      if (!next || stream->waiting.front().first < next->waiting.front().first) next = stream;
    }
    if (!next) return;
    run_next(*next);
  }
}

int enqueue(void* stream, Work work) {
  if (!driver().tracking.has(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  if (!at->capture) {
    at->waiting.emplace_back(++driver().given, std::move(work));
    return success;
  }
  at->capture->nodes.push_back({std::move(work), at->before});
  at->before = {at->capture->nodes.size() - 1};
  return success;
}

/// Which nodes come before others, all told.
std::vector<bool> reached_from(const Graph& graph, const std::set<std::size_t>& ends) {
  std::vector<bool> is_reached(graph.nodes.size(), false);
  for (const std::size_t end : ends) is_reached[end] = true;
  for (std::size_t at = graph.nodes.size(); at-- > 0;) {
    if (!is_reached[at]) continue;
    for (const std::size_t before : graph.nodes[at].before) is_reached[before] = true;
  }
  return is_reached;
}

/// Who relies on an order that no edge says shall see it.
std::vector<Work> in_odd_order(const Graph& graph) {
  const long seed = variable("ONNXKIT_CUDA_HOST_ORDER", 0);
  std::minstd_rand random(static_cast<unsigned>(seed));
  std::vector<std::size_t> missing;
  std::vector<std::vector<std::size_t>> behind(graph.nodes.size());
  std::vector<std::size_t> ready;
  std::vector<Work> works;
  for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
    missing.push_back(graph.nodes[at].before.size());
    for (const std::size_t before : graph.nodes[at].before) behind[before].push_back(at);
    if (missing.back() == 0) ready.push_back(at);
  }
  while (!ready.empty()) {
    std::sort(ready.begin(), ready.end());
    if (seed != 0) std::swap(ready[random() % ready.size()], ready.back());
    const std::size_t at = ready.back();
    ready.pop_back();
    works.push_back(graph.nodes[at].work);
    for (const std::size_t next : behind[at])
      if (--missing[next] == 0) ready.push_back(next);
  }
  return works;
}

/// The size of a shared object by its table of sections, which ends it.
std::size_t size_of(const void* image) {
  Elf64_Ehdr header{};
  std::memcpy(&header, image, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  return header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize;
}

void* open_image(const void* image) {
  const std::size_t bytes = size_of(image);
  if (bytes == 0) return nullptr;
  // Each under a name of its own: the loader takes equal names for the same library.
  std::string path = (fs::temp_directory_path() / "onnxkit_cuda_host_XXXXXX").string();
  const int file = ::mkstemp(path.data());
  if (file < 0) return nullptr;
  std::size_t written = 0;
  while (written < bytes) {
    const ssize_t part = ::write(file, static_cast<const char*>(image) + written, bytes - written);
    if (part <= 0) break;
    written += static_cast<std::size_t>(part);
  }
  ::close(file);
  void* library = written == bytes ? ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  ::unlink(path.c_str());
  return library;
}

}  // namespace

// ---- what there is

EXPORT int cuDriverGetVersion(int* version) {
  const Call call("cuDriverGetVersion");
  *version = static_cast<int>(variable("ONNXKIT_CUDA_HOST_VERSION", 13000));
  return call.status();
}

EXPORT int cuInit(unsigned) { return Call("cuInit", no_device).status(); }

EXPORT int cuGetErrorName(int status, const char** text) {
  *text = status == out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == no_device       ? "CUDA_ERROR_NO_DEVICE"
          : status == invalid_image   ? "CUDA_ERROR_INVALID_IMAGE"
          : status == illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == launch_failed   ? "CUDA_ERROR_LAUNCH_FAILED"
          : status == invalid_value   ? "CUDA_ERROR_INVALID_VALUE"
                                      : "CUDA_ERROR_UNKNOWN";
  return success;
}

EXPORT int cuGetErrorString(int status, const char** text) {
  *text = status == illegal_address ? "an illegal memory access was encountered" : "the host stands for a GPU";
  return success;
}

EXPORT int cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount");
  *count = static_cast<int>(variable("ONNXKIT_CUDA_HOST_DEVICES", 1));
  return call.status();
}

EXPORT int cuDeviceGet(int* device, int number) {
  const Call call("cuDeviceGet");
  *device = number;
  return call.status();
}

EXPORT int cuDeviceGetName(char* name, int size, int) {
  const Call call("cuDeviceGetName");
  std::strncpy(name, "Host of the tests", static_cast<std::size_t>(size));
  return call.status();
}

EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  const Call call("cuDeviceGetAttribute");
  const int capability = static_cast<int>(variable("ONNXKIT_CUDA_HOST_CAPABILITY", 90));
  *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : 1;
  return call.status();
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  const Call call("cuDevicePrimaryCtxRetain", out_of_memory);
  if (call) return call.status();
  if (driver().retained++ == 0) driver().tracking.made(&driver().context, "context");
  *context = &driver().context;
  return success;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  const Call call("cuDevicePrimaryCtxRelease_v2");
  if (driver().retained == 0) return invalid_context;
  if (--driver().retained == 0) driver().tracking.gone(&driver().context, "context");
  return call.status();
}

EXPORT int cuCtxPushCurrent_v2(void* context) {
  const Call call("cuCtxPushCurrent_v2");
  if (call) return call.status();
  if (context != &driver().context || driver().retained == 0) return invalid_context;
  ++driver().depth;
  return success;
}

EXPORT int cuCtxPopCurrent_v2(void** context) {
  const Call call("cuCtxPopCurrent_v2");
  if (driver().depth == 0) return invalid_context;
  --driver().depth;
  if (context) *context = &driver().context;
  return call.status();
}

// ---- memory

/// A large block has pages of its own.
std::size_t pages_of(std::size_t bytes) {
  constexpr std::size_t page = std::size_t{2} << 20;
  return bytes < page / 2 ? bytes : (bytes + page - 1) / page * page;
}

EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const Call call("cuMemGetInfo_v2");
  *total = driver().told;
  *free = driver().told - std::min(driver().used, driver().told);
  return call.status();
}

EXPORT int cuMemAlloc_v2(unsigned long long* memory, std::size_t bytes) {
  const Call call("cuMemAlloc_v2", out_of_memory);
  if (call) return call.status();
  if (driver().depth == 0) return invalid_context;
  if (bytes == 0) return invalid_value;
  const std::size_t taken = pages_of(bytes);
  if (taken > driver().total - std::min(driver().used, driver().total)) return out_of_memory;
  void* made = nullptr;
  if (::posix_memalign(&made, first_address, bytes) != 0) return out_of_memory;
  // As on a GPU, nothing is zero until it is written.
  std::memset(made, 0xff, bytes);
  driver().used += taken;
  driver().memory[reinterpret_cast<std::uintptr_t>(made)] = bytes;
  driver().tracking.made(made, "device memory");
  *memory = reinterpret_cast<std::uintptr_t>(made);
  return success;
}

EXPORT int cuMemFree_v2(unsigned long long memory) {
  const Call call("cuMemFree_v2");
  flush_all();
  void* made = reinterpret_cast<void*>(memory);
  if (!driver().tracking.gone(made, "device memory")) return invalid_value;
  driver().used -= pages_of(driver().memory[memory]);
  driver().memory.erase(memory);
  std::free(made);
  return call.status();
}

EXPORT int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  const Call call("cuMemAllocHost_v2", out_of_memory);
  if (call) return call.status();
  if (::posix_memalign(memory, first_address, std::max<std::size_t>(bytes, 1)) != 0) return out_of_memory;
  driver().pinned[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
  driver().tracking.made(*memory, "pinned memory");
  return success;
}

EXPORT int cuMemFreeHost(void* memory) {
  const Call call("cuMemFreeHost");
  flush_all();
  if (!driver().tracking.gone(memory, "pinned memory")) return invalid_value;
  driver().pinned.erase(reinterpret_cast<std::uintptr_t>(memory));
  std::free(memory);
  return call.status();
}

EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  const Call call("cuMemcpyHtoD_v2");
  if (call) return call.status();
  if (!within(driver().memory, reinterpret_cast<void*>(to), bytes)) return invalid_value;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return success;
}

EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  const Call call("cuMemcpyHtoDAsync_v2");
  if (call) return call.status();
  return enqueue(stream, [=] {
    if (!within(driver().memory, reinterpret_cast<void*>(to), bytes) || !within(driver().pinned, from, bytes))
      return illegal_address;
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
    return success;
  });
}

EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  const Call call("cuMemcpyDtoHAsync_v2");
  if (call) return call.status();
  return enqueue(stream, [=] {
    if (!within(driver().memory, reinterpret_cast<void*>(from), bytes) || !within(driver().pinned, to, bytes))
      return illegal_address;
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    return success;
  });
}

// ---- streams and graphs

EXPORT int cuStreamCreate(void** stream, unsigned) {
  const Call call("cuStreamCreate");
  if (call) return call.status();
  auto* made = new Stream();
  driver().streams.push_back(made);
  driver().tracking.made(made, "stream");
  *stream = made;
  return success;
}

EXPORT int cuStreamDestroy_v2(void* stream) {
  const Call call("cuStreamDestroy_v2");
  if (!driver().tracking.gone(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  flush(*at);
  std::erase(driver().streams, at);
  delete at;
  return call.status();
}

EXPORT int cuStreamSynchronize(void* stream) {
  const Call call("cuStreamSynchronize");
  if (!stream) return call.status();  // the default stream: copies of constants, which are done at once
  if (!driver().tracking.has(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  if (at->capture) return capture_unsupported;
  // By default as late as may be, and streams apart: what waits for nothing but its own stream runs before what was given to others.
  if (variable("ONNXKIT_CUDA_HOST_EARLY", 0) != 0) flush_as_given(*at);
  flush(*at);
  return call ? call.status() : driver().sticky;
}

EXPORT int cuStreamBeginCapture_v2(void* stream, int) {
  const Call call("cuStreamBeginCapture_v2");
  if (call) return call.status();
  if (!driver().tracking.has(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  if (at->capture) return capture_unsupported;
  at->capture = std::make_shared<Graph>();
  at->is_origin = true;
  at->before.clear();
  return success;
}

EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  const Call call("cuStreamEndCapture");
  if (!driver().tracking.has(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  if (!at->capture || !at->is_origin) return capture_unsupported;
  const std::shared_ptr<Graph> made = std::move(at->capture);
  at->is_origin = false;
  const std::vector<bool> is_joined = reached_from(*made, at->before);
  for (Stream* other : driver().streams) {
    if (other->capture == made) other->capture = nullptr;
  }
  *graph = nullptr;
  if (call) return call.status();
  if (std::count(is_joined.begin(), is_joined.end(), false) != 0) return capture_unjoined;
  auto* kept = new Graph(*made);
  driver().tracking.made(kept, "graph");
  *graph = kept;
  return success;
}

EXPORT int cuEventCreate(void** event, unsigned) {
  const Call call("cuEventCreate");
  if (call) return call.status();
  auto* made = new Event();
  driver().tracking.made(made, "event");
  *event = made;
  return success;
}

EXPORT int cuEventDestroy_v2(void* event) {
  const Call call("cuEventDestroy_v2");
  flush_all();
  if (!driver().tracking.gone(event, "event")) return invalid_handle;
  delete static_cast<Event*>(event);
  return call.status();
}

/// In a capture it is an edge of the graph, or with the flag for that recorded each time the graph runs.
EXPORT int cuEventRecordWithFlags(void* event, void* stream, unsigned flags) {
  const Call call("cuEventRecordWithFlags");
  if (call) return call.status();
  if (!driver().tracking.has(event, "event") || !driver().tracking.has(stream, "stream")) return invalid_handle;
  if (auto* from = static_cast<Stream*>(stream); from->capture && flags != 1) {
    static_cast<Event*>(event)->capture = from->capture.get();
    static_cast<Event*>(event)->before = from->before;
    return success;
  }
  return enqueue(stream, [at = static_cast<Event*>(event)] {
    at->at = std::chrono::steady_clock::now();
    at->is_recorded = true;
    return success;
  });
}

/// Of captures alone, which the stream joins.
EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  const Call call("cuStreamWaitEvent");
  if (call) return call.status();
  if (!driver().tracking.has(event, "event") || !driver().tracking.has(stream, "stream")) return invalid_handle;
  auto* at = static_cast<Stream*>(stream);
  const auto& edge = *static_cast<Event*>(event);
  const auto origin = std::find_if(driver().streams.begin(), driver().streams.end(), [&](const Stream* other) {
    return edge.capture && other->capture.get() == edge.capture && other->is_origin;
  });
  if (flags != 0 || origin == driver().streams.end()) return capture_unsupported;
  if (!at->capture) {
    if (!at->waiting.empty()) return capture_unsupported;
    at->capture = (*origin)->capture;
    at->before.clear();
  }
  if (at->capture.get() != edge.capture) return capture_unsupported;
  at->before.insert(edge.before.begin(), edge.before.end());
  return success;
}

EXPORT int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const Call call("cuEventElapsedTime");
  if (call) return call.status();
  if (!driver().tracking.has(start, "event") || !driver().tracking.has(end, "event")) return invalid_handle;
  const auto &from = *static_cast<Event*>(start), &to = *static_cast<Event*>(end);
  constexpr int not_ready = 600;
  if (!from.is_recorded || !to.is_recorded) return invalid_handle;
  if (to.at < from.at) return not_ready;
  *milliseconds = std::chrono::duration<float, std::milli>(to.at - from.at).count();
  return success;
}

EXPORT int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  const Call call("cuGraphInstantiateWithFlags", out_of_memory);
  if (call) return call.status();
  if (!driver().tracking.has(graph, "graph")) return invalid_handle;
  auto* made = new Graph{.nodes = {}, .works = in_odd_order(*static_cast<Graph*>(graph))};
  driver().tracking.made(made, "executable graph");
  *exec = made;
  return success;
}

EXPORT int cuGraphLaunch(void* exec, void* stream) {
  const Call call("cuGraphLaunch");
  if (call) return call.status();
  if (!driver().tracking.has(exec, "executable graph")) return invalid_handle;
  for (const Work& work : static_cast<Graph*>(exec)->works)
    if (const int status = enqueue(stream, work); status != success) return status;
  return success;
}

EXPORT int cuGraphExecDestroy(void* exec) {
  const Call call("cuGraphExecDestroy");
  flush_all();
  if (!driver().tracking.gone(exec, "executable graph")) return invalid_handle;
  delete static_cast<Graph*>(exec);
  return call.status();
}

EXPORT int cuGraphDestroy(void* graph) {
  const Call call("cuGraphDestroy");
  if (!driver().tracking.gone(graph, "graph")) return invalid_handle;
  delete static_cast<Graph*>(graph);
  return call.status();
}

// ---- kernels

EXPORT int cuModuleLoadData(void** module, const void* image) {
  const Call call("cuModuleLoadData", invalid_image);
  if (call) return call.status();
  void* library = open_image(image);
  if (!library) return invalid_image;
  auto* made = new Module{library, {}};
  driver().tracking.made(made, "module");
  *module = made;
  return success;
}

EXPORT int cuModuleUnload(void* module) {
  const Call call("cuModuleUnload");
  flush_all();
  if (!driver().tracking.gone(module, "module")) return invalid_handle;
  auto* at = static_cast<Module*>(module);
  ::dlclose(at->library);
  delete at;
  return call.status();
}

EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  const Call call("cuModuleGetFunction", not_found);
  if (call) return call.status();
  if (!driver().tracking.has(module, "module")) return invalid_handle;
  auto* at = static_cast<Module*>(module);
  auto made = std::make_unique<Function>();
  made->call = reinterpret_cast<void (*)(void**)>(::dlsym(at->library, (std::string(name) + "_call").c_str()));
  const auto arity = reinterpret_cast<unsigned (*)()>(::dlsym(at->library, (std::string(name) + "_arity").c_str()));
  made->at = static_cast<HostThread**>(::dlsym(at->library, "onnxkit_host_thread"));
  const auto pointers =
      reinterpret_cast<unsigned (*)()>(::dlsym(at->library, (std::string(name) + "_pointers").c_str()));
  if (!made->call || !made->at || !arity || !pointers) return not_found;
  made->arity = arity();
  made->pointers = pointers();
  // The backend says it in the name (cuda/kernels.cpp); one that meets without that stops where it meets.
  made->synchronizes = std::strncmp(name, "block_", 6) == 0;
  at->functions.push_back(std::move(made));
  *function = at->functions.back().get();
  return success;
}

EXPORT int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** parameters,
                          void** extra) {
  const Call call("cuLaunchKernel");
  if (call) return call.status();
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1 ||
      shared != 0 || extra)
    return invalid_value;
  const auto* at = static_cast<const Function*>(function);
  std::vector<void*> values;
  for (unsigned i = 0; i < at->arity; ++i) values.push_back(*static_cast<void**>(parameters[i]));
  return enqueue(stream, [=] { return run_kernel(*at, grid_x, block_x, values); });
}

EXPORT int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  const Call call("cuLaunchHostFunc");
  if (call) return call.status();
  return enqueue(stream, [=] {
    function(data);
    return success;
  });
}
