// Every way in which a worker can go wrong gives the error that says so, and leaves neither processes nor descriptors behind.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>

#include "libonnxkit/workers/process.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/workers/fake.h"

namespace onnxkit::tests::workers_faults {

using namespace std::chrono_literals;
using workers::Worker;
using workers::WorkerLimits;

namespace {

/// How far a worker came: the first error, and the step that gave it.
struct Course {
  std::string step = "end";
  Diagnostic error = {};
  std::string log = {};
  std::vector<exec::RunSample> samples = {};
};

/// Starts, loads and runs once, and again after an error that should leave the worker alive.
Course course_of(const std::string& fault, const std::string& token, const WorkerLimits& limits) {
  auto worker = Worker::start(fake_worker(fault, token), limits);
  if (!worker) return {"start", worker.error().diagnostic};
  const auto model = (*worker)->load("some/model.onnx", "onnx", {});
  if (!model) return {"load", model.error().diagnostic, (*worker)->log()};
  const std::vector<NamedValue> inputs = {{"y", floats({1, 2, 3})}};
  const auto run = (*worker)->run({.model = model->id, .inputs = inputs});
  if (!run) {
    const auto again = (*worker)->unload(model->id);
    const std::string& code = run.error().diagnostic.code;
    const bool lives = code == "worker-failed" || code == "worker-invalid" || code == "worker-unsupported";
    CHECK(again.ok() == lives);
    if (!lives) CHECK(again.error().diagnostic.message == run.error().diagnostic.message);
    return {"run", run.error().diagnostic, (*worker)->log()};
  }
  CHECK(run->outputs.size() == 1);
  return {"end", {}, (*worker)->log(), run->samples};
}

/// As above, and nothing is left behind.
Course checked_course(const std::string& fault, const WorkerLimits& limits = patient()) {
  const std::string token = fresh_token();
  const auto descriptors = open_descriptors();
  const Course course = course_of(fault, token, limits);
  CHECK(all_gone(token));
  CHECK(open_descriptors() == descriptors);
  return course;
}

struct Expected {
  const char *fault, *step, *code, *message;  ///< message: a part of it
};

void check(std::initializer_list<Expected> cases, const WorkerLimits& limits = patient()) {
  for (const Expected& expected : cases) {
    CAPTURE(expected.fault);
    const Course course = checked_course(expected.fault, limits);
    CHECK(course.step == expected.step);
    CHECK(course.error.code == expected.code);
    CHECK_MESSAGE(course.error.message.find(expected.message) != std::string::npos, course.error.message);
  }
}

constexpr const char* protocol = "worker-protocol";

bool contains(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

}  // namespace

TEST_CASE("workers: a frame that is none") {
  check({{"wrong-id", "run", protocol, "an answer to request 99 instead of 3"},
         {"text-id", "run", protocol, "id: not an integer"},
         {"no-id", "run", protocol, "id: not an integer"},
         {"ok-text", "run", protocol, "\"ok\" must be true or false"},
         {"list", "run", protocol, "not a JSON object"},
         {"no-json@load", "load", protocol,
          "fake broke the worker protocol while loading \"model.onnx\": an answer that is not a JSON object"},
         {"garbage@hello", "start", protocol,
          "while starting: \"Loading model...\\nDone.\\n\" does not start a message of at most 67108864 bytes"},
         {"garbage", "run", protocol, "\"Loading model"},
         {"no-utf8", "run", protocol, "not a JSON object"},
         {"deep", "run", protocol, "not a JSON object"},
         {"empty", "run", protocol, "not a JSON object"},
         {"huge-length", "run", protocol, "does not start a message"},
         {"twice@load", "run", protocol, "an answer to request 2 instead of 3"}});
}

TEST_CASE("workers: answers that do not say what they should") {
  check({{"protocol-2@hello", "start", protocol, "uses version 2 of the protocol, not 1"},
         {"refuses-protocol@hello", "start", protocol, "uses version 2 of the protocol, not 1"},
         {"protocol-text@hello", "start", protocol, "protocol: not an integer"},
         {"devices-text@hello", "start", protocol, "\"devices\" must be a list"},
         {"options-list@hello", "start", protocol, "options: not an object"},
         {"options-many@hello", "start", protocol, "options: 100000 of them, 1000 are allowed"},
         {"opsets-many@hello", "start", protocol, "opsets: 100000 of them, 1000 are allowed"},
         {"ports-many@load", "load", protocol, "inputs: 300000 of them, 100000 are allowed"},
         {"ports-long@load", "load", protocol, "inputs[0]: \"name\" has 1000000 bytes, 65536 are allowed"},
         {"warnings-many@load", "end", "", ""},
         {"ports-object@load", "load", protocol, "\"inputs\" must be a list"},
         {"port-no-name@load", "load", protocol, "outputs[0]: \"name\" must be a string"},
         {"port-type-99@load", "load", protocol, "outputs[0]: \"type\" must be a number of TensorProto.DataType"},
         {"port-negative@load", "load", protocol, "inputs[0].shape: not an integer"},
         {"model-negative@load", "load", protocol, "model: not an integer"},
         {"seconds-negative@load", "load", protocol, "seconds: not a number of seconds"},
         {"error-no-message", "run", protocol, "error: \"message\" must be a string"},
         {"error-list", "run", protocol, "error: \"kind\" must be a string"},
         {"strange", "run", protocol, "an error of unknown kind \"strange\""},
         {"no-samples", "run", protocol, "samples: 0 of 1 runs"},
         {"sample-huge", "run", protocol, "samples: not a number of seconds"},
         {"sample-text", "run", protocol, "samples: not a number of seconds"},
         {"sample-nan", "run", protocol, "not a JSON object"},
         {"device-bytes-negative", "run", protocol, "device_bytes: not an integer"},
         {"no-cpu", "end", "", ""}});
}

TEST_CASE("workers: descriptors that are no segments") {
  check({{"unannounced", "run", protocol, "0 segments were announced, but 1 arrived"},
         {"announced", "run", protocol, "3 segments were announced, but 1 arrived"},
         {"too-many", "run", protocol, "more than 64 segments"},
         {"pipe", "run", protocol, "a descriptor that is not a memory file"},
         {"plain-file", "run", protocol, "a descriptor that is not a memory file"},
         {"hole", "run", protocol, "a segment of 1099511627776 bytes with only 0 written"},
         {"small", "run", protocol, "output \"y\": 8 bytes at 0 of a segment of 4 bytes"},
         {"no-segment", "run", protocol, "output \"y\": segment 0 of 0"}});
}

TEST_CASE("workers: a segment that shrinks after it was sent does no harm") {
  for (int i = 0; i < 5; ++i) {
    const Course course = checked_course("shrink");
    const bool late = course.step == "end";
    CHECK((late || course.error.code == protocol));
  }
}

TEST_CASE("workers: lies about values") {
  check({{"other-name", "run", protocol, "output \"z\": instead of \"y\""},
         {"too-few", "run", protocol, "0 outputs instead of 1"},
         {"one-more", "run", protocol, "2 outputs instead of 1"},
         {"text-output", "run", protocol, "outputs[0]: \"name\" must be a string"},
         {"kind", "run", protocol, "\"kind\" must be none"},
         {"type-0", "run", protocol, "a tensor without \"type\""},
         {"type-99", "run", protocol, "\"type\" must be a number"},
         {"type-text", "run", protocol, "\"type\" must be a number"},
         {"shape-other", "run", protocol, "float[1000] cannot have 12 bytes"},
         {"shape-negative", "run", protocol, "output \"y\".shape: not an integer"},
         {"shape-float", "run", protocol, "output \"y\".shape: not an integer"},
         {"shape-overflow", "run", protocol, "a shape with too many elements"},
         {"shape-2^64", "run", protocol, "output \"y\".shape: not an integer"},
         {"bytes-more", "run", protocol, "1048576 bytes at 0 of a segment of 64 bytes"},
         {"bytes-less", "run", protocol, "float[3] cannot have 4 bytes"},
         {"bytes-2^63", "run", protocol, "9223372036854775807 bytes at 0 of a segment"},
         {"offset-beyond", "run", protocol, "12 bytes at 1048576 of a segment"},
         {"offset-overflow", "run", protocol, "12 bytes at 9223372036854775744 of a segment"},
         {"offset-negative", "run", protocol, "output \"y\".offset: not an integer"},
         {"offset-odd", "run", protocol, "offset 4 is not a multiple of 64"},
         {"segment-1", "run", protocol, "segment 1 of 1"},
         {"segment-negative", "run", protocol, "output \"y\".segment: not an integer"},
         {"strings-good", "end", "", ""},
         {"strings-order", "run", protocol, "the bytes do not hold 2 strings"},
         {"strings-beyond", "run", protocol, "the bytes do not hold 2 strings"},
         {"strings-start", "run", protocol, "the bytes do not hold 2 strings"},
         {"strings-short", "run", protocol, "the bytes do not hold 2 strings"},
         {"strings-many", "run", protocol, "the bytes do not hold 9223372036854775807 strings"},
         {"item-none", "run", protocol, "an item of kind none"},
         {"optional-two", "run", protocol, "an optional with more than one item"},
         {"map-uneven", "run", protocol, "1 keys and float[2]"},
         {"map-real-keys", "run", protocol, "keys of type float"},
         {"map-no-values", "run", protocol, "output \"y\".values"}});
}

TEST_CASE("workers: errors that a worker reports") {
  check({{"unsupported@load", "load", "worker-unsupported",
          "fake, while loading \"model.onnx\": a fake error of kind unsupported"},
         {"invalid", "run", "worker-invalid", "fake, while running: a fake error of kind invalid"},
         {"failed", "run", "worker-failed", "a fake error of kind failed"},
         {"unsupported", "run", "worker-unsupported", "a fake error of kind unsupported"},
         {"memory", "run", "worker-memory", "a fake error of kind memory"},
         {"unavailable@hello", "start", "worker-unavailable", "a fake error of kind unavailable"},
         {"unavailable", "run", protocol, "unavailable after hello"}});
  CHECK(checked_course("failed").error.notes == std::vector<std::string>{"first line", "last line"});
  CHECK(checked_course("traced").error.notes ==
        std::vector<std::string>{"Traceback:", "  File \"runtime.py\"", "runtime.Error"});
  const Diagnostic flood = checked_course("error-long").error;
  CHECK(flood.code == "worker-failed");
  CHECK(flood.message.size() < 17'000);
  CHECK(flood.message.ends_with("... (7984000 more bytes)"));
  REQUIRE(flood.notes.size() == 1);
  CHECK(flood.notes[0].size() < 1'100);
}

TEST_CASE("workers: the end of the process") {
  check({{"exit-3@hello", "start", "worker-start", "fake ended while starting: exit code 3"},
         {"exit-0@hello", "start", "worker-start", "fake ended while starting: exit code 0"},
         {"kill@hello", "start", "worker-start", "fake ended while starting: killed by SIGKILL"},
         {"raise@load", "load", "worker-crashed", "fake ended while loading \"model.onnx\": exit code 1"},
         {"exit-3@load", "load", "worker-crashed", "exit code 3"},
         {"segv@load", "load", "worker-crashed", "killed by SIGSEGV"},
         {"segv", "run", "worker-crashed", "fake ended while running: killed by SIGSEGV"},
         {"abort", "run", "worker-crashed", "killed by SIGABRT"},
         {"kill", "run", "worker-crashed", "killed by SIGKILL"},
         {"cut-then-exit", "run", "worker-crashed", "exit code 0"},
         {"cut-then-kill", "run", "worker-crashed", "killed by SIGKILL"},
         {"grandchild-exit", "run", "worker-crashed", "exit code 4"},
         {"grandchild-exit@hello", "start", "worker-start", "exit code 4"},
         {"grandchild-lives", "end", "", ""},
         {"exit-3@quit", "end", "", ""},
         {"segv@quit", "end", "", ""}});
  CHECK(contains(checked_course("exit-3").error.notes, "no more paper"));
  CHECK(contains(checked_course("raise").error.notes, "ZeroDivisionError: integer division or modulo by zero"));
  CHECK(checked_course("kill").error.help.find("memory") != std::string::npos);
  const auto absent = Worker::start({"absent", {"/no/such/program"}}, patient());
  REQUIRE(!absent);
  CHECK(absent.error().diagnostic.code == "worker-start");
  CHECK(absent.error().diagnostic.message ==
        "absent did not start: cannot run \"/no/such/program\": No such file or directory");
}

TEST_CASE("workers: the end of a process whose exit code the system does not keep") {
  const auto usual = ::signal(SIGCHLD, SIG_IGN);
  const Diagnostic ended = checked_course("exit-3").error;
  ::signal(SIGCHLD, usual);
  CHECK(ended.code == "worker-crashed");
  CHECK(ended.message == "fake ended while running: the system does not tell its exit code");
}

TEST_CASE("workers: steps that take too long") {
  WorkerLimits limits = patient();
  limits.run = 300ms;
  check({{"stall", "run", "worker-timeout", "fake did not answer within 300 ms while running"},
         {"cut-then-stall", "run", "worker-timeout", "within 300 ms"},
         {"trickle", "run", "worker-timeout", "within 300 ms"},
         {"grandchild-stall", "run", "worker-timeout", "within 300 ms"},
         {"ignore-term", "run", "worker-timeout", "within 300 ms"}},
        limits);
  limits = patient();
  limits.load = 300ms;
  check({{"stall@load", "load", "worker-timeout", "within 300 ms while loading \"model.onnx\""}}, limits);
  limits.start = 1500ms;
  check({{"stall@hello", "start", "worker-timeout", "within 1.5 s while starting"}}, limits);
  const auto begin = std::chrono::steady_clock::now();
  check({{"stall@quit", "end", "", ""}});
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("workers: what they print is kept, and never stands in the way") {
  for (const char* fault : {"flood-out", "flood-err"}) {
    const Course course = checked_course(fault);
    CHECK(course.step == "end");
    CHECK(course.log.size() < 100'000);
    CHECK(course.log.ends_with("xxxxx\nthe last line"));
  }
  CHECK(checked_course("prints").log == "to stdout\nprogress 100 %");
}

TEST_CASE("workers: memory of the process group is bounded") {
  WorkerLimits limits = patient();
  limits.memory = std::uint64_t{200} << 20;
  check({{"eat", "run", "worker-memory", "of memory while running, more than the limit of 200.0 MiB"},
         {"eat-in-child", "run", "worker-memory", "of memory while running, more than the limit of 200.0 MiB"},
         {"none", "end", "", ""}},
        limits);
}

TEST_CASE("workers: a socket that is closed by a process that lives on") {
  check({{"close", "run", protocol, "it closed its socket"}});
}

TEST_CASE("workers: a stop token ends the wait") {
  std::stop_source stop;
  WorkerLimits limits = patient();
  limits.stop = stop.get_token();
  const std::string token = fresh_token();
  auto worker = Worker::start(fake_worker("stall@load", token), limits);
  REQUIRE(worker);
  const std::jthread later([&] {
    std::this_thread::sleep_for(50ms);
    stop.request_stop();
  });
  const auto model = (*worker)->load("model.onnx", "onnx", {});
  REQUIRE(!model);
  CHECK(model.error().diagnostic.code == "cancelled");
  CHECK(all_gone(token));
}

TEST_CASE("workers: none outlives a host that is killed") {
  const std::string token = fresh_token();
  const pid_t host = ::fork();
  if (host == 0) {
    auto worker = Worker::start(fake_worker("grandchild-stall@load", token), patient());
    const std::jthread end([&] {
      while (processes_with(token).size() < 2) std::this_thread::sleep_for(10ms);
      ::kill(::getpid(), SIGKILL);
    });
    if (worker) (void)(*worker)->load("model.onnx", "onnx", {});
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(host, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(all_gone(token));
}

TEST_CASE("workers: nothing of the host gets into a worker but its socket") {
  const Descriptor open_for_all(::open("/dev/null", O_RDONLY));
  sigset_t interrupt, before;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  CHECK(checked_course("surroundings@load").log == "[0, 1, 2, 3, 4] set() b'' True");
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("workers: many at once") {
  const std::string token = fresh_token();
  const auto descriptors = open_descriptors();
  std::array<bool, 6> loaded = {};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      threads.emplace_back([&, i] {
        auto worker = Worker::start(fake_worker(i % 2 == 0 ? "none" : "grandchild-lives@load", token), patient());
        loaded[i] = worker.ok() && (*worker)->load("model.onnx", "onnx", {}).ok();
      });
    }
  }
  CHECK(std::ranges::count(loaded, true) == 6);
  CHECK(all_gone(token));
  CHECK(open_descriptors() == descriptors);
}

TEST_CASE("workers: a process that ended before it is asked again") {
  const std::string token = fresh_token();
  auto worker = Worker::start(fake_worker("none", token), patient());
  REQUIRE(worker);
  const auto model = (*worker)->load("model.onnx", "onnx", {});
  REQUIRE(model);
  for (const std::string& process : processes_with(token)) ::kill(std::stoi(process), SIGKILL);
  const std::vector<NamedValue> inputs = {{"y", floats(std::vector<float>(1000))}};
  const auto run = (*worker)->run({.model = model->id, .inputs = inputs});
  REQUIRE(!run);
  CHECK(run.error().diagnostic.code == "worker-crashed");
  CHECK(run.error().diagnostic.message == "fake ended while running: killed by SIGKILL");
}

}  // namespace onnxkit::tests::workers_faults
