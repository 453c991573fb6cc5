#include "reference/executor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/ir/model.h"
#include "reference/numerics/unrounded.h"

namespace onnxkit::reference {
namespace {

std::size_t element_bytes(Domain domain) {
  return dispatch_all(domain, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

/// Smaller tensors come from malloc. Sanitizers see the bounds and the lives of what does, so that all do with them.
constexpr std::size_t least_in_pages =
#if defined(ONNXKIT_SANITIZED)
    std::numeric_limits<std::size_t>::max();
#else
    std::size_t{1} << 16;
#endif

/// Room for `count` elements that returns what it took from `memory`.
std::shared_ptr<void> allocate(const MemoryPtr& memory, Domain domain, std::int64_t count, bool zeroed) {
  const auto bytes = checked_mul<std::uint64_t>(static_cast<std::uint64_t>(count), element_bytes(domain));
  if (!bytes || *bytes > std::numeric_limits<std::ptrdiff_t>::max())
    throw Fault("memory-limit", fmt::format("a tensor of {} elements exceeds the address space", count));
  if (domain == Domain::string) {
    memory->take(*bytes);
    auto* strings = new std::string[static_cast<std::size_t>(count)];
    return {strings, [memory, size = *bytes](std::string* data) {
              delete[] data;
              memory->give(size);
            }};
  }
  return {memory->allocate(*bytes, zeroed), [memory, size = *bytes](void* room) { memory->release(room, size); }};
}

/// Attributes name types by numbers, which a file may choose freely.
void require_known(ElementType type) {
  const auto number = static_cast<std::int32_t>(type);
  require(is_known_element_type(number), [&] { return fmt::format("unknown element type {}", number); });
}

}  // namespace

void Memory::take(std::uint64_t bytes) {
  count(bytes);
  limit_idle();
}

void* Memory::allocate(std::size_t bytes, bool zeroed) {
  void* room = nullptr;
  if (bytes < least_in_pages) {
    take(bytes);
    room = zeroed ? std::calloc(std::max<std::size_t>(bytes, 1), 1) : std::malloc(std::max<std::size_t>(bytes, 1));
  } else {
    count(bytes);
    room = allocate_pages(bytes, zeroed);
  }
  if (!room) {
    give(bytes);
    throw Fault("out-of-memory", fmt::format("the system cannot allocate {} bytes for a tensor", bytes));
  }
#ifndef NDEBUG
  if (!zeroed) std::memset(room, 0xff, bytes);  // NaN, so that tests notice what was never written
#endif
  return room;
}

void* Memory::allocate_pages(std::size_t bytes, bool zeroed) {
  void* const used = pool_.reuse(bytes);
  if (used && zeroed) std::memset(used, 0, bytes);
  if (used) return used;
  limit_idle();
  return PagePool::fresh(bytes);
}

void Memory::release(void* room, std::size_t bytes) noexcept {
  give(bytes);
  if (bytes < least_in_pages)
    std::free(room);
  else
    pool_.give(room, bytes);
}

void Memory::limit_idle() {
  const std::uint64_t live = live_, peak = peak_, most = peak + peak / 4;
  const std::uint64_t bound = limit_ == 0 ? most : std::min(most, limit_);
  if (live + pool_.idle() > bound) pool_.shrink(bound > live ? bound - live : 0);
}

void Memory::count(std::uint64_t bytes) {
  const std::uint64_t live = live_ += bytes;
  if (limit_ != 0 && live > limit_) {
    live_ -= bytes;
    throw Fault("memory-limit", fmt::format("{} more bytes would exceed the limit of {} bytes", bytes, limit_));
  }
  std::uint64_t peak = peak_;
  while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
  }
}

std::int64_t element_count(std::span<const std::int64_t> dims) {
  std::int64_t extent = 1;  // as if no axis were empty, so that strides never overflow either
  bool empty = false;
  for (const std::int64_t size : dims) {
    const auto larger = size < 0 ? std::nullopt : checked_mul(extent, std::max<std::int64_t>(size, 1));
    if (!larger) throw Fault("a shape has a negative size or more elements than can be counted");
    extent = *larger;
    empty = empty || size == 0;
  }
  return empty ? 0 : extent;
}

Tensor::Tensor(MemoryPtr memory, ElementType type, Dims dims, bool zeroed)
    : type_(type), dims_(std::move(dims)), size_(element_count(dims_)), memory_(std::move(memory)) {
  require_known(type);
  data_ = allocate(memory_, domain(), size_, zeroed);
}

Tensor Tensor::reserved(const MemoryPtr& memory, std::uint64_t bytes) {
  const auto reservation = std::make_shared<Reservation>(memory);
  reservation->take(bytes);
  Tensor tensor;
  tensor.data_ = reservation;
  return tensor;
}

std::uint64_t Tensor::byte_count() const { return static_cast<std::uint64_t>(size_) * element_bytes(domain()); }

void Tensor::expect(Domain wanted) const {
  if (domain() != wanted || !data_)
    throw Fault(fmt::format("a kernel read a tensor of type {} as another type", name_of(type_)));
}

void Tensor::detach() {
  Tensor copy = unset(memory_, type_, dims_);
  dispatch_all(domain(), [&]<class T>(std::type_identity<T>) {
    const std::span<const T> from = as<T>();
    std::copy(from.begin(), from.end(), static_cast<T*>(copy.data_.get()));
  });
  data_ = std::move(copy.data_);
}

Tensor Tensor::reshaped(Dims dims) const {
  require(element_count(dims) == size_,
          [&] { return fmt::format("{} elements do not match a shape of {} elements", size_, element_count(dims)); });
  Tensor other = *this;
  other.dims_ = std::move(dims);
  return other;
}

Tensor Tensor::retyped(ElementType type) const {
  require_known(type);
  require(domain_of(type) == domain(), "a tensor can be retyped within its domain only");
  Tensor other = *this;
  other.is_rounded_ = is_rounded_ && type == type_;
  other.type_ = type;
  return other;
}

std::vector<std::int64_t> Tensor::integers() const {
  switch (domain()) {
    case Domain::integer: {
      const auto all = as<std::int64_t>();
      return {all.begin(), all.end()};
    }
    case Domain::boolean: {
      const auto all = as<bool>();
      return {all.begin(), all.end()};
    }
    case Domain::natural: {
      std::vector<std::int64_t> out;
      for (const std::uint64_t x : as<std::uint64_t>()) {
        require(x <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()), "a number is too large");
        out.push_back(static_cast<std::int64_t>(x));
      }
      return out;
    }
    default:
      throw Fault(fmt::format("expected integers, not {}", name_of(type_)));
  }
}

std::vector<double> Tensor::reals() const {
  return dispatch_scalars(domain(), [&]<class T>(std::type_identity<T>) {
    const auto all = as<T>();
    std::vector<double> out(all.size());
    std::transform(all.begin(), all.end(), out.begin(), [](T x) { return static_cast<double>(x); });
    return out;
  });
}

std::int64_t Tensor::integer() const {
  require(size_ == 1, [&] { return fmt::format("expected one element, not {}", size_); });
  return integers().front();
}

double Tensor::real() const {
  require(size_ == 1, [&] { return fmt::format("expected one element, not {}", size_); });
  return reals().front();
}

namespace {

template <class T>
void decode_all(const onnxkit::Tensor& packed, std::span<T> out, ThreadPool* threads) {
  constexpr std::int64_t grain = 1 << 16;
  const int bits = storage_bits(packed.type());
  if (!threads || bits % 8 != 0) return decode(packed.type(), packed.bytes(), out);
  const auto width = static_cast<std::size_t>(bits / 8);
  threads->for_range(packed.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    const auto first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    decode(packed.type(), packed.bytes().subspan(first * width, count * width), out.subspan(first, count));
  });
}

}  // namespace

Tensor unpack(const MemoryPtr& memory, const onnxkit::Tensor& packed, ThreadPool* threads) {
  Tensor tensor = Tensor::unset(memory, packed.type(), packed.dims());
  if (packed.type() == ElementType::string) {
    std::copy(packed.strings().begin(), packed.strings().end(), tensor.write<std::string>().begin());
    return tensor;
  }
  dispatch_all(tensor.domain(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, std::string>) decode_all(packed, tensor.write<T>(), threads);
  });
  tensor.mark_rounded();
  return tensor;
}

onnxkit::Tensor pack(const Tensor& tensor, bool unrounded) {
  if (tensor.domain() == Domain::string) {
    const auto all = tensor.as<std::string>();
    return *onnxkit::Tensor::from_strings(tensor.dims(), {all.begin(), all.end()});
  }
  const ElementType type = unrounded && is_unrounded_type(tensor.type()) ? ElementType::float64 : tensor.type();
  if (type == ElementType::float64) {
    auto owner = std::make_shared<const Tensor>(tensor);
    const auto numbers = std::as_bytes(owner->as<double>());
    return *onnxkit::Tensor::view(type, tensor.dims(), numbers, std::move(owner));
  }
  const auto bits = static_cast<std::uint64_t>(storage_bits(type)) * static_cast<std::uint64_t>(tensor.size());
  std::vector<std::byte> bytes((bits + 7) / 8);
  dispatch_all(tensor.domain(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, std::string>) encode(type, tensor.as<T>(), bytes);
  });
  return *onnxkit::Tensor::from_bytes(type, tensor.dims(), std::move(bytes));
}

namespace {

template <class To, class From, class Convert>
BasicValue<To> convert(const BasicValue<From>& from, const Convert& convert_tensor) {
  BasicValue<To> to;
  to.kind = from.kind;
  to.declared = from.declared;
  if (from.kind == ValueKind::tensor || from.kind == ValueKind::map) to.tensor = convert_tensor(from.tensor);
  for (const auto& item : from.items) to.items.push_back(convert<To>(item, convert_tensor));
  return to;
}

}  // namespace

Value unpack(const MemoryPtr& memory, const onnxkit::Value& packed) {
  return convert<Tensor>(packed, [&](const onnxkit::Tensor& tensor) { return unpack(memory, tensor); });
}

Value unpack_declared(const MemoryPtr& memory, const onnxkit::Value& packed, const ir::DeclaredType& type) {
  const auto declared = static_cast<ElementType>(type.elem_type.value_or(0));
  if (packed.kind == ValueKind::tensor && packed.tensor.type() == ElementType::float64 && is_unrounded_type(declared)) {
    Value value;
    value.kind = ValueKind::tensor;
    value.tensor = Tensor::unset(memory, declared, packed.tensor.dims());
    decode(ElementType::float64, packed.tensor.bytes(), value.tensor.write<double>());
    return value;
  }
  const bool is_list = packed.kind == ValueKind::sequence || packed.kind == ValueKind::optional;
  if (!is_list || !type.element) return unpack(memory, packed);
  Value value;
  value.kind = packed.kind;
  value.declared = static_cast<ElementType>(type.element->elem_type.value_or(0));
  for (const onnxkit::Value& item : packed.items) value.items.push_back(unpack_declared(memory, item, *type.element));
  return value;
}

onnxkit::Value pack(const Value& value, bool unrounded) {
  return convert<onnxkit::Tensor>(value, [&](const Tensor& tensor) { return pack(tensor, unrounded); });
}

}  // namespace onnxkit::reference
