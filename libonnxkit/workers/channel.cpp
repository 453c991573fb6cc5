#include "libonnxkit/workers/channel.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

namespace onnxkit::workers {
namespace {

using Kind = ChannelFault::Kind;

constexpr std::size_t header_bytes = 4;  // a length, little-endian
constexpr std::size_t read_at_once = std::size_t{1} << 18;

std::optional<ChannelFault> wait_for(Process& process, short events, const Watch& watch) {
  switch (process.wait(events, watch)) {
    case Wake::ready:
      return std::nullopt;
    case Wake::late:
      return ChannelFault{Kind::late};
    case Wake::cancelled:
      return ChannelFault{Kind::cancelled};
    case Wake::over_memory:
      return ChannelFault{Kind::over_memory};
    default:
      return ChannelFault{Kind::ended};
  }
}

/// Room for as many descriptors as are allowed; of more the kernel says MSG_CTRUNC.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(most_segments * sizeof(int))];
};

/// Sends some of `text`, the descriptors along; what sendmsg gives.
ssize_t send_some(int socket, std::string_view text, std::span<const Descriptor> segments) {
  iovec content{const_cast<char*>(text.data()), text.size()};
  msghdr message = {};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  Control control = {};
  if (!segments.empty()) {
    const std::size_t size = segments.size() * sizeof(int);
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const int fd = segments[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof fd);
    }
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void take_descriptors(msghdr& message, std::vector<Descriptor>& segments) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; at + sizeof(int) <= header->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + at, sizeof fd);
      segments.emplace_back(fd);
    }
  }
}

/// Receives up to `room.size()` bytes; their number, or the fault.
std::variant<std::size_t, ChannelFault> receive_some(Process& process, std::span<char> room,
                                                     std::vector<Descriptor>& segments, const Watch& watch) {
  while (true) {
    if (auto fault = wait_for(process, POLLIN, watch)) return *std::move(fault);
    iovec content{room.data(), room.size()};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    const ssize_t count = ::recvmsg(process.socket(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (count > 0) {
      take_descriptors(message, segments);
      if ((message.msg_flags & MSG_CTRUNC) != 0 || segments.size() > most_segments)
        return ChannelFault{Kind::broken, fmt::format("a message with more than {} segments", most_segments)};
      return static_cast<std::size_t>(count);
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) return ChannelFault{Kind::closed};
  }
}

/// Receives exactly `size` bytes onto the end of `text`.
std::optional<ChannelFault> receive_bytes(Process& process, std::size_t size, std::string& text,
                                          std::vector<Descriptor>& segments, const Watch& watch) {
  for (std::size_t have = 0; have < size;) {
    const std::size_t start = text.size(), room = std::min(size - have, read_at_once);
    text.resize(start + room);
    auto count = receive_some(process, std::span(text).subspan(start), segments, watch);
    if (auto* fault = std::get_if<ChannelFault>(&count)) return std::move(*fault);
    text.resize(start + std::get<std::size_t>(count));
    have += std::get<std::size_t>(count);
  }
  return std::nullopt;
}

/// Most often something that was printed to the wrong location, so it shows what there is of it.
std::string no_message(const Process& process, std::string begin) {
  std::array<char, 60> more;
  const ssize_t count = ::recv(process.socket(), more.data(), more.size(), MSG_DONTWAIT);
  if (count > 0) begin.append(more.data(), static_cast<std::size_t>(count));
  return fmt::format("{} does not start a message of at most {} bytes", quote(begin), most_message_bytes);
}

}  // namespace

std::variant<std::monostate, ChannelFault> send(Process& process, const Frame& frame, const Watch& watch) {
  const auto length = static_cast<std::uint32_t>(frame.text.size());
  std::string bytes;
  for (std::size_t i = 0; i < header_bytes; ++i) bytes += static_cast<char>(length >> (8 * i));
  bytes += frame.text;
  std::string_view left = bytes;
  while (!left.empty()) {
    if (auto fault = wait_for(process, POLLOUT, watch)) return *std::move(fault);
    const bool first = left.size() == bytes.size();
    const ssize_t count =
        send_some(process.socket(), left, first ? std::span(frame.segments) : std::span<const Descriptor>());
    if (count > 0) left.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EAGAIN && errno != EINTR) return ChannelFault{Kind::closed};
  }
  return std::monostate();
}

std::variant<Frame, ChannelFault> receive(Process& process, const Watch& watch) {
  Frame frame;
  std::string header;
  if (auto fault = receive_bytes(process, header_bytes, header, frame.segments, watch)) return *std::move(fault);
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < header_bytes; ++i)
    length |= static_cast<std::uint32_t>(static_cast<unsigned char>(header[i])) << (8 * i);
  if (length > most_message_bytes) return ChannelFault{Kind::broken, no_message(process, header)};
  if (auto fault = receive_bytes(process, length, frame.text, frame.segments, watch)) return *std::move(fault);
  return frame;
}

}  // namespace onnxkit::workers
