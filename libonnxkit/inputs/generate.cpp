#include "libonnxkit/inputs/generate.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <memory>
#include <numbers>
#include <optional>
#include <random>
#include <set>

#include <fmt/core.h>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/exec/backend.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/inputs/bound_sizes.h"
#include "libonnxkit/inputs/compared_numbers.h"
#include "libonnxkit/inputs/element_shape.h"
#include "libonnxkit/inputs/free_sizes.h"
#include "libonnxkit/inputs/input_range.h"
#include "libonnxkit/inputs/known_elements.h"
#include "libonnxkit/inputs/mask_count.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::inputs {
namespace {

constexpr std::uint64_t default_limit = std::uint64_t{4} << 30;
constexpr std::size_t block = 4096;  // elements made at a time: whole bytes of every element type

/// Numbers that do not depend on the standard library's distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + (count == 0 ? bits_() : bits_() % count));
  }

 private:
  std::mt19937_64 bits_;
};

class Generator {
 public:
  Generator(const ir::Model& model, const spec::OpTable& table, std::span<const Value> given,
            const GenerateOptions& options)
      : model_(model),
        table_(table),
        sizes_(choose_sizes(model, table, given, options.dims, [&options] { return options.may_go_on().ok(); })),
        random_(options.seed),
        options_(options),
        has_limit_(options.memory_limit != 0),
        bytes_left_(options.memory_limit != 0 ? options.memory_limit : default_limit) {
    checker::Collector collector;
    checker::InferenceOptions known{.dim_values = sizes_.by_name, .external_bytes = {}};
    known.input_types = sizes_.input_types;
    known.demands = true;
    if (options.may_go_on()) inferred_ = checker::infer_types(model, table, known, collector);
    counts_masks_ = std::any_of(model.graph->nodes.begin(), model.graph->nodes.end(),
                                [](const ir::Node& node) { return node.op_type == "GroupQueryAttention"; });
  }

  const ChosenSizes& sizes() const { return sizes_; }

  /// Input `index` of the main graph.
  Result<GeneratedInput> make(std::size_t index) {
    const ir::ValueInfo& input = model_.graph->inputs[index];
    name_ = model_.graph->name_of(input.value);
    input_type_ = &sizes_.input_types[index];
    range_.reset();
    compared_.reset();
    known_.reset();
    mask_count_.reset();
    element_shape_.reset();
    if (!input.type) return impossible("has no type");
    if (input.type->kind == ir::DeclaredType::Kind::tensor) {
      range_ = range_of_input(model_, table_, inferred_, input.value);
      compared_ = compared_numbers(model_, table_, input.value);
      known_ = known_elements(model_, table_, input.value);
      if (input.type->elem_type.value_or(0) == static_cast<int>(ElementType::boolean))
        mask_count_ = mask_count(model_, table_, inferred_, input.value);
    }
    if (input.type->kind == ir::DeclaredType::Kind::sequence)
      element_shape_ = element_shape_of_input(model_, table_, inferred_, input.value);
    return make(*input.type);
  }

 private:
  using Kind = ir::DeclaredType::Kind;

  Error impossible(std::string_view why) const {
    Error error =
        make_error("input-missing", fmt::format("cannot generate a value for input {}: it {}", quote(name_), why));
    error.diagnostic.location.item_name = name_;
    return error;
  }

  Result<GeneratedInput> make(const ir::DeclaredType& type) {
    switch (type.kind) {
      case Kind::tensor:
        return make_tensor(type);
      case Kind::sequence: {
        std::vector<Value> items;
        for (int i = 0; i < 2; ++i) {
          auto item = type.element ? make(*type.element) : impossible("has no element type");
          if (!item) return item;
          items.push_back(std::move(item->value));
        }
        return GeneratedInput{Value::sequence(std::move(items)), "two elements"};
      }
      case Kind::optional: {
        auto content = type.element ? make(*type.element) : impossible("has no element type");
        if (!content) return content;
        return GeneratedInput{Value::optional(std::move(content->value)), content->description};
      }
      default:
        return impossible("is not a tensor, sequence or optional");
    }
  }

  std::int64_t size_of_axis(const ir::DeclaredType& type, std::size_t axis) {
    const std::vector<ir::DeclaredDim>& dims = type.shape->dims;
    if (const auto size = dims[axis].size()) return *size;
    const std::optional<checker::Shape>& chosen = input_type_->shape;
    if (chosen && chosen->size() == dims.size() && (*chosen)[axis].is_constant()) return (*chosen)[axis].constant();
    const auto known = size_of(pool_, pool_.from_dim_param(dims[axis].param), sizes_.by_name);
    return known ? *known : usual_size("", name_, axis, dims.size());
  }

  Result<std::vector<std::int64_t>> dims_of(const ir::DeclaredType& type) {
    std::vector<std::int64_t> dims;
    if (type.shape) {
      for (std::size_t axis = 0; axis < type.shape->dims.size(); ++axis) dims.push_back(size_of_axis(type, axis));
    } else if (element_shape_) {
      for (std::size_t axis = 0; axis < element_shape_->size(); ++axis)
        dims.push_back((*element_shape_)[axis].value_or(usual_size("", name_, axis, element_shape_->size())));
    }
    const auto count = checked_element_count(dims);
    const auto bytes = count ? checked_mul<std::uint64_t>(static_cast<std::uint64_t>(*count), 8) : std::nullopt;
    if (!bytes || *bytes > bytes_left_) {
      return impossible(has_limit_ ? "declares more elements than the memory limit allows"
                                   : "declares more than 4 GiB, the limit for generated inputs");
    }
    bytes_left_ -= *bytes;
    return dims;
  }

  Result<GeneratedInput> make_tensor(const ir::DeclaredType& type) {
    const auto element = static_cast<ElementType>(type.elem_type.value_or(0));
    if (!is_known_element_type(static_cast<int>(element))) return impossible("has no element type");
    const auto dims = dims_of(type);
    if (!dims) return dims.error();
    const auto count = static_cast<std::size_t>(*checked_element_count(*dims));
    if (auto limits = options_.may_go_on(); !limits) return limits.error();
    if (element == ElementType::string) return strings(*dims, count);
    std::vector<std::byte> bytes((count * static_cast<std::size_t>(storage_bits(element)) + 7) / 8);
    std::string description;
    switch (domain_of(element)) {
      case Domain::real: {
        if (range_ && range_->form == InputRange::Form::scales) {
          fill<double>(element, count, bytes, [&](std::size_t i) { return i + 2 < count ? 1.0 : 2.0; });
          description = "1, on the last two axes 2: " + range_->reason;
          break;
        }
        if (range_ && range_->form == InputRange::Form::shares) {
          fill<double>(element, count, bytes, [&](std::size_t) { return random_.uniform(); });
          description = range_->reason;
          break;
        }
        if (range_ && range_->form == InputRange::Form::between) {
          fill<double>(element, count, bytes,
                       [&](std::size_t) { return static_cast<double>(random_.between(range_->low, range_->high)); });
          description = fmt::format("{} to {}: {}", range_->low, range_->high, range_->reason);
          break;
        }
        if (compared_) {
          const std::size_t columns =
              dims->empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(dims->back(), 1));
          fill<double>(element, count, bytes, [&](std::size_t i) { return near_compared(i % columns); });
          description = "around the numbers that it is compared with at " + compared_->at;
          break;
        }
        fill<double>(element, count, bytes, [&](std::size_t) { return random_.normal(); });
        description = "normal";
        break;
      }
      case Domain::complex: {
        fill<std::complex<double>>(element, count, bytes,
                                   [&](std::size_t) { return std::complex(random_.normal(), random_.normal()); });
        description = "normal";
        break;
      }
      case Domain::boolean: {
        description = booleans(element, *dims, count, bytes);
        break;
      }
      default:
        description = integers(element, *dims, count, bytes);
    }
    if (auto limits = options_.may_go_on(); !limits) return limits.error();
    auto tensor = Tensor::from_bytes(element, *dims, std::move(bytes));
    if (!tensor) return tensor.error();
    return GeneratedInput{Value(*std::move(tensor)), std::move(description)};
  }

  /// As far from one of the numbers as these are apart.
  double near_compared(std::size_t column) {
    const std::vector<std::vector<double>>& columns = compared_->of_columns;
    const bool has_own = column < columns.size() && !columns[column].empty();
    const std::vector<double>& numbers = has_own ? columns[column] : compared_->of_all;
    if (numbers.empty()) return random_.normal();
    const double range = numbers.back() - numbers.front();
    const double apart = range > 0 && std::isfinite(range) ? range / static_cast<double>(numbers.size())
                                                           : std::max(std::abs(numbers.front()) / 8, 0.125);
    return numbers[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(numbers.size()) - 1))] +
           apart * random_.normal();
  }

  /// Up to the limits, which are to be checked behind it.
  template <class T, class F>
  void fill(ElementType type, std::size_t count, std::vector<std::byte>& bytes, F next) {
    const auto values = std::make_unique<T[]>(std::min(count, block));
    const auto bits = static_cast<std::size_t>(storage_bits(type));
    for (std::size_t first = 0; first < count && options_.may_go_on(); first += block) {
      const std::size_t size = std::min(block, count - first);
      for (std::size_t i = 0; i < size; ++i) values[i] = next(first + i);
      encode(type, std::span<const T>(values.get(), size), std::span(bytes).subspan(first * bits / 8));
    }
  }

  template <class F>
  void fill_integers(ElementType type, std::size_t count, std::vector<std::byte>& bytes, F next) {
    if (domain_of(type) == Domain::natural)
      fill<std::uint64_t>(type, count, bytes, [&](std::size_t i) { return static_cast<std::uint64_t>(next(i)); });
    else
      fill<std::int64_t>(type, count, bytes, next);
  }

  /// Mostly ones, and one at the start of every row, so that nothing is masked away whole.
  std::function<bool(std::size_t)> mask(const std::vector<std::int64_t>& dims) {
    const std::size_t row = dims.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(dims.back(), 1));
    return [this, row](std::size_t i) { return random_.uniform() < 0.8 || i % row == 0; };
  }

  std::string booleans(ElementType type, const std::vector<std::int64_t>& dims, std::size_t count,
                       std::vector<std::byte>& bytes) {
    if (!mask_count_) {
      fill<bool>(type, count, bytes, mask(dims));
      return "a mask";
    }
    // Spread evenly.
    const auto ones = static_cast<std::size_t>(mask_count_->count);
    fill<bool>(type, count, bytes, [&](std::size_t i) { return (i + 1) * ones / count > i * ones / count; });
    return fmt::format("a mask with {} of {} true, which {} can use", ones, count, mask_count_->at);
  }

  std::string integers(ElementType type, const std::vector<std::int64_t>& dims, std::size_t count,
                       std::vector<std::byte>& bytes) {
    InputRange range = range_.value_or(InputRange{InputRange::Form::between, 0, 9, {}, ""});
    if (range.form == InputRange::Form::parts) {
      fill_parts(type, range.high, dims.empty(), count, bytes);
      return range.reason;
    }
    if (range.form == InputRange::Form::sizes) {
      fill_integers(type, count, bytes, [&](std::size_t i) {
        const std::int64_t size = i < range.numbers.size() ? range.numbers[i] : 1;
        return size == 1 ? random_.between(range.low, range.high) : size;
      });
      return range.reason;
    }
    if (range.form == InputRange::Form::axes) {
      fill_axes(type, range.numbers, count, bytes);
      return range.reason;
    }
    if (!range_ && mentions(name_, {"mask"})) {
      if (counts_masks_) {
        fill_integers(type, count, bytes, [](std::size_t) { return std::int64_t{1}; });
        return "a mask of ones, by its name: GroupQueryAttention counts them";
      }
      const auto next = mask(dims);
      fill_integers(type, count, bytes, [&](std::size_t i) { return std::int64_t{next(i)}; });
      return "a mask, by its name";
    }
    const bool has_known = !range_ && known_ && !known_->numbers.empty();
    const bool has_usual = mentions(name_, {"segment", "token_type", "len", "size", "count"});
    if (has_known && !(known_->are_compared && has_usual)) return known_integers(type, count, bytes);
    if (!range_ && mentions(name_, {"segment", "token_type"}))
      range = {.low = 0, .high = 1, .reason = "0 or 1, by its name"};
    if (!range_ && mentions(name_, {"len", "size", "count"}))
      range = {.low = 1, .high = 4, .reason = "positive, by its name"};
    if (!range_ && type == ElementType::uint8) range = {.low = 0, .high = 255, .reason = "bytes"};
    range.high = std::max(range.low, std::min(range.high, greatest_of(type)));
    fill_integers(type, count, bytes, [&](std::size_t) { return random_.between(range.low, range.high); });
    return range.reason.empty() ? fmt::format("integers from {} to {}", range.low, range.high)
                                : fmt::format("{} to {}: {}", range.low, range.high, range.reason);
  }

  /// Many are those that nodes know.
  std::string known_integers(ElementType type, std::size_t count, std::vector<std::byte>& bytes) {
    const std::vector<std::int64_t>& numbers = known_->numbers;
    fill_integers(type, count, bytes, [&](std::size_t) {
      const std::int64_t number = takes_known(known_->are_compared ? 2 : 8) ? one_of(numbers) : random_.between(0, 9);
      return std::clamp(number, least_of(type), greatest_of(type));
    });
    return fmt::format("many are known to {}", known_->at);
  }

  /// In all but one of so many cases, or in all where others are an error.
  bool takes_known(std::int64_t cases) { return !known_->has_others || random_.between(1, cases) > 1; }
  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(random_.between(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  /// About equal sizes that add up to `total`; a scalar is the size of all parts but the last.
  void fill_parts(ElementType type, std::int64_t total, bool is_scalar, std::size_t count,
                  std::vector<std::byte>& bytes) {
    const auto parts = static_cast<std::int64_t>(is_scalar ? 2 : count);
    if (parts == 0) return;
    const std::int64_t size = total / parts, rest = total % parts;
    fill_integers(type, count, bytes, [&](std::size_t i) {
      return is_scalar ? size + rest : size + (static_cast<std::int64_t>(i) < rest ? 1 : 0);
    });
  }

  /// Different ones in ascending order, as far as there are so many; one of them where one is asked for.
  void fill_axes(ElementType type, const std::vector<std::int64_t>& axes, std::size_t count,
                 std::vector<std::byte>& bytes) {
    const std::int64_t chosen = one_of(axes);
    fill_integers(type, count, bytes,
                  [&](std::size_t i) { return count == 1 ? chosen : axes[i * axes.size() / count]; });
  }

  std::string any_word() {
    std::string word;
    for (std::int64_t i = random_.between(3, 8); i > 0; --i) word += static_cast<char>('a' + random_.between(0, 25));
    return word;
  }

  /// A word, one that nodes know where they know some, or a few of these where text is split.
  std::string text(std::size_t column) {
    if (!known_ || known_->words_of(column).empty()) return any_word();
    std::string text;
    for (std::int64_t i = known_->is_split ? random_.between(3, 8) : 1; i > 0; --i)
      text += (text.empty() ? "" : " ") + (takes_known(8) ? one_of(known_->words_of(column)) : any_word());
    return text;
  }

  Result<GeneratedInput> strings(const std::vector<std::int64_t>& dims, std::size_t count) {
    std::vector<std::string> words(count);
    const std::size_t columns = dims.empty() ? 1 : static_cast<std::size_t>(std::max<std::int64_t>(dims.back(), 1));
    for (std::size_t at = 0; at < count; ++at) {
      if (at % block == 0) {
        if (auto limits = options_.may_go_on(); !limits) return limits.error();
      }
      words[at] = text(at % columns);
    }
    auto tensor = Tensor::from_strings(dims, std::move(words));
    if (!tensor) return tensor.error();
    const bool are_known = known_ && known_->has_words();
    return GeneratedInput{Value(*std::move(tensor)),
                          are_known ? fmt::format("words, many are known to {}", known_->at) : "words"};
  }

  const ir::Model& model_;
  const spec::OpTable& table_;
  const ChosenSizes sizes_;
  checker::DimPool pool_;
  checker::InferredModel inferred_;
  Random random_;
  const GenerateOptions& options_;
  const bool has_limit_;
  std::uint64_t bytes_left_;
  std::string name_;
  const checker::Type* input_type_ = nullptr;
  std::optional<InputRange> range_;
  std::optional<ComparedNumbers> compared_;
  std::optional<KnownElements> known_;
  /// Lengths of sequences are sums of masks, so that one with gaps would be of a shorter sequence.
  bool counts_masks_ = false;
  std::optional<MaskCount> mask_count_;
  std::optional<std::vector<std::optional<std::int64_t>>> element_shape_;  ///< of a sequence that states none
};

}  // namespace

Result<void> GenerateOptions::may_go_on() const {
  if (stop.stop_requested()) return exec::cancelled_run();
  const bool is_limited = time_limit.count() != 0;
  if (is_limited && std::chrono::steady_clock::now() > start + time_limit) return exec::late_run(time_limit);
  return {};
}

Result<GeneratedInputs> generate_inputs(const ir::Model& model, const spec::OpTable& table,
                                        std::span<const Value> given, const GenerateOptions& options) {
  const std::set<std::string_view> defaults = exec::default_names(*model.graph);
  GeneratedInputs made;
  made.inputs.resize(model.graph->inputs.size());
  std::optional<Generator> generator;
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    const ir::ValueInfo& input = model.graph->inputs[i];
    if (i < given.size() && given[i].kind != ValueKind::none) continue;
    if (defaults.contains(model.graph->name_of(input.value))) continue;
    if (!generator) generator.emplace(model, table, given, options);
    if (auto more = options.may_go_on(); !more) return more.error();
    auto value = generator->make(i);
    if (!value) return value.error();
    made.inputs[i] = *std::move(value);
  }
  if (generator) {
    made.chosen = generator->sizes().chosen;
    made.chose_named = generator->sizes().chose_named;
    made.unmet = generator->sizes().unmet;
  }
  return made;
}

}  // namespace onnxkit::inputs
