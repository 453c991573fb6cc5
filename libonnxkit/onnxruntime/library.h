#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "libonnxkit/exec/registry.h"
#include "onnxkit/result.h"

// ONNX Runtime's shared library, by its C interface: one function that gives a table of functions. The places of functions in the table never
// change; those that are used are named here, so that nothing is needed to compile.
namespace onnxkit::onnxruntime {

struct Status;  // the library's own objects
struct Env;
struct RuntimeSession;
struct SessionOptions;
struct RunOptions;
struct MemoryInfo;
struct Allocator;
struct RuntimeValue;
struct TypeInfo;
struct TensorInfo;
struct Binding;
struct CudaOptions;

/// A place in the table, with the type of the function there.
template <class Function>
struct Slot {
  std::size_t place;
};

namespace slots {

using Counter = Status*(const RuntimeSession*, std::size_t* count);
using Namer = Status*(const RuntimeSession*, std::size_t index, Allocator*, char** name);
using Typer = Status*(const RuntimeSession*, std::size_t index, TypeInfo** type);

inline constexpr Slot<int(const Status*)> get_error_code{1};
inline constexpr Slot<const char*(const Status*)> get_error_message{2};
inline constexpr Slot<Status*(int level, const char* name, Env**)> create_env{3};
inline constexpr Slot<Status*(const Env*, const char* path, const SessionOptions*, RuntimeSession**)> create_session{7};
inline constexpr Slot<Status*(SessionOptions**)> create_session_options{10};
inline constexpr Slot<Status*(SessionOptions*, int level)> set_log_severity{22};
inline constexpr Slot<Status*(SessionOptions*, int level)> set_optimization{23};
inline constexpr Slot<Status*(SessionOptions*, int threads)> set_threads{24};
inline constexpr Slot<Counter> input_count{30}, output_count{31};
inline constexpr Slot<Typer> input_type{33}, output_type{34};
inline constexpr Slot<Namer> input_name{36}, output_name{37};
inline constexpr Slot<Status*(RunOptions**)> create_run_options{39};
inline constexpr Slot<Status*(RunOptions*)> set_terminate{46};
inline constexpr Slot<Status*(const MemoryInfo*, void* data, std::size_t bytes, const std::int64_t* shape,
                              std::size_t rank, int type, RuntimeValue**)>
    create_tensor{49};
inline constexpr Slot<Status*(const RuntimeValue*, int* is_tensor)> is_tensor{50};
inline constexpr Slot<Status*(RuntimeValue*, void** data)> tensor_data{51};
inline constexpr Slot<Status*(const TypeInfo*, const TensorInfo**)> as_tensor_info{55};
inline constexpr Slot<Status*(const TensorInfo*, int* type)> element_type{60};
inline constexpr Slot<Status*(const TensorInfo*, std::size_t* rank)> rank{61};
inline constexpr Slot<Status*(const TensorInfo*, std::int64_t* dims, std::size_t rank)> dims{62};
inline constexpr Slot<Status*(const RuntimeValue*, TensorInfo**)> tensor_info{65};
inline constexpr Slot<Status*(const char* name, int allocator, int device, int memory, MemoryInfo**)>
    create_device_memory_info{68};
inline constexpr Slot<Status*(int allocator, int memory, MemoryInfo**)> create_memory_info{69};
inline constexpr Slot<Status*(Allocator*, void*)> allocator_free{76};
inline constexpr Slot<Status*(Allocator**)> default_allocator{78};
inline constexpr Slot<void(Env*)> release_env{92};
inline constexpr Slot<void(Status*)> release_status{93};
inline constexpr Slot<void(MemoryInfo*)> release_memory_info{94};
inline constexpr Slot<void(RuntimeSession*)> release_session{95};
inline constexpr Slot<void(RuntimeValue*)> release_value{96};
inline constexpr Slot<void(RunOptions*)> release_run_options{97};
inline constexpr Slot<void(TypeInfo*)> release_type_info{98};
inline constexpr Slot<void(TensorInfo*)> release_tensor_info{99};
inline constexpr Slot<void(SessionOptions*)> release_session_options{100};
inline constexpr Slot<Status*(char*** names, int* count)> available_providers{125};
inline constexpr Slot<Status*(char** names, int count)> release_providers{126};
inline constexpr Slot<Status*(RuntimeSession*, const RunOptions*, const Binding*)> run_with_binding{133};
inline constexpr Slot<Status*(RuntimeSession*, Binding**)> create_binding{134};
inline constexpr Slot<void(Binding*)> release_binding{135};
inline constexpr Slot<Status*(Binding*, const char* name, const RuntimeValue*)> bind_input{136};
inline constexpr Slot<Status*(Binding*, const char* name, const RuntimeValue*)> bind_output_value{137};
inline constexpr Slot<Status*(Binding*, const char* name, const MemoryInfo*)> bind_output{138};
inline constexpr Slot<Status*(const Binding*, Allocator*, RuntimeValue*** values, std::size_t* count)> bound_values{
    140};
inline constexpr Slot<void(Binding*)> clear_outputs{142};
inline constexpr Slot<Status*(RunOptions*, const char* key, const char* value)> add_run_setting{165};
inline constexpr Slot<Status*(SessionOptions*, const CudaOptions*)> append_cuda{204};
inline constexpr Slot<Status*(CudaOptions**)> create_cuda_options{205};
inline constexpr Slot<Status*(CudaOptions*, const char* const* keys, const char* const* values, std::size_t count)>
    set_cuda_options{206};
inline constexpr Slot<void(CudaOptions*)> release_cuda_options{208};

}  // namespace slots

/// The library while it is in use. It stays in memory afterwards: its threads may outlive its last session.
class Library {
 public:
  /// Named by ONNXKIT_ONNXRUNTIME, else of the Python package that the interpreter finds, else the loader's. Error worker-unavailable.
  static Result<std::shared_ptr<const Library>> open(const exec::BackendSettings& settings);

  const std::string& version() const { return version_; }
  /// The file, or the name by which the loader found it.
  const std::string& path() const { return path_; }
  /// Whether it was built with the execution provider: "CUDAExecutionProvider".
  bool has_provider(std::string_view name) const;

  template <class Function>
  Function* at(Slot<Function> slot) const {
    return reinterpret_cast<Function*>(table_[slot.place]);
  }

  /// Calls a function that answers with a status. Errors: worker-unsupported, worker-invalid, worker-failed, with the library's words.
  template <class... Parameters, class... Arguments>
  Result<void> call(Slot<Status*(Parameters...)> slot, Arguments... arguments) const {
    return checked(at(slot)(arguments...));
  }

  /// An object that a function makes behind its other arguments, and that another gives back.
  template <class Object, class... Parameters, class... Arguments>
  Result<std::shared_ptr<Object>> make(Slot<Status*(Parameters...)> slot, Slot<void(Object*)> release,
                                       Arguments... arguments) const {
    Object* made = nullptr;
    if (auto done = checked(at(slot)(arguments..., &made)); !done) return done.error();
    return std::shared_ptr<Object>(made, at(release));
  }

 private:
  using AnyFunction = void (*)();

  Result<void> checked(Status* status) const;

  const AnyFunction* table_ = nullptr;
  std::string version_, path_;
};

}  // namespace onnxkit::onnxruntime
