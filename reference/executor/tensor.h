#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/thread_pool.h"
#include "onnxkit/value.h"
#include "reference/executor/fault.h"
#include "reference/executor/page_pool.h"

namespace onnxkit::ir {
struct DeclaredType;
}

namespace onnxkit::reference {

using Dims = std::vector<std::int64_t>;
using Complex = std::complex<double>;

/// The bytes of all tensors of one run: counts them, enforces its limit and uses those of dead tensors again. Together with what is kept for that they
/// take at most a quarter more than tensors ever did, and never more than the limit.
class Memory {
 public:
  explicit Memory(std::uint64_t limit = 0) : limit_(limit) {}
  /// Counts bytes that lie elsewhere. Throws Fault memory-limit when the limit would be passed.
  void take(std::uint64_t bytes);
  void give(std::uint64_t bytes) { live_ -= bytes; }
  /// Room for so many bytes, zeroed or holding anything. Throws Fault memory-limit, and out-of-memory when the system has no more.
  void* allocate(std::size_t bytes, bool zeroed);
  void release(void* room, std::size_t bytes) noexcept;
  /// Returns what is kept for later tensors to the system.
  void drop_idle() { pool_.shrink(0); }
  /// 0: none.
  std::uint64_t limit() const { return limit_; }
  std::uint64_t live() const { return live_; }
  std::uint64_t peak() const { return peak_; }

 private:
  void count(std::uint64_t bytes);
  void limit_idle();
  void* allocate_pages(std::size_t bytes, bool zeroed);

  const std::uint64_t limit_;
  std::atomic<std::uint64_t> live_ = 0, peak_ = 0;
  PagePool pool_;
};
using MemoryPtr = std::shared_ptr<Memory>;

/// Bytes outside of tensors, counted for as long as it lives.
class Reservation {
 public:
  explicit Reservation(MemoryPtr memory) : memory_(std::move(memory)) {}
  ~Reservation() {
    if (memory_) memory_->give(bytes_);
  }
  Reservation(Reservation&&) noexcept = default;
  Reservation& operator=(Reservation&&) = delete;
  /// Throws Fault memory-limit.
  void take(std::uint64_t bytes) {
    memory_->take(bytes);
    bytes_ += bytes;
  }

 private:
  MemoryPtr memory_;
  std::uint64_t bytes_ = 0;
};

/// Number of elements; throws Fault when it overflows or a dimension is negative.
std::int64_t element_count(std::span<const std::int64_t> dims);

template <class T>
constexpr Domain domain_for() {
  if constexpr (std::is_same_v<T, double>) return Domain::real;
  if constexpr (std::is_same_v<T, std::int64_t>) return Domain::integer;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Domain::natural;
  if constexpr (std::is_same_v<T, bool>) return Domain::boolean;
  if constexpr (std::is_same_v<T, std::string>) return Domain::string;
  if constexpr (std::is_same_v<T, Complex>) return Domain::complex;
}

/// A tensor as kernels see it: elements in the domain that its element type belongs to. Copies share the content until one writes.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros, false or empty strings.
  Tensor(MemoryPtr memory, ElementType type, Dims dims) : Tensor(std::move(memory), type, std::move(dims), true) {}
  /// Every element must be written before it is read; strings are empty.
  static Tensor unset(MemoryPtr memory, ElementType type, Dims dims) {
    return Tensor(std::move(memory), type, std::move(dims), false);
  }

  ElementType type() const { return type_; }
  Domain domain() const { return domain_of(type_); }
  const Dims& dims() const { return dims_; }
  std::int64_t rank() const { return static_cast<std::int64_t>(dims_.size()); }
  std::int64_t size() const { return size_; }
  std::int64_t dim(std::int64_t axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  /// Of the elements themselves; strings keep their text elsewhere.
  std::uint64_t byte_count() const;
  const MemoryPtr& memory() const { return memory_; }

  /// A new tensor counted by the same memory.
  Tensor make(ElementType type, Dims dims) const { return Tensor(memory_, type, std::move(dims)); }

  /// The elements in row-major order. T must be the type of the domain: double, std::int64_t, std::uint64_t, bool, std::string or Complex.
  template <class T>
  std::span<const T> as() const {
    expect(domain_for<T>());
    return {static_cast<const T*>(data_.get()), static_cast<std::size_t>(size_)};
  }
  /// For writing; makes a copy first when the content is shared.
  template <class T>
  std::span<T> write() {
    expect(domain_for<T>());
    if (data_.use_count() > 1) detach();
    is_rounded_ = false;
    return {static_cast<T*>(data_.get()), static_cast<std::size_t>(size_)};
  }
  /// Another tensor has the same content, too.
  bool is_shared() const { return data_.use_count() > 1; }
  /// The elements are numbers of the element type, so that nothing is left to round or to wrap. So are those of all inputs of kernels; writing
  /// ends it. What only moves or picks elements passes it on.
  bool is_rounded() const { return is_rounded_; }
  void mark_rounded(bool rounded = true) { is_rounded_ = rounded; }

  /// No tensor, but bytes outside of tensors, counted until the last copy dies.
  static Tensor reserved(const MemoryPtr& memory, std::uint64_t bytes);

  /// The same elements under other dims of equal count.
  Tensor reshaped(Dims dims) const;
  /// The same elements as a type of the same domain; they must fit it already.
  Tensor retyped(ElementType type) const;

  /// All elements of an integer, natural or boolean tensor as int64; Fault for others, and for numbers beyond int64.
  std::vector<std::int64_t> integers() const;
  /// All elements of a real, integer, natural or boolean tensor as double.
  std::vector<double> reals() const;
  /// The only element; Fault unless there is exactly one.
  std::int64_t integer() const;
  double real() const;

 private:
  Tensor(MemoryPtr memory, ElementType type, Dims dims, bool zeroed);
  void expect(Domain wanted) const;
  void detach();

  ElementType type_ = ElementType::undefined;
  Dims dims_;
  std::int64_t size_ = 0;
  bool is_rounded_ = false;
  MemoryPtr memory_;
  std::shared_ptr<void> data_;
};

/// Of a sequence `tensor` counts what its elements take besides their bytes.
using Value = BasicValue<Tensor>;

/// What an element of a list takes besides its bytes: the value, with what a growing list keeps in reserve, its dims, and the count of those who share it.
constexpr std::uint64_t list_element_bytes = 2 * sizeof(Value) + 128;

/// Calls f(std::type_identity<T>) with the element type of a domain. The dispatch functions name the domains that a kernel knows; others are a
/// Fault.
template <class F>
decltype(auto) dispatch_all(Domain domain, F&& f) {
  switch (domain) {
    case Domain::real:
      return f(std::type_identity<double>());
    case Domain::integer:
      return f(std::type_identity<std::int64_t>());
    case Domain::natural:
      return f(std::type_identity<std::uint64_t>());
    case Domain::boolean:
      return f(std::type_identity<bool>());
    case Domain::string:
      return f(std::type_identity<std::string>());
    default:
      return f(std::type_identity<Complex>());
  }
}
/// real, integer, natural.
template <class F>
decltype(auto) dispatch_numbers(Domain domain, F&& f) {
  switch (domain) {
    case Domain::real:
      return f(std::type_identity<double>());
    case Domain::integer:
      return f(std::type_identity<std::int64_t>());
    case Domain::natural:
      return f(std::type_identity<std::uint64_t>());
    default:
      throw Fault("undefined-for-type", "the operator is defined on numbers only");
  }
}
/// real, integer, natural, boolean.
template <class F>
decltype(auto) dispatch_scalars(Domain domain, F&& f) {
  if (domain == Domain::boolean) return f(std::type_identity<bool>());
  return dispatch_numbers(domain, std::forward<F>(f));
}

/// From the packed form and back. `unrounded` leaves float16, bfloat16 and float32 as float64.
Tensor unpack(const MemoryPtr& memory, const onnxkit::Tensor& packed, ThreadPool* threads = nullptr);
Value unpack(const MemoryPtr& memory, const onnxkit::Value& packed);
/// What an unrounded run gave as float64 becomes a value of its declared type again, with the same numbers.
Value unpack_declared(const MemoryPtr& memory, const onnxkit::Value& packed, const ir::DeclaredType& type);
onnxkit::Tensor pack(const Tensor& tensor, bool unrounded = false);
onnxkit::Value pack(const Value& value, bool unrounded = false);

}  // namespace onnxkit::reference
