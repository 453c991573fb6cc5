#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "libonnxkit/base/system/descriptor.h"
#include "libonnxkit/workers/process.h"

namespace onnxkit::workers {

/// A message as it travels: JSON text and the descriptors of its segments.
struct Frame {
  std::string text;
  std::vector<Descriptor> segments;
};

inline constexpr std::size_t most_message_bytes = std::size_t{64} << 20;
inline constexpr std::size_t most_segments = 64;

/// Why a frame could not be sent or received.
struct ChannelFault {
  enum class Kind : std::uint8_t {
    late,
    cancelled,
    over_memory,
    ended,   ///< the process ended
    closed,  ///< it closed the socket, and may end soon
    broken   ///< it sent what is no frame
  };
  Kind kind;
  std::string what = {};  ///< of broken
};

/// Sends the frame over the socket of the process. It must be within the two limits.
std::variant<std::monostate, ChannelFault> send(Process& process, const Frame& frame, const Watch& watch);

/// Receives the next frame. Memory is taken as the bytes come in, not for the length that is announced.
std::variant<Frame, ChannelFault> receive(Process& process, const Watch& watch);

}  // namespace onnxkit::workers
