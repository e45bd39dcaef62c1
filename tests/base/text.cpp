// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <doctest/doctest.h>

#include <cmath>

namespace strata {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("split keeps empty pieces") {
  CHECK(split("a,,b", ',') == Words{"a", "", "b"});
  CHECK(split("", ',') == Words{""});
  CHECK(split(",", ',') == Words{"", ""});
}

TEST_CASE("lines come without their ends") {
  CHECK(lines("a\r\nb\n\nc") == Words{"a", "b", "", "c"});
  CHECK(lines("a\n") == Words{"a"});
  CHECK(lines("\n") == Words{""});
  CHECK(lines("").empty());
}

TEST_CASE("trim, lower and replace_all") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(lower("Conv2D É") == "conv2d É");
  CHECK(replace_all("aaa", "aa", "b") == "ba");
  CHECK(replace_all("x", "y", "z") == "x");
}

TEST_CASE("lists read as in a sentence") {
  CHECK(listed(Words{}) == "");
  CHECK(listed(Words{"a"}) == "a");
  CHECK(listed(Words{"a", "b"}) == "a and b");
  CHECK(listed(Words{"a", "b", "c"}, "or") == "a, b or c");
  CHECK(join(Words{"a", "b"}, "/") == "a/b");
  CHECK(counted(1, "step") == "1 step");
  CHECK(counted(0, "step") == "0 steps");
}

TEST_CASE("the closest word is found across typing mistakes, and only then") {
  const Words known = {"units", "activation", "use_bias", "kernel_size", "Dense", "Conv2D", "relu", "Add"};
  CHECK(closest("unit", known) == "units");
  CHECK(closest("unist", known) == "units");
  CHECK(closest("kernelSize", known) == "kernel_size");
  CHECK(closest("dense", known) == "Dense");
  CHECK(closest("cov2d", known) == "Conv2D");
  CHECK(closest("rleu", known) == "relu");
  CHECK(closest("useBais", known) == "use_bias");
  CHECK(closest("Ad", known) == "Add");
  CHECK(closest("strides", known) == "");
  CHECK(closest("x", known) == "");
  CHECK(closest("", known) == "");
  CHECK(closest("units", Words{}) == "");
}

TEST_CASE("of equally close words the first wins, of unequal ones the closest") {
  CHECK(closest("conv3d", Words{"conv1d", "conv2d"}) == "conv1d");
  CHECK(closest("conv22d", Words{"conv1d", "conv2d"}) == "conv2d");
  CHECK(closest("Conv2d", Words{"conv1d", "Conv2D"}) == "Conv2D");
}

TEST_CASE("did_you_mean is a piece of a message, or nothing") {
  CHECK(did_you_mean("unit", Words{"units"}) == "; did you mean 'units'?");
  CHECK(did_you_mean("banana", Words{"units"}) == "");
}

TEST_CASE("snake case is Keras's, oddities included") {
  const std::vector<std::pair<std::string, std::string>> pairs = {{"Conv2D", "conv2d"},
                                                                  {"Conv2DTranspose", "conv2d_transpose"},
                                                                  {"MaxPooling2D", "max_pooling2d"},
                                                                  {"BatchNormalization", "batch_normalization"},
                                                                  {"LSTM", "lstm"},
                                                                  {"GRU", "gru"},
                                                                  {"ConvLSTM2D", "conv_lstm2d"},
                                                                  {"PReLU", "p_re_lu"},
                                                                  {"ReLU", "re_lu"},
                                                                  {"LeakyReLU", "leaky_re_lu"},
                                                                  {"RMSNormalization", "rms_normalization"},
                                                                  {"STFTSpectrogram", "stft_spectrogram"},
                                                                  {"SpatialDropout1D", "spatial_dropout1d"},
                                                                  {"GroupedQueryAttention", "grouped_query_attention"},
                                                                  {"RMSprop", "rm_sprop"},
                                                                  {"AdamW", "adam_w"},
                                                                  {"F1Score", "f1_score"},
                                                                  {"KLDivergence", "kl_divergence"},
                                                                  {"AUC", "auc"},
                                                                  {"BinaryIoU", "binary_io_u"},
                                                                  {"MeanIoU", "mean_io_u"},
                                                                  {"AbCdEf", "ab_cd_ef"},
                                                                  {"my layer-2", "mylayer2"},
                                                                  {"", ""}};
  for (const auto& [name, expected] : pairs) CHECK(snake_case(name) == expected);
}

TEST_CASE("bytes are told in the largest unit that fits") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1) == "1 byte");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(1024 * 1024 - 1) == "1.0 MiB");
  CHECK(bytes_text(6657199309) == "6.2 GiB");
  CHECK(bytes_text(~std::uint64_t{0}) == "16.0 EiB");
}

TEST_CASE("durations are told in the units a person would use") {
  CHECK(duration_text(0) == "0 us");
  CHECK(duration_text(85e-6) == "85 us");
  CHECK(duration_text(0.0009996) == "1 ms");
  CHECK(duration_text(0.85) == "850 ms");
  CHECK(duration_text(12.34) == "12.3 s");
  CHECK(duration_text(59.97) == "1 min 00 s");
  CHECK(duration_text(245) == "4 min 05 s");
  CHECK(duration_text(7380) == "2 h 03 min");
  CHECK(duration_text(3600 * 28) == "1 d 04 h");
  CHECK(duration_text(std::nan("")) == "nan s");
  CHECK(duration_text(-1) == "-1 s");
}

TEST_CASE("hashes never change") {
  CHECK(mix64(0) == 0);
  CHECK(mix64(1) == 0x5692161d100b05e5u);
  CHECK(hash64("") == mix64(0xcbf29ce484222325u));
  CHECK(hash64("dense/kernel") != hash64("dense/kernem"));
  CHECK(combine64(1, 2) != combine64(2, 1));
}

}  // namespace
}  // namespace strata
