// Reshape: same elements, other sizes. 0 copies the size of the input's axis (unless `allowzero`, from version 14), one -1 stands for what
// is left over. In version 1 the target is an attribute.
#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

struct Target {
  Shape sizes;
  std::optional<std::size_t> open;  ///< the axis of the -1
};

class Reshape {
 public:
  Reshape(InferContext& context, Where at, bool zero_copies) : context_(context), at_(at), zero_copies_(zero_copies) {}

  void infer(const Shape& entries) {
    std::optional<Target> target = read(entries);
    if (!target) return;
    solve(*target);
    context_.set_shape(0, std::move(target->sizes));
    keep_elements(context_);
  }

 private:
  void complain(std::string message, std::string expected, std::string found) {
    context_.error({.code = "element-count",
                    .at = at_,
                    .message = std::move(message),
                    .expected = std::move(expected),
                    .found = std::move(found)});
  }

  std::optional<Target> read(const Shape& entries) {
    const Shape* data = context_.input_shape(0);
    Target target;
    bool zero_meant = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Dim size = entries[i];
      if (size.is(-1)) {
        if (target.open) {
          complain("two entries are -1; only one size can be inferred", "at most one -1", context_.text(entries));
          return std::nullopt;
        }
        target.open = i;
        size = Dim();
      } else if (size.is_constant() && size.constant() < 0) {
        complain(fmt::format("entry {} is negative; only -1 is allowed", i), "sizes, 0 or -1", context_.text(entries));
        return std::nullopt;
      } else if (size.is(0) && zero_copies_) {
        if (data && i >= data->size()) {
          complain(fmt::format("entry {} is 0, but the input has no such axis to copy", i),
                   fmt::format("no 0 beyond axis {}", data->size()), context_.text(entries));
          return std::nullopt;
        }
        size = data ? (*data)[i] : Dim();
      } else if (size.is_expression() && may_be_special(size)) {
        size = Dim();
      }
      zero_meant = zero_meant || (size.is(0) && !zero_copies_);
      target.sizes.push_back(size);
    }
    if (zero_meant && target.open) {
      complain("the size for -1 cannot be inferred: with allowzero = 1 a 0 is a size", "either a 0 or a -1",
               context_.text(entries));
      return std::nullopt;
    }
    return target;
  }

  /// A number read from a tensor may be the -1 itself; arithmetic on sizes is not.
  bool may_be_special(Dim size) const {
    DimPool& dims = context_.dims();
    const std::vector<std::size_t> symbols = dims.symbols_in(size);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](std::size_t symbol) { return !dims.symbol(symbol).non_negative; });
  }

  /// Works out the one size that is open from the number of elements, or compares the numbers of elements.
  void solve(Target& target) {
    const Shape* data = context_.input_shape(0);
    if (!data) return;
    const Dim total = product(context_, *data);
    std::vector<std::size_t> unknown;
    Shape known;
    for (std::size_t i = 0; i < target.sizes.size(); ++i) {
      if (target.sizes[i].is_unknown())
        unknown.push_back(i);
      else
        known.push_back(target.sizes[i]);
    }
    const Dim rest = product(context_, known);
    if (target.open && rest.is(0)) {
      complain("the size for -1 cannot be inferred: the other sizes make 0 elements", "other sizes above 0",
               context_.text(target.sizes));
      return;
    }
    if (total.is_unknown() || rest.is_unknown() || unknown.size() > 1) return;
    if (unknown.empty()) {
      if (context_.sizes_clash(total, rest)) {
        complain("the input and the target shape differ in their number of elements",
                 fmt::format("{} elements, as in {}", context_.text(total), context_.text(*data)),
                 fmt::format("{} elements in {}", context_.text(rest), context_.text(target.sizes)));
      }
      return;
    }
    if (total.is_constant() && rest.is_constant() && !rest.is(0) && total.constant() % rest.constant() != 0) {
      complain("the number of elements is not divisible by the other sizes",
               fmt::format("a divisor of {}, the number of elements of {}", context_.text(total), context_.text(*data)),
               context_.text(rest));
      return;
    }
    // Wherever the model is valid the division comes out even.
    const std::optional<Dim> exact = context_.dims().exact_div(total, rest);
    if (!exact) context_.demand(SizeRelation::equal, context_.dims().mod(total, rest), 0);
    target.sizes[unknown.front()] = exact ? *exact : context_.dims().floor_div(total, rest);
  }

  InferContext& context_;
  Where at_;
  bool zero_copies_;
};

void infer_1_reshape(InferContext& context) {
  const auto* entries = context.list_as_written<std::int64_t>("shape");
  if (!entries) return context.lose_shape(0, "attribute shape is missing");
  Reshape(context, at_attribute("shape"), true).infer(Shape(entries->begin(), entries->end()));
}

void infer_5(InferContext& context) {
  const std::optional<std::size_t> length = vector_length(context, 1);
  const Constant* value = movable_value(context, 1);
  context.lose_shape_to_content(0, 1, "the target shape is unknown");
  if (!value && (!length || *length > max_rank)) return;
  const Shape entries = value ? value->dims() : unknown_sizes(*length);
  Reshape(context, at_input(1), context.integer("allowzero") == 0).infer(entries);
}

}  // namespace

void register_reshape(InferRegistry& registry) {
  registry.add("Reshape", versions(1, 4), infer_1_reshape, {.inputs = {{0, Role::moved}}, .is_view = true});
  registry.add("Reshape", since(5), infer_5, {.inputs = {{0, Role::moved}}, .is_view = true});
}

}  // namespace onnxkit::checker
