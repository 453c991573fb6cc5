#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include "onnxkit/result.h"

namespace onnxkit::exec {

/// What `work` gives, or the error that an exception becomes: nothing is thrown across the interface of backends.
template <class Work>
auto guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return make_error("out-of-memory", "the system has not enough memory");
  } catch (const std::length_error&) {
    return make_error("out-of-memory", "a list is longer than memory can be");
  } catch (const std::exception& fault) {
    return make_error("kernel", fault.what());
  }
}

}  // namespace onnxkit::exec
