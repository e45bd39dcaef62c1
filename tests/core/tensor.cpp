// SPDX-License-Identifier: Apache-2.0
#include "strata/tensor.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "strata/error.h"
#include "support/message.h"

namespace strata {
namespace {

using test::message_of;
using Doubles = std::vector<double>;

TEST_CASE("a new tensor is zeroed and aligned") {
  const Tensor tensor(Type{{3, 5}, DType::float32});
  CHECK(tensor.to_doubles() == Doubles(15, 0.0));
  CHECK(reinterpret_cast<std::uintptr_t>(tensor.address()) % 64 == 0);
  CHECK(tensor.bytes() == 60);
  CHECK(tensor.device() == Device{});
}

TEST_CASE("values go in and out by their type only") {
  Tensor tensor({2, 2}, std::vector<float>{1, 2, 3, 4});
  CHECK(tensor.dtype() == DType::float32);
  CHECK(tensor.as<float>()[3] == 4);
  tensor.as<float>()[0] = 9;
  CHECK(tensor.to_doubles() == Doubles{9, 2, 3, 4});
  CHECK(message_of([&] { tensor.as<double>(); }) == "a tensor of float32 is read as float64");
  CHECK(message_of([] { Tensor({3}, std::vector<float>{1, 2}); }) == "a tensor float32[3] needs 3 values, got 2");
  CHECK(message_of([] { Tensor().host_data(); }) == "an empty tensor has no data");
}

TEST_CASE("doubles survive each type as that type holds them") {
  const Doubles values{0, 1, -2.75, 0.1, 300};
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::int32, DType::int64,
                            DType::uint8, DType::boolean}) {
    Doubles expected = values;
    for (double& value : expected) value = round_to(dtype, value);
    CHECK(Tensor::from_doubles({{5}, dtype}, values).to_doubles() == expected);
  }
  CHECK(Tensor::from_doubles({{1}, DType::float16}, Doubles{1 + 0x1p-11 + 0x1p-40}).to_doubles()[0] == 1 + 0x1p-10);
  CHECK(Tensor::from_doubles({{1}, DType::int64}, Doubles{1e30}).as<std::int64_t>()[0] ==
        std::numeric_limits<std::int64_t>::max());
  CHECK(message_of([] {
          Tensor::from_doubles({{2}, DType::float32}, Doubles{1});
        }) == "a tensor float32[2] needs 2 values, got 1");
}

TEST_CASE("rows, reshapes and copies share memory; clones do not") {
  Tensor tensor({3, 2}, std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
  Tensor copy = tensor, clone = tensor.clone();
  tensor.rows(1, 3).as<std::int32_t>()[0] = 30;
  CHECK(copy.to_doubles() == Doubles{1, 2, 30, 4, 5, 6});
  CHECK(clone.to_doubles() == Doubles{1, 2, 3, 4, 5, 6});
  CHECK(tensor.rows(1, 3).rows(1, 2).to_doubles() == Doubles{5, 6});
  CHECK(tensor.rows(2, 2).to_doubles().empty());
  CHECK(tensor.reshaped({6}).rows(2, 3).to_doubles() == Doubles{30});
  CHECK(message_of([&] { tensor.rows(2, 4); }) == "rows 2 to 4 are not all in int32[3, 2]");
  CHECK(message_of([&] { tensor.reshaped({4}); }) == "int32[3, 2] cannot be reshaped to [4]: their sizes differ");
}

TEST_CASE("a view must lie within its buffer") {
  const auto buffer = host_buffer(16);
  CHECK(Tensor({{2}, DType::float32}, buffer, 8).bytes() == 8);
  CHECK_THROWS_AS(Tensor({{3}, DType::float32}, buffer, 8), InternalError);
  CHECK_THROWS_AS(Tensor({{1}, DType::float32}, buffer, std::size_t(-4)), InternalError);
}

TEST_CASE("a size that overflows is refused, never allocated short") {
  CHECK(message_of([] {
          Tensor({{std::int64_t{1} << 62}, DType::float64});
        }) == "a tensor float64[4611686018427387904] is larger than any memory");
  CHECK(message_of([] { host_buffer(std::numeric_limits<std::size_t>::max()); }) ==
        "host memory: 16.0 EiB are wanted, more than is free");
}

TEST_CASE("memory of another device is not the host's to read") {
  struct Elsewhere : Buffer {
    Elsewhere() : Buffer({"cuda", 1}, nullptr, 64, false) {}
  };
  const Tensor tensor({{4}, DType::float32}, std::make_shared<Elsewhere>());
  CHECK(message_of([&] { tensor.to_doubles(); }) == "float32[4] lies on cuda:1, where the host cannot read it");
  CHECK(to_text(tensor) == "float32[4] on cuda:1");
}

TEST_CASE("a tensor prints its type and first values") {
  CHECK(to_text(Tensor()) == "(empty)");
  CHECK(to_text(Tensor({2}, std::vector<float>{0.1f, -3})) == "float32[2] {0.1, -3}");
  CHECK(to_text(Tensor({9}, std::vector<std::int64_t>(9, 7))) == "int64[9] {7, 7, 7, 7, 7, 7, 7, 7, …}");
  CHECK(to_text(Tensor(Type{{}, DType::float64})) == "float64[] {0}");
}

TEST_CASE("devices are named by backend and number") {
  CHECK(device_named("cpu") == Device{"cpu", 0});
  CHECK(device_named("cuda:3") == Device{"cuda", 3});
  CHECK(to_text(Device{"cuda", 3}) == "cuda:3");
  for (const char* bad : {"", ":1", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"}) {
    CHECK(message_of([&] { device_named(bad); }) ==
          cat("'", bad, "' names no device; write a backend and a number, as in cpu:0 or cuda:1"));
  }
}

}  // namespace
}  // namespace strata
