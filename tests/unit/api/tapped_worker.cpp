// What a worker gets to see of a model that was changed in memory.
#include <doctest/doctest.h>

#include "onnxkit/opset.h"
#include "onnxkit/run.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::api_tapped_worker {
namespace {

/// A worker that loads nothing, and says which operator the file holds.
constexpr const char* teller = R"(
import json, os, socket, struct
channel = socket.socket(fileno=int(os.environ["ONNXKIT_WORKER_FD"]))
while True:
    head = channel.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        break
    request = json.loads(channel.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL))
    answer = {"id": request["id"], "ok": True}
    if request["op"] == "hello":
        answer |= {"protocol": 1, "runtime": "teller", "version": "1", "devices": ["cpu"], "formats": ["onnx"], "options": {}, "opsets": {}}
    if request["op"] == "load":
        operator = "Upsample" if b"Upsample" in open(request["path"], "rb").read() else "Resize"
        answer |= {"ok": False, "error": {"kind": "failed", "message": "the file has " + operator, "trace": ""}}
    body = json.dumps(answer).encode()
    channel.sendall(struct.pack("<I", len(body)) + body)
)";

std::string told(const Model& model, const TempFolder& folder, std::vector<std::string> taps) {
  const auto context = Context::make({.workers = {.folders = {folder / "workers"}}});
  REQUIRE(context);
  RunOptions options;
  options.context = *context;
  options.backend = "teller";
  options.taps = std::move(taps);
  const auto report = run(model, {}, options);
  REQUIRE_FALSE(report);
  return report.error().diagnostic.message;
}

}  // namespace

TEST_CASE("a worker runs the model as it is in memory, with taps and without") {
  const TempFolder folder;
  put_file(folder / "workers/teller.py", teller);
  put_file(folder / "model.onnxtxt",
           "<ir_version: 4, opset_import: [\"\" : 9]>\n"
           "main (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <float[4] s = {1, 1, 2, 2}>\n"
           "{ p = Relu (x) y = Upsample (p, s) }");
  auto model = read_model(folder / "model.onnxtxt");
  REQUIRE_MESSAGE(model, (model ? "" : model.error().diagnostic.message));
  CHECK(told(*model, folder, {}).find("Upsample") != std::string::npos);
  CHECK(told(*model, folder, {"p"}).find("Upsample") != std::string::npos);
  const auto report = change_opset(*model, {.opsets = {{"", 11}}});
  REQUIRE(report);
  REQUIRE(report->succeeded());
  CHECK(told(*model, folder, {}).find("Resize") != std::string::npos);
  CHECK(told(*model, folder, {"p"}).find("Resize") != std::string::npos);
}

}  // namespace onnxkit::tests::api_tapped_worker
