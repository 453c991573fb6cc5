#include "onnxkit/error.h"

namespace onnxkit {

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::internal:
      return "internal";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::input:
      return "input";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::limit:
      return "limit";
    case ErrorKind::cancelled:
      return "cancelled";
    case ErrorKind::backend:
      return "backend";
    case ErrorKind::io:
      return "io";
    case ErrorKind::conflict:
      return "conflict";
  }
  return "";
}

}  // namespace onnxkit
