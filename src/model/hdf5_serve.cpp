// SPDX-License-Identifier: Apache-2.0
// strata-guard's end of the socket.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "model/hdf5_guard.h"
#include "strata/error.h"

namespace strata {

namespace {

// Whoever asked is gone: there is nothing left to do.
struct Gone {};

void send_all(int socket, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw Gone{};
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void send_text(int socket, std::string_view text) { send_all(socket, text.data(), text.size()); }

template <class T> void send_number(int socket, T number) { send_all(socket, &number, sizeof number); }

std::uint32_t receive_number(int socket) {
  std::uint32_t number = 0;
  for (std::size_t have = 0; have < sizeof number;) {
    const ssize_t got = ::recv(socket, reinterpret_cast<char*>(&number) + have, sizeof number - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Gone{};
    have += static_cast<std::size_t>(got);
  }
  return number;
}

}  // namespace

void serve_guarded(int socket, FileBytes& bytes, std::uint64_t most_bytes_unpacked) try {
  send_text(socket, wire_greeting);
  const GuardedFile file(bytes, most_bytes_unpacked);
  {
    const std::string catalogue = pack(file.catalogue());
    send_number(socket, static_cast<std::uint64_t>(catalogue.size()));
    send_text(socket, catalogue);
  }
  for (;;) {
    const std::uint32_t object = receive_number(socket);
    try {
      file.stream(object, [&](std::span<const std::byte> frame) {
        send_number(socket, static_cast<std::uint32_t>(frame.size()));
        send_all(socket, frame.data(), frame.size());
      });
      send_number(socket, std::uint32_t{0});
    } catch (const Error& error) {
      const std::string_view text = error.what();
      send_number(socket, frame_failure);
      send_number(socket, static_cast<std::uint32_t>(text.size()));
      send_text(socket, text);
    }
  }
} catch (const Gone&) {
}

}  // namespace strata
