#include "libonnxkit/cuda/libraries/cublaslt_library.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/cuda/libraries/cublaslt.h"
#include "libonnxkit/cuda/libraries/epilogue.h"
#include "libonnxkit/cuda/libraries/product_layout.h"
#include "libonnxkit/cuda/stopwatch.h"

namespace onnxkit::cuda {
namespace {

using cublaslt::Functions;
using Kind = EpilogueLink::Kind;

std::optional<cublaslt::DataType> data_type_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
      return cublaslt::DataType::f32;
    case ElementType::float64:
      return cublaslt::DataType::f64;
    case ElementType::float16:
      return cublaslt::DataType::f16;
    case ElementType::bfloat16:
      return cublaslt::DataType::bf16;
    case ElementType::float8e4m3fn:
      return cublaslt::DataType::f8_e4m3;
    default:
      return std::nullopt;
  }
}

/// d = activation(scale * a b + factor * c + bias), which is done in one call. Of float8, rows and columns of a b may have factors of their own.
struct Fused {
  double scale = 1, factor = 0;
  std::optional<std::size_t> rows, columns;   ///< inputs of the step, both or none; rows are those of the layout's d
  std::optional<std::size_t> vector, matrix;  ///< inputs of the step
  cublaslt::Epilogue activation = cublaslt::Epilogue::none;
  std::optional<plan::Expression::Number> end;  ///< of the step's epilogue; nothing when it has none

  cublaslt::Epilogue epilogue() const {
    const auto bits = static_cast<std::uint32_t>(activation);
    if (!vector) return activation;
    return activation == cublaslt::Epilogue::none ? cublaslt::Epilogue::bias
                                                  : static_cast<cublaslt::Epilogue>(bits | 4U);
  }
};

/// One product and what of its epilogue goes into it, as it will be called.
struct Description {
  ProductLayout layout;
  Fused fused;
  AddendLayout vector, matrix;
  cublaslt::DataType type = cublaslt::DataType::f32;  ///< of both factors
  cublaslt::DataType to = cublaslt::DataType::f32;
  cublaslt::ComputeType compute = cublaslt::ComputeType::f32;
  std::uint32_t alignment_a = 256, alignment_b = 256, alignment_c = 256, alignment_d = 256, alignment_vector = 256;

  cublaslt::DataType scale_type() const {
    return compute == cublaslt::ComputeType::f64 ? cublaslt::DataType::f64 : cublaslt::DataType::f32;
  }
  /// Equal for products that one algorithm fits.
  std::string key() const;
};

std::string key_of(const BlasMatrix& m) {
  return fmt::format("{} {} {} {} {}", m.rows, m.columns, m.leading, m.is_transposed ? 't' : 'n', m.stride);
}

std::string Description::key() const {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", key_of(layout.a), key_of(layout.b),
                     key_of(layout.d), fused.matrix ? key_of(matrix.matrix) : "", layout.batches,
                     static_cast<int>(type), static_cast<int>(to), static_cast<int>(compute),
                     static_cast<unsigned>(fused.epilogue()), fused.factor != 0, fused.rows.has_value(),
                     vector.matrix.stride, alignment_a, alignment_b, alignment_c, alignment_d, alignment_vector);
}

/// The library's descriptors of one product; what it makes is destroyed with it.
class Descriptors {
 public:
  explicit Descriptors(const Functions& functions) : functions_(functions) {}
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() {
    if (operation) functions_.destroy_operation(operation);
    for (cublaslt::Layout layout : {a, b, c, d})
      if (layout) functions_.destroy_layout(layout);
  }

  Result<void> make(const Description& description);
  Result<void> set_vector(const void* pointer) {
    set(cublaslt::OperationAttribute::bias_pointer, pointer);
    return result("the bias");
  }
  Result<void> set_scales(const void* rows, const void* columns) {
    set(cublaslt::OperationAttribute::a_scale_pointer, rows);
    set(cublaslt::OperationAttribute::b_scale_pointer, columns);
    return result("the scales");
  }

  cublaslt::Operation operation = nullptr;
  cublaslt::Layout a = nullptr, b = nullptr, c = nullptr, d = nullptr;

 private:
  template <class T>
  void set(cublaslt::OperationAttribute name, const T& value) {
    if (status_ == cublaslt::success) status_ = functions_.set_operation(operation, name, &value, sizeof(value));
  }
  template <class T>
  void set(cublaslt::Layout layout, cublaslt::LayoutAttribute name, const T& value) {
    if (status_ == cublaslt::success) status_ = functions_.set_layout(layout, name, &value, sizeof(value));
  }
  void make_layout(cublaslt::Layout& layout, cublaslt::DataType type, const BlasMatrix& matrix, std::int64_t batches);
  Result<void> result(std::string_view what) const {
    if (status_ == cublaslt::success) return {};
    return make_error("not-supported", fmt::format("cuBLASLt refuses {}: {}", what, cublaslt::text_of(status_)));
  }

  const Functions& functions_;
  cublaslt::Status status_ = cublaslt::success;
};

void Descriptors::make_layout(cublaslt::Layout& layout, cublaslt::DataType type, const BlasMatrix& matrix,
                              std::int64_t batches) {
  if (status_ != cublaslt::success) return;
  status_ = functions_.create_layout(&layout, type, static_cast<std::uint64_t>(matrix.rows),
                                     static_cast<std::uint64_t>(matrix.columns), matrix.leading);
  set(layout, cublaslt::LayoutAttribute::order, cublaslt::Order::columns);
  if (batches == 1) return;
  set(layout, cublaslt::LayoutAttribute::batches, static_cast<std::int32_t>(batches));
  set(layout, cublaslt::LayoutAttribute::stride, matrix.stride);
}

Result<void> Descriptors::make(const Description& description) {
  const ProductLayout& layout = description.layout;
  status_ = functions_.create_operation(&operation, description.compute, description.scale_type());
  const auto transpose_of = [](const BlasMatrix& matrix) {
    return matrix.is_transposed ? cublaslt::Transpose::transposed : cublaslt::Transpose::none;
  };
  set(cublaslt::OperationAttribute::transpose_a, transpose_of(layout.a));
  set(cublaslt::OperationAttribute::transpose_b, transpose_of(layout.b));
  set(cublaslt::OperationAttribute::epilogue, description.fused.epilogue());
  if (description.fused.vector) {
    set(cublaslt::OperationAttribute::bias_type, description.to);
    if (layout.batches > 1) set(cublaslt::OperationAttribute::bias_stride, description.vector.matrix.stride);
    // The search for algorithms reads from the pointer how it is aligned.
    set(cublaslt::OperationAttribute::bias_pointer, std::uintptr_t{description.alignment_vector});
  }
  if (description.fused.rows) {
    set(cublaslt::OperationAttribute::a_scale_mode, cublaslt::ScaleMode::outer_vector);
    set(cublaslt::OperationAttribute::b_scale_mode, cublaslt::ScaleMode::outer_vector);
    set(cublaslt::OperationAttribute::a_scale_pointer, std::uintptr_t{256});
    set(cublaslt::OperationAttribute::b_scale_pointer, std::uintptr_t{256});
  }
  make_layout(a, description.type, layout.a, layout.batches);
  make_layout(b, description.type, layout.b, layout.batches);
  make_layout(d, description.to, layout.d, layout.batches);
  make_layout(c, description.to, description.fused.matrix ? description.matrix.matrix : layout.d, layout.batches);
  return result("the description of the product");
}

struct Choice {
  cublaslt::Algorithm algorithm{};
  std::size_t workspace = 0;
  std::size_t of = 0;  ///< so many that were measured; 0: none was
};

/// What all calls of a session share.
struct Session {
  Functions functions;
  cublaslt::Handle handle = nullptr;
  std::unordered_map<std::string, Choice> choices;  ///< by description

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (handle) functions.destroy(handle);
  }

  /// Algorithms in the order of the library's heuristics, at least one.
  Result<std::vector<Choice>> find(const Description& description, const Descriptors& descriptors,
                                   std::uint64_t most_workspace) const;
};

Result<std::vector<Choice>> Session::find(const Description& description, const Descriptors& descriptors,
                                          std::uint64_t most_workspace) const {
  cublaslt::Preference preference = nullptr;
  cublaslt::Status status = functions.create_preference(&preference);
  const auto set = [&](cublaslt::PreferenceAttribute name, auto value) {
    if (status == cublaslt::success) status = functions.set_preference(preference, name, &value, sizeof(value));
  };
  set(cublaslt::PreferenceAttribute::most_workspace, most_workspace);
  set(cublaslt::PreferenceAttribute::alignment_a, description.alignment_a);
  set(cublaslt::PreferenceAttribute::alignment_b, description.alignment_b);
  set(cublaslt::PreferenceAttribute::alignment_c, description.alignment_c);
  set(cublaslt::PreferenceAttribute::alignment_d, description.alignment_d);
  constexpr int most = 16;
  cublaslt::HeuristicResult results[most] = {};
  int count = 0;
  if (status == cublaslt::success) {
    status = functions.find_algorithms(handle, descriptors.operation, descriptors.a, descriptors.b, descriptors.c,
                                       descriptors.d, preference, most, results, &count);
  }
  if (preference) functions.destroy_preference(preference);
  std::vector<Choice> found;
  for (int i = 0; status == cublaslt::success && i < count; ++i) {
    if (results[i].state != cublaslt::success || results[i].workspace > most_workspace) continue;
    found.push_back({.algorithm = results[i].algorithm, .workspace = results[i].workspace});
  }
  if (!found.empty()) return found;
  return make_error("not-supported",
                    fmt::format("cuBLASLt has no algorithm: {}",
                                cublaslt::text_of(status == cublaslt::success ? cublaslt::not_supported : status)));
}

class ProductCall : public LibraryCall {
 public:
  ProductCall(std::shared_ptr<Session> session, Description description)
      : session_(std::move(session)), description_(std::move(description)), descriptors_(session_->functions) {}

  Result<void> prepare(const plan::Step& step, const Preparation& preparation) {
    if (auto made = descriptors_.make(description_); !made) return made;
    const ProductLayout& layout = description_.layout;
    add_operand(step.outputs[0], 0);
    add_operand(step.inputs[layout.is_swapped ? 1 : 0], layout.is_swapped ? 2 : 1);
    add_operand(step.inputs[layout.is_swapped ? 0 : 1], layout.is_swapped ? 1 : 2);
    const Fused& fused = description_.fused;
    for (const auto& input : {fused.matrix, fused.vector, fused.rows, fused.columns})
      if (input) add_operand(step.inputs[*input], *input + 1);
    return choose(preparation);
  }

  const std::vector<View>& operands() const override { return operands_; }
  std::size_t result() const override { return 0; }
  std::uint64_t workspace_bytes() const override { return choice_.workspace; }
  std::string text() const override;
  Result<void> enqueue(void* stream, std::span<void* const> operands, void* workspace) override;

 private:
  Result<void> choose(const Preparation& preparation);
  void add_operand(const View& view, std::size_t number) {
    operands_.push_back(view);
    numbers_.push_back(number);
    widths_.push_back(storage_bits(view.type) / 8);
  }

  std::shared_ptr<Session> session_;
  Description description_;
  Descriptors descriptors_;
  Choice choice_;
  std::vector<View> operands_;        ///< d, a, b, then c, the vector and the scales where they are
  std::vector<std::size_t> numbers_;  ///< of the operands in `views_of`
  std::vector<std::int64_t> widths_;
};

/// As for equal products before; else the first algorithm, or the fastest one where there is a stopwatch.
Result<void> ProductCall::choose(const Preparation& preparation) {
  const std::string key = description_.key();
  if (const auto found = session_->choices.find(key); found != session_->choices.end()) {
    choice_ = found->second;
    return {};
  }
  const auto found = session_->find(description_, descriptors_, preparation.most_workspace);
  if (!found) return found.error();
  const auto use = [&](std::size_t way) { choice_ = (*found)[way]; };
  use(0);
  if (preparation.stopwatch && found->size() > 1 &&
      preparation.stopwatch->fastest(*this, preparation.plan, found->size(), use))
    choice_.of = found->size();
  session_->choices.emplace(key, choice_);
  return {};
}

std::string ProductCall::text() const {
  std::string text = "cublaslt";
  if (choice_.of != 0) text += fmt::format(", fastest of {}", choice_.of);
  const Fused& fused = description_.fused;
  if (description_.compute == cublaslt::ComputeType::tf32) text += ", tf32";
  if (fused.rows) text += ", scales";
  if (fused.vector) text += ", bias";
  if (fused.matrix) text += ", addend";
  if (fused.activation == cublaslt::Epilogue::relu) text += ", relu";
  if (fused.activation == cublaslt::Epilogue::gelu) text += ", gelu";
  return text;
}

Result<void> ProductCall::enqueue(void* stream, std::span<void* const> operands, void* workspace) {
  const Fused& fused = description_.fused;
  const bool is_double = description_.scale_type() == cublaslt::DataType::f64;
  const float scale = static_cast<float>(fused.scale), factor = static_cast<float>(fused.factor);
  const void* alpha = is_double ? static_cast<const void*>(&fused.scale) : &scale;
  const void* beta = is_double ? static_cast<const void*>(&fused.factor) : &factor;
  for (std::int64_t call = 0; call < description_.layout.calls(); ++call) {
    const auto place = [&](std::size_t operand) {
      return static_cast<std::byte*>(operands[operand]) +
             description_.layout.offset(numbers_[operand], call) * widths_[operand];
    };
    void* const d = place(0);
    std::size_t next = 3;
    const void* const c = fused.matrix ? place(next++) : d;
    if (fused.vector) {
      if (auto set = descriptors_.set_vector(place(next++)); !set) return set;
    }
    if (fused.rows) {
      if (auto set = descriptors_.set_scales(place(next), place(next + 1)); !set) return set;
    }
    const cublaslt::Status status = session_->functions.multiply(
        session_->handle, descriptors_.operation, alpha, place(1), descriptors_.a, place(2), descriptors_.b, beta, c,
        descriptors_.c, d, descriptors_.d, &choice_.algorithm, workspace, choice_.workspace,
        static_cast<DriverStream>(stream));
    if (status == cublaslt::success) continue;
    std::string why = fmt::format("cuBLASLt does not multiply: {}", cublaslt::text_of(status));
    if (status == cublaslt::alloc_failed) return make_error("out-of-memory", std::move(why));
    return make_error("device-failed", std::move(why));
  }
  return {};
}

class CublasLt : public Library {
 public:
  explicit CublasLt(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  std::string_view name() const override { return "cublaslt"; }
  bool takes(const plan::StepKind& kind) const override { return kind == plan::product_step; }
  Result<LibraryStep> prepare(const plan::Step& step, const Preparation& preparation) override;

 private:
  Result<Description> describe(const plan::Step& step, const Preparation& preparation) const;
  Result<LibraryStep> attempt(const plan::Step& step, const Preparation& preparation, const Description& description);

  std::shared_ptr<Session> session_;
};

constexpr std::size_t first_with_scales = 120900;  ///< of rows and columns

/// What a call is asked to do of an epilogue.
struct Wish {
  bool scales = true;  ///< factors of rows and columns
  bool more = true;    ///< than factors
};

/// Whether one of the two inputs is a factor for each row of d, the other for each column.
bool take_scales(Description& description, const plan::Step& step, std::size_t first, std::size_t second) {
  const ProductLayout& layout = description.layout;
  if (description.type != cublaslt::DataType::f8_e4m3 || layout.batches * layout.calls() != 1) return false;
  const auto lies_along = [&](std::size_t input, std::int64_t row_stride, std::int64_t column_stride) {
    const View& view = step.inputs[input];
    const std::size_t rank = view.rank();
    std::int64_t row = view.strides[rank - 2], column = view.strides[rank - 1];
    if (layout.is_swapped) std::swap(row, column);
    return view.type == ElementType::float32 && row == row_stride && column == column_stride;
  };
  if (lies_along(second, 1, 0)) std::swap(first, second);
  if (!lies_along(first, 1, 0) || !lies_along(second, 0, 1)) return false;
  description.fused.rows = first;
  description.fused.columns = second;
  return true;
}

/// The longest beginning of the epilogue that fits into one call.
void fuse(Description& description, const plan::Step& step, const Preparation& preparation, const Wish& wish) {
  const auto& epilogue = static_cast<const plan::ProductParameters&>(*step.parameters).epilogue;
  Fused& fused = description.fused;
  fused.end = sum_of(epilogue);
  const auto take_add = [&](const EpilogueLink& link) {
    const std::size_t input = link.input + 1;
    const View& view = step.inputs[input];
    if (view.type != step.outputs[0].type) return false;
    const AddendLayout addend = addend_layout_of(description.layout, step, input);
    if (addend.kind == Addend::vector && !fused.vector && link.factor == 1 &&
        !may_overlap(preparation.plan, view, step.outputs[0])) {
      fused.vector = input;
      description.vector = addend;
      return true;
    }
    if (addend.kind != Addend::matrix || fused.matrix || link.factor == 0) return false;
    if (may_overlap(preparation.plan, view, step.outputs[0]) && !(view == step.outputs[0])) return false;
    fused.matrix = input;
    fused.factor = link.factor;
    description.matrix = addend;
    return true;
  };
  const bool is_narrow = description.to == cublaslt::DataType::f16 || description.to == cublaslt::DataType::bf16;
  const auto take = [&](const EpilogueLink& link) {
    const bool is_active = fused.activation != cublaslt::Epilogue::none;
    if (!wish.more && link.kind != Kind::scale) return false;
    switch (link.kind) {
      case Kind::scale:
        if (is_active || fused.vector || fused.matrix) return false;
        fused.scale *= link.factor;
        return true;
      case Kind::add:
        return !is_active && take_add(link);
      case Kind::relu:
      case Kind::gelu_tanh:
        // The library's tanh has the precision of narrow types.
        if (is_active || (link.kind == Kind::gelu_tanh && !is_narrow)) return false;
        fused.activation = link.kind == Kind::relu ? cublaslt::Epilogue::relu : cublaslt::Epilogue::gelu;
        return true;
      case Kind::round_to:
        return link.type == step.outputs[0].type;
      default:
        return false;
    }
  };
  const std::vector<EpilogueLink> links = links_of(epilogue);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const bool are_scales = wish.scales && i + 1 < links.size() && links[i].kind == Kind::times &&
                            links[i + 1].kind == Kind::times && !fused.vector && !fused.matrix &&
                            take_scales(description, step, links[i].input + 1, links[i + 1].input + 1);
    if (are_scales) ++i;
    if (!are_scales && !take(links[i])) break;
    fused.end = links[i].end;
  }
}

Result<Description> CublasLt::describe(const plan::Step& step, const Preparation& preparation) const {
  const View &a = step.inputs[0], &b = step.inputs[1], &to = step.outputs[0];
  const auto type = data_type_of(a.type), result = data_type_of(to.type);
  if (!type || !result || a.type != b.type) return make_error("not-supported", "factors of two types");
  const bool is_float8 = a.type == ElementType::float8e4m3fn;
  const bool is_usual = to.type == a.type || (to.type == ElementType::float32 && a.type != ElementType::float64);
  if (is_float8 ? to.type == a.type || to.type == ElementType::float64 : !is_usual)
    return make_error("not-supported", "an output of another type than the factors");
  auto layout = layout_of(step);
  if (!layout) return layout.error();
  if (is_float8 && (!layout->a.is_transposed || layout->b.is_transposed))
    return make_error("not-supported", "factors of float8 whose terms do not lie side by side");
  Description description;
  description.layout = *std::move(layout);
  description.type = *type;
  description.to = *result;
  if (a.type == ElementType::float64) description.compute = cublaslt::ComputeType::f64;
  if (a.type == ElementType::float32 && preparation.allows_tf32) description.compute = cublaslt::ComputeType::tf32;
  return description;
}

void set_alignments(Description& description, const plan::Step& step, const plan::Plan& plan) {
  const ProductLayout& layout = description.layout;
  // Calls begin in multiples of the outer strides behind a view's first element.
  const auto alignment = [&](const View& view, std::size_t number) {
    std::uint32_t least = alignment_of(plan, view);
    for (const std::int64_t stride : layout.outer_strides[number]) {
      View next = view;
      next.offset += stride;
      least = std::min(least, alignment_of(plan, next));
    }
    return least;
  };
  description.alignment_d = alignment(step.outputs[0], 0);
  description.alignment_a = alignment(step.inputs[layout.is_swapped ? 1 : 0], layout.is_swapped ? 2 : 1);
  description.alignment_b = alignment(step.inputs[layout.is_swapped ? 0 : 1], layout.is_swapped ? 1 : 2);
  description.alignment_c = description.alignment_d;
  if (const auto input = description.fused.matrix) description.alignment_c = alignment(step.inputs[*input], *input + 1);
  if (const auto input = description.fused.vector)
    description.alignment_vector = alignment(step.inputs[*input], *input + 1);
}

/// A second pass over the output pays where the sums are long and the product is not a small one.
bool pays_with_map(const ProductLayout& layout) {
  constexpr double least_sum = 64, least_multiplications = double{1 << 22};
  const auto k = static_cast<double>(layout.k);
  return k >= least_sum && k * static_cast<double>(layout.m) * static_cast<double>(layout.n) *
                                   static_cast<double>(layout.batches * layout.calls()) >=
                               least_multiplications;
}

Result<LibraryStep> CublasLt::attempt(const plan::Step& step, const Preparation& preparation,
                                      const Description& description) {
  const auto& epilogue = static_cast<const plan::ProductParameters&>(*step.parameters).epilogue;
  LibraryStep result;
  if (!epilogue.empty() && description.fused.end != epilogue.last()) {
    if (!description.fused.end) return make_error("not-supported", "an epilogue that does not read the sum once");
    if (!pays_with_map(description.layout))
      return make_error("not-supported", "a product too small for a pass of its own over the epilogue");
    result.rest = rest_of(step, epilogue, *description.fused.end, preparation.plan);
    if (!result.rest)
      return make_error("not-supported", "an operand of the epilogue lies where the product is written");
  }
  auto call = std::make_unique<ProductCall>(session_, description);
  if (auto prepared = call->prepare(step, preparation); !prepared) return prepared.error();
  result.call = std::move(call);
  return result;
}

Result<LibraryStep> CublasLt::prepare(const plan::Step& step, const Preparation& preparation) {
  if (step.kind != plan::product_step) return make_error("not-supported", "not a product");
  const auto plain = describe(step, preparation);
  if (!plain) return plain.error();
  // Not every type has every epilogue, nor every device and version factors of rows and columns.
  std::optional<Error> refusal;
  std::optional<plan::Expression::Number> tried;
  // What older versions make of a mode that they do not know is not said anywhere.
  const bool knows_scales = session_->functions.version() >= first_with_scales;
  for (Wish wish : {Wish{}, Wish{.more = false}, Wish{.scales = false, .more = false}}) {
    wish.scales = wish.scales && knows_scales;
    Description description = *plain;
    fuse(description, step, preparation, wish);
    if (refusal && description.fused.end == tried) continue;
    set_alignments(description, step, preparation.plan);
    auto made = attempt(step, preparation, description);
    if (made) return made;
    tried = description.fused.end;
    if (!refusal) refusal = made.error();
    if (!tried) break;
  }
  return *refusal;
}

}  // namespace

Result<std::unique_ptr<Library>> open_cublaslt(const LibraryPlaces& places, int cuda_version) {
  auto functions = cublaslt::open(places, cuda_version);
  if (!functions) return functions.error();
  auto session = std::make_shared<Session>();
  session->functions = *functions;
  if (const auto status = session->functions.create(&session->handle); status != cublaslt::success)
    return make_error("device-failed", fmt::format("cuBLASLt does not start: {}", cublaslt::text_of(status)));
  return std::unique_ptr<Library>(std::make_unique<CublasLt>(std::move(session)));
}

}  // namespace onnxkit::cuda
