#include "libonnxkit/diff/ports.h"
#include "libonnxkit/diff/side.h"

namespace onnxkit::diffing {
namespace {

class RecordedSide : public Side {
 public:
  explicit RecordedSide(const DiffSide& side) : answers_(side.answers) {}

  Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) override {
    if (index >= answers_.size() || answers_[index].empty())
      return make_error("no-answer", "no outputs are recorded for the inputs " + quote(set.name));
    auto outputs = matched_outputs(answers_[index], wanted, {});
    if (!outputs) return outputs.error();
    SideRun run;
    run.take(*std::move(outputs));
    return run;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& answer : answers_) {
      for (const NamedValue& output : answer) names.push_back(output.name);
    }
    return names;
  }

 private:
  const std::vector<std::vector<NamedValue>>& answers_;
};

}  // namespace

Result<std::unique_ptr<Side>> open_recorded(const DiffSide& side) {
  return std::unique_ptr<Side>(new RecordedSide(side));
}

}  // namespace onnxkit::diffing
