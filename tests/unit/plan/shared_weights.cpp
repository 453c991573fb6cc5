// Weights of external files lie at one place for all plans of a session, so that backends prepare them once.
#include <doctest/doctest.h>

#include <vector>

#include "libonnxkit/exec/registry.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/wire/text.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::reference {
void register_reference_backend(exec::BackendRegistry& registry);
}

namespace onnxkit::tests::shared_weights {
namespace {

/// With `w` in the file weights.bin.
ir::Model with_external_weights(std::string_view text, const std::filesystem::path& path) {
  auto model = wire::parse_text(text, "test");
  REQUIRE(model.ok());
  model->path = path;
  ir::Tensor weights;
  weights.name = model->keep("w");
  weights.dims = {4, 4};
  weights.data_type = static_cast<std::int32_t>(ElementType::float32);
  weights.data_location = ir::Tensor::location_external;
  weights.external_data.push_back(
      {.key = model->keep("location"), .value = model->keep("weights.bin"), .unknown_fields = {}});
  model->graph->initializers.push_back(std::move(weights));
  return *std::move(model);
}

TEST_CASE("plans of one session find weights of external files at one place") {
  const TempFolder folder;
  put_file(folder / "weights.bin", std::string(64, '\0'));
  constexpr std::string_view text = R"(<ir_version: 10, opset_import: ["" : 21]>
    main (float[N, 4] x) => (float[N, 4] y) { y = MatMul (x, w) })";
  std::vector<plan::Plan> plans;
  plan::PlannedOptions options;
  options.load.context = std::make_shared<exec::SessionContext>();
  options.load.table = std::make_shared<spec::OpTable>();
  exec::BackendRegistry backends;
  reference::register_reference_backend(backends);
  options.host = backends.find("reference", {})->make({});
  options.make = [&](plan::Plan plan, plan::HostNodes&,
                     const plan::PlannedRun&) -> Result<std::unique_ptr<plan::Executable>> {
    plans.push_back(std::move(plan));
    return make_error("not-supported", "nothing runs here");
  };
  plan::PlannedSession session(std::make_shared<const ir::Model>(with_external_weights(text, folder / "m.onnx")),
                               options);
  REQUIRE(session.prepare("float32"));
  for (const std::int64_t rows : {1, 2, 3}) {
    exec::RunRequest request;
    request.inputs = {{"x", *Tensor::from_bytes(ElementType::float32, {rows, 4},
                                                std::vector<std::byte>(static_cast<std::size_t>(16 * rows)))}};
    CHECK_FALSE(session.run(request).ok());
  }
  REQUIRE(plans.size() == 3);
  for (const plan::Plan& plan : plans) {
    REQUIRE(plan.constants.size() == 1);
    CHECK(plan.constants[0].bytes().data() == plans[0].constants[0].bytes().data());
  }
}

}  // namespace
}  // namespace onnxkit::tests::shared_weights
