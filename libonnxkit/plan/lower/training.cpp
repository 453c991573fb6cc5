// ai.onnx.preview.training: optimizers, element by element, in float64 as they are stated.
#include <functional>
#include <map>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

constexpr std::size_t first_tensor = 2;  // behind learning rate and update count

/// What is written for each element, of operands that are read where they are asked for.
class Update {
 public:
  enum Operand : std::size_t { rate, share, x, gradient, first, second };  ///< `share`: a number for all elements

  Number operator[](Operand operand) {
    const auto known = read_.find(operand);
    if (known != read_.end()) return known->second;
    const View& view = operands_.at(operand);
    views_.push_back(view);
    const Number number = e_.convert(e_.input(views_.size() - 1, lane_of(view.type)), Lane::f64);
    return read_.emplace(operand, number).first->second;
  }
  void set(Operand operand, const View& view) { operands_.insert_or_assign(operand, view); }

  Number number(double value) { return e_.constant(Lane::f64, value); }
  Number apply(Operation operation, Number a, Number b = 0) { return e_.apply(operation, a, b); }
  Number times(Number a, double factor) { return apply(Operation::multiply, a, number(factor)); }
  Number sum(Number a, Number b) { return apply(Operation::add, a, b); }
  /// With that of norm / 2 * x^2.
  Number whole_gradient(double norm) { return sum(times((*this)[x], norm), (*this)[gradient]); }
  /// x less the rate times a step.
  Number moved(Number step) {
    return apply(Operation::subtract, (*this)[x], apply(Operation::multiply, (*this)[rate], step));
  }
  /// step / (sqrt(squares) + epsilon).
  Number over_root(Number step, Number squares, double epsilon) {
    return apply(Operation::divide, step, sum(apply(Operation::square_root, squares), number(epsilon)));
  }

  /// What was written last becomes the output; operands stay.
  void emit(LowerCall& call, const View& to) {
    e_.convert(e_.last(), lane_of(to.type));
    call.emit_map(e_, std::move(views_), to);
    e_ = {};
    views_.clear();
    read_.clear();
  }

 private:
  std::map<Operand, View> operands_;
  std::map<Operand, Number> read_;
  std::vector<View> views_;
  Expression e_;
};

/// Writes the new numbers of a group: 0 are those of x, the others are what is kept.
using WriteGroup = std::function<void(Update& update, std::size_t group)>;

/// New tensors, group after group. `update` holds what all have in common.
Unlowered write_tensors(LowerCall& call, std::size_t kept, Update update, const WriteGroup& write) {
  const std::size_t given = call.input_count() - first_tensor, groups = kept + 2, tensors = given / groups;
  if (given == 0 || given % groups != 0) return "operands of other forms";
  for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
    const std::size_t x = first_tensor + tensor;
    for (std::size_t group = 0; group < groups; ++group) {
      const std::size_t at = x + group * tensors;
      if (!call.has_input(at) || call.input_dims(at) != call.input_dims(x)) return "operands of other forms";
      update.set(static_cast<Update::Operand>(Update::x + group), call.input(at));
    }
    for (std::size_t group = 0; group <= kept; ++group) {
      const std::size_t output = group * tensors + tensor;
      if (!call.has_output(output)) continue;
      write(update, group);
      update.emit(call, call.make_output_like(output, call.input(x)));
    }
  }
  return std::nullopt;
}

double stated_number(LowerCall& call, const char* name) { return static_cast<double>(call.real(name)); }

/// The only element of an input.
std::optional<View> single_number(LowerCall& call, std::size_t input) {
  if (!call.has_input(input) || call.input(input).size() != 1) return std::nullopt;
  return reshaped_or_copied(call, call.input(input), {});
}

/// The learning rate, and how often tensors were changed before.
struct Progress {
  View rate, updates;
};
std::optional<Progress> progress_of(LowerCall& call) {
  const auto rate = single_number(call, 0), updates = single_number(call, 1);
  if (!rate || !updates) return std::nullopt;
  return Progress{*rate, *updates};
}
constexpr char no_progress[] = "rates of other sizes";

/// One number of the rate and the number of updates, both as float64.
View written_once(LowerCall& call, const Progress& progress,
                  const std::function<void(Expression& e, Number rate, Number updates)>& write) {
  Expression e;
  const Number rate = e.convert(e.input(0, lane_of(progress.rate.type)), Lane::f64);
  write(e, rate, e.convert(e.input(1, Lane::i64), Lane::f64));
  return mapped(call, e, {progress.rate, progress.updates}, ElementType::float64, {});
}

Unlowered lower_adagrad(LowerCall& call) {
  const double norm = stated_number(call, "norm_coefficient"), epsilon = stated_number(call, "epsilon"),
               decay = stated_number(call, "decay_factor");
  const auto progress = progress_of(call);
  if (!progress) return no_progress;
  Update update;
  update.set(Update::rate, written_once(call, *progress, [&](Expression& e, Number rate, Number updates) {
               const Number slowed = e.apply(Operation::multiply, updates, e.constant(Lane::f64, decay));
               e.apply(Operation::divide, rate, e.apply(Operation::add, e.constant(Lane::f64, 1), slowed));
             }));
  return write_tensors(call, 1, std::move(update), [&](Update& u, std::size_t group) {
    const Number gradient = u.whole_gradient(norm);
    const Number squares = u.sum(u[Update::first], u.apply(Operation::multiply, gradient, gradient));
    if (group == 0) u.moved(u.over_root(gradient, squares, epsilon));
  });
}

Unlowered lower_momentum(LowerCall& call) {
  const double norm = stated_number(call, "norm_coefficient"), alpha = stated_number(call, "alpha"),
               beta = stated_number(call, "beta");
  const bool is_nesterov = call.string("mode") == "nesterov";
  const auto progress = progress_of(call);
  if (!progress) return no_progress;
  Update update;
  update.set(Update::rate, progress->rate);
  update.set(Update::share, written_once(call, *progress, [&](Expression& e, Number, Number updates) {
               const Number is_later = e.apply(Operation::less, e.constant(Lane::f64, 0), updates);
               e.apply(Operation::select, is_later, e.constant(Lane::f64, beta), e.constant(Lane::f64, 1));
             }));
  return write_tensors(call, 1, std::move(update), [&](Update& u, std::size_t group) {
    const Number gradient = u.whole_gradient(norm);
    const Number added = u.apply(Operation::multiply, u[Update::share], gradient);
    const Number momentum = u.sum(u.times(u[Update::first], alpha), added);
    if (group == 0) u.moved(is_nesterov ? u.sum(gradient, u.times(momentum, alpha)) : momentum);
  });
}

Unlowered lower_adam(LowerCall& call) {
  const double norm = stated_number(call, "norm_coefficient"),
               norm_behind = stated_number(call, "norm_coefficient_post"), alpha = stated_number(call, "alpha"),
               beta = stated_number(call, "beta"), epsilon = stated_number(call, "epsilon");
  const auto progress = progress_of(call);
  if (!progress) return no_progress;
  Update update;
  update.set(Update::rate, written_once(call, *progress, [&](Expression& e, Number rate, Number updates) {
               const auto rest = [&](double of) {
                 const Number power = e.apply(Operation::power, e.constant(Lane::f64, of), updates);
                 return e.apply(Operation::subtract, e.constant(Lane::f64, 1), power);
               };
               const Number root = e.apply(Operation::square_root, rest(beta));
               const Number corrected =
                   e.apply(Operation::divide, e.apply(Operation::multiply, rate, root), rest(alpha));
               const Number is_later = e.apply(Operation::less, e.constant(Lane::f64, 0), updates);
               e.apply(Operation::select, is_later, corrected, rate);
             }));
  return write_tensors(call, 2, std::move(update), [&](Update& u, std::size_t group) {
    const auto average = [&](Update::Operand kept, double share, Number next) {
      return u.sum(u.times(u[kept], share), u.times(next, 1 - share));
    };
    const Number gradient = u.whole_gradient(norm);
    const auto mean = [&] { return average(Update::first, alpha, gradient); };
    const auto squares = [&] {
      return average(Update::second, beta, u.apply(Operation::multiply, gradient, gradient));
    };
    if (group == 1) mean();
    if (group == 2) squares();
    if (group != 0) return;
    const Number step = mean(), x = u.moved(u.over_root(step, squares(), epsilon));
    if (norm_behind != 0) u.times(x, 1 - norm_behind);
  });
}

}  // namespace

void register_training(LoweringRegistry& registry);
void register_training(LoweringRegistry& registry) {
  const auto add = [&](const char* op, Lowering lowering) {
    registry.add("ai.onnx.preview.training", op, all_versions(), lowering);
  };
  add("Adagrad", lower_adagrad);
  add("Momentum", lower_momentum);
  add("Adam", lower_adam);
}

}  // namespace onnxkit::plan
