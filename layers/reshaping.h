// SPDX-License-Identifier: Apache-2.0
// Layers that only move elements.
#pragma once

#include "strata/layers/convolution.h"

namespace strata::layers {

struct Flatten {
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("Flatten", "Each row as one list.")
        .arg("data_format", &Flatten::data_format, "channels_first: channels are moved last before.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return Flatten{}; }, {{2, 3}})
        .example(+[] { return Flatten{.data_format = "channels_first"}; }, {{2, 3, 2}});
  }
  Value call(Scope&, Value x) const {
    const int rank = x.shape().rank();
    if (data_format == "channels_first" && rank > 2) {
      std::vector<std::int64_t> order{0};
      for (int i = 2; i < rank; ++i) order.push_back(i);
      order.push_back(1);
      x = transpose(x, order);
    }
    const std::int64_t rows = x.shape()[0];
    return reshape(x, {rows, rows ? x.shape().size() / rows : Shape(x.shape().slice(1, rank)).size()});
  }
};

struct Reshape {
  std::vector<std::int64_t> target_shape = {-2};
  static Schema schema() {
    return Schema("Reshape", "Each row under another shape.")
        .arg("target_shape", &Reshape::target_shape, "The shape of a row; one extent may be -1: what is left.",
             at_least(-1))
        .example(
            +[] {
              return Reshape{.target_shape = {3, 2}};
            },
            {{6}})
        .example(
            +[] {
              return Reshape{.target_shape = {-1, 2}};
            },
            {{4, 3}});
  }
  Value call(Scope&, Value x) const {
    const std::int64_t rows = x.shape()[0], size = x.shape().slice(1, x.shape().rank()).size();
    std::int64_t known = 1;
    int open = 0;
    for (const auto extent : target_shape) extent == -1 ? void(++open) : void(known *= extent);
    if (open > 1) throw Error("target_shape may have one -1 only");
    Shape shape{rows};
    for (const auto extent : target_shape) shape = shape.append(extent != -1 ? extent : known ? size / known : 0);
    if (shape.slice(1, shape.rank()).size() != size)
      throw Error(cat("cannot make rows of ", Shape(std::span(shape.begin() + 1, shape.end())), " from rows of ",
                      x.shape().slice(1, x.shape().rank()), ": ", known, " does not fit ", size, " elements"));
    return reshape(x, shape);
  }
};

struct Permute {
  std::vector<std::int64_t> dims = {0};
  static Schema schema() {
    return Schema("Permute", "The axes of a row in another order.")
        .arg("dims", &Permute::dims, "For each axis of the result, the input's; 1 is the first after the batch.",
             at_least(1))
        .example(
            +[] {
              return Permute{.dims = {2, 1}};
            },
            {{2, 3}});
  }
  Value call(Scope&, Value x) const {
    std::vector<std::int64_t> order{0};
    order.insert(order.end(), dims.begin(), dims.end());
    return transpose(x, order);
  }
};

struct RepeatVector {
  std::int64_t n = 0;
  static Schema schema() {
    return Schema("RepeatVector", "Each row n times: [batch, n, features].")
        .arg("n", &RepeatVector::n, "How often.", at_least(1))
        .example(+[] { return RepeatVector{.n = 3}; }, {{2}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 2) throw Error(cat("takes [batch, features], got ", x.shape()));
    return broadcast_to(reshape(x, {x.shape()[0], 1, x.shape()[1]}), {x.shape()[0], n, x.shape()[1]});
  }
};

// Rows above and below, columns left and right: n for all, {rows, columns}, or {{above, below}, {left, right}}.
struct Borders {
  Pair rows = 0, columns = 0;
  Borders() = default;
  Borders(int all) : rows(all), columns(all) {}
  Borders(Pair both) : rows(both.first), columns(both.second) {}
  Borders(Pair above_below, Pair left_right) : rows(above_below), columns(left_right) {}

  static void read(void* field, const Config& config, const std::string& subject, Mistakes& mistakes) {
    const auto* list = config.list();
    const bool nested = list && list->size() == 2 && (*list)[0].list() && (*list)[1].list();
    Borders& borders = *static_cast<Borders*>(field);
    Pair both;
    const std::size_t before = mistakes.count();
    field_type<Pair>().read(nested ? &borders.rows : &both, nested ? (*list)[0] : config, subject, mistakes);
    if (nested) field_type<Pair>().read(&borders.columns, (*list)[1], subject, mistakes);
    else if (mistakes.count() == before) borders = Borders(both);
  }
  static Config write(const void* field) {
    const Borders& borders = *static_cast<const Borders*>(field);
    return Config(Config::List{field_type<Pair>().write(&borders.rows), field_type<Pair>().write(&borders.columns)});
  }
};

// No border is negative.
inline Rule not_negative_borders() {
  Rule rule;
  rule.text = "at least 0";
  rule.whole = true;
  rule.holds = [](const Config& config) {
    for (const Config& pair : *config.list())
      for (const Config& one : *pair.list())
        if (std::get<std::int64_t>(one.data) < 0) return false;
    return true;
  };
  return rule;
}

}  // namespace strata::layers

namespace strata {
template <> struct FieldTypeOf<layers::Borders> {
  static const FieldType& get() {
    static const FieldType type{
        .name = "an integer, a list of two, or a list of two lists of two",
        .read = layers::Borders::read,
        .write = layers::Borders::write,
        .empty = {},
        .json_schema =
            [] {
              const Config pair = field_type<Pair>().json_schema();
              return Config(Config::Map{
                  {"anyOf",
                   Config(Config::List{pair, Config(Config::Map{{"type", Config("array")}, {"items", pair}})})}});
            },
        .check = {}};
    return type;
  }
};
}  // namespace strata

namespace strata::layers {

struct ZeroPadding2D {
  Borders padding = 1;
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("ZeroPadding2D", "Rows and columns of zeros around images.")
        .arg("padding", &ZeroPadding2D::padding, "How many: n, [rows, columns], or [[above, below], [left, right]].",
             not_negative_borders())
        .arg("data_format", &ZeroPadding2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return ZeroPadding2D{.padding = Pair(1, 2)}; }, {{2, 2, 1}})
        .example(
            +[] {
              return ZeroPadding2D{.padding = {{1, 0}, {0, 2}}, .data_format = "channels_first"};
            },
            {{1, 2, 2}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    x = to_channels_last(x, data_format);
    const Pair rows = padding.rows, columns = padding.columns;
    return from_channels_last(pad(x, {0, rows.first, columns.first, 0}, {0, rows.second, columns.second, 0}),
                              data_format);
  }
};

struct Cropping2D {
  Borders cropping = 0;
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("Cropping2D", "Images without some rows and columns at their edges.")
        .arg("cropping", &Cropping2D::cropping, "How many: n, [rows, columns], or [[above, below], [left, right]].",
             not_negative_borders())
        .arg("data_format", &Cropping2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return Cropping2D{.cropping = 1}; }, {{4, 3, 2}})
        .example(
            +[] {
              return Cropping2D{.cropping = {{1, 0}, {0, 2}}, .data_format = "channels_first"};
            },
            {{2, 3, 4}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    x = to_channels_last(x, data_format);
    const Shape& in = x.shape();
    const std::int64_t bottom = in[1] - cropping.rows.second, right = in[2] - cropping.columns.second;
    if (cropping.rows.first >= bottom || cropping.columns.first >= right)
      throw Error(cat("crops ", cropping.rows.first + cropping.rows.second, " rows and ",
                      cropping.columns.first + cropping.columns.second, " columns of ", in, ": nothing would be left"));
    x = slice(x, {0, cropping.rows.first, cropping.columns.first, 0}, {in[0], bottom, right, in[3]});
    return from_channels_last(x, data_format);
  }
};

struct UpSampling2D {
  Pair size = 2;
  std::string data_format = "channels_last";
  static Schema schema() {
    return Schema("UpSampling2D", "Images whose rows and columns are repeated: the nearest neighbour.")
        .arg("size", &UpSampling2D::size, "How often each row and column stands.", at_least(1))
        .arg("data_format", &UpSampling2D::data_format, "Where the channels are.",
             one_of({"channels_last", "channels_first"}))
        .example(+[] { return UpSampling2D{.size = Pair(3, 2)}; }, {{2, 2, 2}});
  }
  Value call(Scope&, Value x) const {
    if (x.shape().rank() != 4) throw Error(cat("takes images [batch, height, width, channels], got ", x.shape()));
    x = to_channels_last(x, data_format);
    const std::int64_t n = x.shape()[0], h = x.shape()[1], w = x.shape()[2], c = x.shape()[3];
    x = broadcast_to(reshape(x, {n, h, 1, w, 1, c}), {n, h, size.first, w, size.second, c});
    return from_channels_last(reshape(x, {n, h * size.first, w * size.second, c}), data_format);
  }
};

inline void register_reshaping(Registry<Layer>& r) {
  r.add<Flatten>();
  r.add<Reshape>();
  r.add<Permute>();
  r.add<RepeatVector>();
  r.add<ZeroPadding2D>();
  r.add<Cropping2D>();
  r.add<UpSampling2D>();
}

}  // namespace strata::layers
