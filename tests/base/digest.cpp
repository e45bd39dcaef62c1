// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <doctest/doctest.h>

#include <vector>

namespace strata {
namespace {

std::string of(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

TEST_CASE("the digest is XXH3 of 128 bits, written as everyone writes it") {
  CHECK(Digest().hex() == "99aa06d3014798d86001c324468d497f");
  CHECK(of("") == Digest().hex());
  CHECK(of("a") == "a96faf705af16834e6c632b61e964e1f");
  CHECK(of("abc") == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("in how many pieces the bytes come makes no difference, and asking does not either") {
  std::vector<std::byte> bytes(10'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  Digest whole;
  whole.add(bytes);
  for (const std::size_t piece : {1, 3, 64, 1024, 9'999}) {
    Digest digest;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      digest.add(std::span(bytes).subspan(at, std::min(piece, bytes.size() - at)));
      if (at < 100) (void)digest.hex();
    }
    CHECK(digest.hex() == whole.hex());
  }
}

}  // namespace
}  // namespace strata
