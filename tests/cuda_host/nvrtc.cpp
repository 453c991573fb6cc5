// NVRTC's interface over the compiler that built this: a program becomes a shared object that kernel.h makes runnable on the host.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/cuda_host/tracking.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace fs = std::filesystem;
using onnxkit::cuda_host::Tracking;

constexpr int success = 0, out_of_memory = 1, invalid_input = 3, invalid_program = 4, compilation = 6;

struct Program {
  std::string text, log, code;
};

Tracking& tracking() {
  static Tracking all("libnvrtc");
  return all;
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::vector<std::string>& flags() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> words = {"-x",
                                      "c++",
                                      "-std=c++17",
                                      "-O1",
                                      "-shared",
                                      "-fPIC",
                                      "-w",
                                      "-fno-strict-aliasing",
                                      "-ffp-contract=off",
                                      "-fno-exceptions",
                                      "-fvisibility=hidden",
                                      "-DONNXKIT_CUDA_HOST",
                                      "-include",
                                      ONNXKIT_CUDA_HOST_FOLDER "/kernel.h"};
#ifdef ONNXKIT_CUDA_HOST_SANITIZED
    words.insert(words.end(), {"-fsanitize=address", "-g1"});
#endif
    return words;
  }();
  return all;
}

/// The kernels of a program, after each __global__ the word before its parameters.
std::vector<std::string> kernels_of(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find("__global__"); at != std::string::npos; at = text.find("__global__", at + 1)) {
    std::size_t open = text.find('(', at);
    if (const std::size_t bounds = text.find("__launch_bounds__", at); bounds != std::string::npos && bounds < open)
      open = text.find('(', text.find(')', open));
    if (open == std::string::npos) break;
    std::size_t end = open;
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\n')) --end;
    std::size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
      --begin;
    names.push_back(text.substr(begin, end - begin));
  }
  return names;
}

bool run_compiler(const fs::path& folder, std::string& log) {
  std::vector<std::string> words = {ONNXKIT_CUDA_HOST_CXX};
  words.insert(words.end(), flags().begin(), flags().end());
  words.insert(words.end(), {"-o", (folder / "kernels.so").string(), (folder / "kernels.cu").string()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log_file = (folder / "log").string();
  posix_spawn_file_actions_addopen(&actions, 2, log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return false;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  log = content(log_file);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int compile(Program& program) {
  std::string pattern = (fs::temp_directory_path() / "onnxkit_cuda_host_XXXXXX").string();
  if (!::mkdtemp(pattern.data())) return out_of_memory;
  const fs::path folder = pattern;
  {
    std::ofstream out(folder / "kernels.cu", std::ios::binary);
    out << program.text << "\n";
    for (const std::string& name : kernels_of(program.text)) out << "ONNXKIT_HOST_KERNEL(" << name << ")\n";
  }
  const bool compiles = run_compiler(folder, program.log);
  if (compiles) program.code = content(folder / "kernels.so");
  std::error_code status;
  fs::remove_all(folder, status);
  return compiles ? success : compilation;
}

Program* known(void* handle) { return tracking().has(handle, "program") ? static_cast<Program*>(handle) : nullptr; }

}  // namespace

EXPORT int nvrtcVersion(int* major, int* minor) {
  const std::lock_guard lock(tracking().mutex);
  if (tracking().call("nvrtcVersion")) return invalid_input;
  // Stands for all that the code depends on, so that the cache on disk tells codes apart.
  std::string all = ONNXKIT_CUDA_HOST_CXX + content(ONNXKIT_CUDA_HOST_FOLDER "/kernel.h") +
                    content(ONNXKIT_CUDA_HOST_FOLDER "/thread.h");
  for (const std::string& flag : flags()) all += flag;
  *major = 0;
  *minor = static_cast<int>(std::hash<std::string>()(all) & 0x7fffffff);
  return success;
}

EXPORT const char* nvrtcGetErrorString(int status) {
  return status == compilation ? "NVRTC_ERROR_COMPILATION"
         : status == success   ? "NVRTC_SUCCESS"
                               : "NVRTC_ERROR_INVALID_INPUT";
}

EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  const std::lock_guard lock(tracking().mutex);
  if (tracking().call("nvrtcGetNumSupportedArchs")) return invalid_input;
  *count = 3;
  return success;
}

EXPORT int nvrtcGetSupportedArchs(int* archs) {
  const std::lock_guard lock(tracking().mutex);
  if (tracking().call("nvrtcGetSupportedArchs")) return invalid_input;
  archs[0] = 80;
  archs[1] = 90;
  archs[2] = 100;
  return success;
}

EXPORT int nvrtcCreateProgram(void** program, const char* text, const char*, int headers, const char* const*,
                              const char* const*) {
  const std::lock_guard lock(tracking().mutex);
  if (tracking().call("nvrtcCreateProgram") || headers != 0) return invalid_input;
  auto* made = new Program{text, "", ""};
  tracking().made(made, "program");
  *program = made;
  return success;
}

EXPORT int nvrtcDestroyProgram(void** program) {
  const std::lock_guard lock(tracking().mutex);
  const bool fails = tracking().call("nvrtcDestroyProgram");
  if (!tracking().gone(*program, "program")) return invalid_program;
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return fails ? invalid_input : success;
}

EXPORT int nvrtcCompileProgram(void* program, int, const char* const*) {
  const std::lock_guard lock(tracking().mutex);
  Program* at = known(program);
  if (!at) return invalid_program;
  if (tracking().call("nvrtcCompileProgram")) {
    at->log = "kernels.cu(1): error: the test wants this to fail";
    return compilation;
  }
  return compile(*at);
}

namespace {

int size_of(void* program, const char* name, std::string Program::*part, std::size_t extra, std::size_t* bytes) {
  const std::lock_guard lock(tracking().mutex);
  const Program* at = known(program);
  if (!at || tracking().call(name)) return invalid_program;
  *bytes = (at->*part).size() + extra;
  return success;
}

int give(void* program, const char* name, std::string Program::*part, std::size_t extra, char* to) {
  const std::lock_guard lock(tracking().mutex);
  const Program* at = known(program);
  if (!at || tracking().call(name)) return invalid_program;
  std::memcpy(to, (at->*part).c_str(), (at->*part).size() + extra);
  return success;
}

}  // namespace

EXPORT int nvrtcGetProgramLogSize(void* program, std::size_t* bytes) {
  return size_of(program, "nvrtcGetProgramLogSize", &Program::log, 1, bytes);
}
EXPORT int nvrtcGetProgramLog(void* program, char* log) {
  return give(program, "nvrtcGetProgramLog", &Program::log, 1, log);
}
EXPORT int nvrtcGetCUBINSize(void* program, std::size_t* bytes) {
  return size_of(program, "nvrtcGetCUBINSize", &Program::code, 0, bytes);
}
EXPORT int nvrtcGetCUBIN(void* program, char* code) { return give(program, "nvrtcGetCUBIN", &Program::code, 0, code); }
EXPORT int nvrtcGetPTXSize(void* program, std::size_t* bytes) {
  return size_of(program, "nvrtcGetPTXSize", &Program::code, 0, bytes);
}
EXPORT int nvrtcGetPTX(void* program, char* code) { return give(program, "nvrtcGetPTX", &Program::code, 0, code); }
