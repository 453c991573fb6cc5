#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/result.h"
#include "tests/official/data_set.h"

namespace onnxkit::opset_matrix {

/// A model with recorded runs.
struct Subject {
  std::string name;
  std::function<Result<ir::Model>()> read;  ///< a fresh copy each time
  std::vector<official::DataSet> sets;
  std::function<comparison::Tolerance(const Value& recorded)> tolerance;
  bool is_random = false;  ///< judged by official::judge_random_case
};

enum class Outcome : std::uint8_t {
  equal,    ///< the converted model gives the recorded outputs, and check finds no error in it
  refused,  ///< onnxkit said no
  wrong,    ///< other outputs, or none
  invalid,  ///< check finds an error that the model did not have, or inputs or outputs have other names
};

/// How a pair would fare without any rewriting.
struct Nature {
  bool fits = true;             ///< inputs, attributes and types of every node are those of the target's versions
  bool operators_exist = true;  ///< every operator is one of the target's
};

struct PairResult {
  Outcome outcome = Outcome::equal;
  std::string reason;                 ///< of anything but equal
  std::vector<std::string> blockers;  ///< of refused: "Op from -> to: reason", one for each node
  Nature nature;
  /// Of an equal pair that was asked for the way back: what became of that.
  std::optional<Outcome> back;
  std::string back_reason;
};

struct JudgeOptions {
  bool round_trip = false;                     ///< convert an equal result back and judge that, too
  std::function<void(const ir::Model&)> keep;  ///< gets the converted model when it is equal
};

/// The version that the model imports; 0 when it imports none.
std::int64_t imported(const ir::Model& model, std::string_view domain);

/// Converts one copy of the subject, checks and runs it.
PairResult judge(const Subject& subject, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                 const JudgeOptions& options = {});

/// Judges a model that somebody else made of the subject: wrong, then invalid, else equal.
PairResult judge_given(Subject subject, std::string_view domain, std::int64_t target, const spec::OpTable& table,
                       Result<ir::Model> converted);

}  // namespace onnxkit::opset_matrix
