#include "libonnxkit/running/session.h"

#include <utility>

namespace onnxkit {

struct Session::State {
  running::LoadedModel loaded;
};

ModelPorts ports_of(const Model& model) { return running::ports_of(model); }

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(const Model& model, const SessionOptions& options) {
  auto loaded = running::LoadedModel::load(model, options);
  if (!loaded) return loaded.error();
  return Session(std::make_unique<State>(State{*std::move(loaded)}));
}

const std::vector<SessionPort>& Session::inputs() const { return state_->loaded.inputs(); }

const std::vector<SessionPort>& Session::outputs() const { return state_->loaded.outputs(); }

const std::vector<std::string>& Session::warnings() const { return state_->loaded.warnings(); }

Result<std::vector<NamedValue>> Session::run(const std::vector<NamedValue>& inputs, const SessionRun& options) {
  return state_->loaded.run(inputs, options);
}

}  // namespace onnxkit
