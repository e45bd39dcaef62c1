// SPDX-License-Identifier: Apache-2.0
#include "model/hdf5_guard.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "model/hdf5_library.h"
#include "strata/error.h"

namespace strata {

namespace {

// What a file may ask of its reader.
constexpr std::size_t most_objects = 100'000, longest_name = 1023, longest_text = 1 << 20;
constexpr int deepest = 64;
constexpr std::uint64_t deflate_ratio = 1100;  // gzip packs at most about 1032 to 1
const std::string is_damaged = "cannot be looked at: the file is damaged";

using Kind = StoredObject::Kind;

// The whole catalogue is in vain.
[[noreturn]] void give_up(const std::string& path, const std::string& what) {
  throw Error(path.empty() ? what : cat("'", path, "': ", what));
}

// Why the numbers are not read, or "": what they would fetch from elsewhere, unpack by code unknown to us, or make up.
std::string refusal(hid_t set, hid_t plan, std::uint64_t bytes, std::uint64_t file, bool& is_packed) {
  if (H5Pget_external_count(plan) != 0) return "keeps its numbers in another file; that is not read";
  if (H5Pget_layout(plan) == H5D_VIRTUAL) return "is a virtual dataset; that is not read";
  const int filters = H5Pget_nfilters(plan);
  if (filters < 0) return is_damaged;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const auto filter = H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      return cat("uses filter ", static_cast<int>(filter), "; gzip, shuffle and fletcher32 can be read");
    is_packed = is_packed || filter == H5Z_FILTER_DEFLATE;
  }
  // What is announced must be stored: a few bytes may claim terabytes, and claim to store them.
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(set), file);
  if (is_packed ? bytes / deflate_ratio > stored : stored < bytes)
    return cat("announces ", bytes_text(bytes), " of numbers, but ", bytes_text(stored), " are stored");
  return "";
}

// Goes through a file once. Not by libhdf5's own walk: a file may hold circles.
class Walk {
 public:
  Walk(hid_t file, std::uint64_t file_size, std::uint64_t most_unpacked, std::vector<StoredObject>& objects)
      : file_(file), file_size_(file_size), most_unpacked_(most_unpacked), objects_(objects) {}

  void start() {
    const Handle root(H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose);
    if (root < 0) give_up("", "cannot be opened: it is damaged");
    object(root, "", 0);
  }

 private:
  struct Name {
    std::string name;
    bool is_link;
  };
  struct Names {
    std::vector<Name> all;
    std::string failure;
  };

  std::size_t add(StoredObject object) {
    bytes_ += object.path.size() + object.refusal.size() + 128;
    for (const auto& attribute : object.attributes)
      bytes_ += attribute.name.size() + attribute.text.size() + attribute.refusal.size() + 12;
    if (objects_.size() >= most_objects) give_up(object.path, cat("has more than ", most_objects, " objects"));
    if (bytes_ > longest_catalogue) give_up(object.path, "has too many names and attributes");
    objects_.push_back(std::move(object));
    return objects_.size() - 1;
  }
  void refuse(const std::string& path, const std::string& why) {
    StoredObject object;
    object.path = path;
    object.kind = Kind::refused;
    object.refusal = why;
    add(std::move(object));
  }

  void object(hid_t handle, const std::string& path, int depth) {
    H5O_info_t info{};
    if (H5Oget_info2(handle, &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS) < 0) return refuse(path, is_damaged);
    StoredObject object;
    object.path = path;
    if (info.num_attrs > 0) attributes(handle, object);
    if (info.type == H5O_TYPE_DATASET) {
      object.kind = Kind::dataset;
      dataset(handle, object);
    } else if (info.type != H5O_TYPE_GROUP) {
      object.kind = Kind::other;
    } else if (!groups_.insert(info.addr).second) {
      return refuse(path, "is a group that stands in two places, or in itself; that is not read");
    } else if (depth > deepest) {
      return refuse(path, cat("is nested more than ", deepest, " deep"));
    }
    const bool is_group = object.kind == Kind::group;
    add(std::move(object));
    if (is_group) children(handle, path, depth);
  }

  void children(hid_t group, const std::string& path, int depth) {
    Names names;
    const auto each = [](hid_t, const char* name, const H5L_info_t* info, void* into) -> herr_t {
      auto& found = *static_cast<Names*>(into);
      try {
        if (found.all.size() >= most_objects) found.failure = cat("has more than ", most_objects, " objects");
        else found.all.push_back({name, info->type != H5L_TYPE_HARD});
      } catch (const std::bad_alloc&) {
        return -1;
      }
      return found.failure.empty() ? 0 : -1;
    };
    hsize_t from = 0;
    const bool listed = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &from, each, &names) >= 0;
    if (!names.failure.empty()) give_up(path, names.failure);
    if (!listed) {  // what lies behind it cannot be told
      for (auto& object : objects_)
        if (object.path == path) object.kind = Kind::refused, object.refusal = "cannot be listed: the file is damaged";
      return;
    }
    for (const Name& name : names.all) {
      if (name.name.empty() || name.name.size() > longest_name || name.name.find('/') != std::string::npos ||
          name.name == "." || name.name == "..") {
        refuse(path + "/?",
               cat("has a name of ", name.name.size(), " letters; at most ", longest_name, " can be read, and no '/'"));
        continue;
      }
      const std::string child = path.empty() ? name.name : path + "/" + name.name;
      if (name.is_link) {
        refuse(child, "is a link to somewhere else; links are not followed");
        continue;
      }
      const Handle handle(H5Oopen(group, name.name.c_str(), H5P_DEFAULT), H5Oclose);
      if (handle < 0) refuse(child, is_damaged);
      else object(handle, child, depth + 1);
    }
  }

  void attributes(hid_t handle, StoredObject& object) {
    Names names;
    const auto each = [](hid_t, const char* name, const H5A_info_t*, void* into) -> herr_t {
      auto& found = *static_cast<Names*>(into);
      try {
        found.all.push_back({name, false});
      } catch (const std::bad_alloc&) {
        return -1;
      }
      return found.all.size() < most_objects ? 0 : -1;
    };
    hsize_t from = 0;
    H5Aiterate2(handle, H5_INDEX_NAME, H5_ITER_INC, &from, each, &names);  // as many as can be listed
    for (const Name& name : names.all) {
      StoredAttribute attribute{name.name, {}, {}};
      attribute.refusal = attribute_text(handle, name.name, attribute.text);
      object.attributes.push_back(std::move(attribute));
    }
  }

  static std::string attribute_text(hid_t handle, const std::string& name, std::string& text) {
    const Handle attribute(H5Aopen(handle, name.c_str(), H5P_DEFAULT), H5Aclose);
    if (attribute < 0) return is_damaged;
    const Handle type(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
    if (type < 0 || space < 0) return is_damaged;
    if (H5Tget_class(type) != H5T_STRING) return "is no text";
    if (H5Tis_variable_str(type) != 0) return "is text of variable length, which is not read";
    if (H5Sget_simple_extent_npoints(space) != 1) return "is not one text";
    if (H5Tget_size(type) > longest_text) return cat("is longer than ", bytes_text(longest_text));
    text.resize(H5Tget_size(type));
    if (H5Aread(attribute, type, text.data()) < 0) return is_damaged;
    text.resize(std::min(text.size(), text.find('\0')));
    return "";
  }

  void dataset(hid_t set, StoredObject& object) {
    object.refusal = look_at(set, object);
    if (!object.refusal.empty()) return;
    if (!object.is_direct && object.bytes > most_unpacked_)
      object.refusal = cat("would be ", bytes_text(object.bytes), " once unpacked; at most ",
                           bytes_text(most_unpacked_), " are read from this file");
  }

  // Fills in what a dataset is; why it is not read, or "".
  std::string look_at(hid_t set, StoredObject& object) {
    const Handle plan(H5Dget_create_plist(set), H5Pclose), space(H5Dget_space(set), H5Sclose);
    const Handle type(H5Dget_type(set), H5Tclose);
    if (plan < 0 || space < 0 || type < 0) return is_damaged;
    if (H5Sget_simple_extent_type(space) == H5S_NULL) return "holds nothing, not even a scalar";
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > Shape::max_rank)
      return cat("has ", rank, " axes; at most ", Shape::max_rank, " can be read");
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    if (rank > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0) return "has no shape";
    const std::size_t size = H5Tget_size(type);
    const bool is_opaque = H5Tget_class(type) == H5T_OPAQUE;
    object.is_text = H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    object.dtype = object.is_text ? DType::none : dtype_of_type(type);
    // Keras's attribute says bfloat16; there is no other opaque number of two bytes.
    if (is_opaque && size == 2 && std::ranges::any_of(object.attributes, [](auto& a) { return a.name == "dtype"; }))
      object.dtype = DType::bfloat16;
    if (!object.is_text && object.dtype == DType::none)
      return cat("has a dtype that cannot be read (", size, " bytes each)");
    std::uint64_t stored = size;
    object.bytes = object.is_text ? size : size_of(object.dtype);
    for (const hsize_t extent : extents) {
      object.shape.push_back(static_cast<std::int64_t>(extent));
      if (extent > INT64_MAX || __builtin_mul_overflow(stored, extent, &stored) ||
          __builtin_mul_overflow(object.bytes, extent, &object.bytes) || object.bytes > INT64_MAX) {
        object.shape.clear();
        return "announces more numbers than there can be";
      }
    }
    if (object.is_text && H5Sget_simple_extent_npoints(space) != 1) return "is not one text";
    if (object.is_text) object.shape.clear();
    bool is_packed = false;
    if (std::string why = refusal(set, plan, stored, file_size_, is_packed); !why.empty()) return why;
    const haddr_t offset = H5Pget_layout(plan) == H5D_CONTIGUOUS ? H5Dget_offset(set) : HADDR_UNDEF;
    if (offset == HADDR_UNDEF || offset > file_size_ || object.bytes > file_size_ - offset) return "";
    object.is_direct = is_opaque || object.is_text || object.dtype == DType::boolean;
    if (!object.is_direct) {
      const Handle memory(file_type(object.dtype), H5Tclose);
      object.is_direct = H5Tequal(type, memory) > 0;
    }
    object.offset = object.is_direct ? offset : 0;
    return "";
  }

  hid_t file_;
  std::uint64_t file_size_, most_unpacked_;
  std::vector<StoredObject>& objects_;
  std::uint64_t bytes_ = 0;
  std::set<haddr_t> groups_;
};

}  // namespace

GuardedFile::GuardedFile(FileBytes& bytes, std::uint64_t most_bytes_unpacked) {
  quiet_hdf5();
  H5PLset_loading_state(0);  // no code from elsewhere
  file_ = open_hdf5(bytes);
  if (file_ < 0) {
    catalogue_.failure = "cannot be opened: it is damaged, or another program is writing it";
    return;
  }
  try {
    Walk(file_, bytes.size(), most_bytes_unpacked, catalogue_.objects).start();
  } catch (const Error& error) {
    catalogue_ = {error.what(), {}};
  }
}

GuardedFile::~GuardedFile() {
  if (file_ >= 0) H5Fclose(file_);
}

void GuardedFile::stream(std::size_t number, const std::function<void(std::span<const std::byte>)>& frame) const {
  const auto& objects = catalogue_.objects;
  const std::string failed = "cannot be read: the file is damaged, or asks for too much memory";
  if (number >= objects.size() || objects[number].kind != Kind::dataset || !objects[number].refusal.empty())
    throw Error(failed);
  const StoredObject& object = objects[number];
  if (object.bytes == 0) return;
  const Handle set(H5Dopen2(file_, object.path.c_str(), H5P_DEFAULT), H5Dclose);
  const Handle type(H5Dget_type(set), H5Tclose), space(H5Dget_space(set), H5Sclose);
  const Handle plan(H5Dget_create_plist(set), H5Pclose);
  // Opaque bytes, letters and the names of an enumeration have no order to turn around.
  const bool as_stored = object.is_text || object.dtype == DType::boolean || object.dtype == DType::bfloat16;
  const Handle memory(as_stored ? H5Tcopy(type) : file_type(object.dtype), H5Tclose);
  if (set < 0 || type < 0 || space < 0 || plan < 0 || memory < 0) throw Error(failed);
  // Slabs along the first axis, of whole chunks, so that each is unpacked once.
  constexpr std::uint64_t wanted = 8 << 20;
  const auto rank = static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space), 0));
  std::vector<hsize_t> extents(rank), chunk(rank, 1), begin(rank, 0);
  if (rank > 0) H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  const bool is_chunked = rank > 0 && H5Pget_layout(plan) == H5D_CHUNKED;
  if (is_chunked && H5Pget_chunk(plan, static_cast<int>(rank), chunk.data()) < 0) throw Error(failed);
  const std::uint64_t rows = rank > 0 ? extents[0] : 1, row_bytes = object.bytes / rows;
  std::uint64_t step = std::max<std::uint64_t>(1, wanted / row_bytes);
  if (is_chunked) step = std::max<std::uint64_t>(1, step / chunk[0]) * chunk[0];
  step = std::min(step, rows);
  std::vector<std::byte> slab;
  try {
    slab.resize(step * row_bytes);
  } catch (const std::bad_alloc&) {
    throw Error(failed);
  }
  for (std::uint64_t row = 0; row < rows; row += step) {
    const std::uint64_t count = std::min(step, rows - row);
    hid_t all = H5S_ALL;
    if (rank > 0) {
      begin[0] = row;
      extents[0] = count;
      all = H5Screate_simple(static_cast<int>(rank), extents.data(), nullptr);
      if (H5Sselect_hyperslab(space, H5S_SELECT_SET, begin.data(), nullptr, extents.data(), nullptr) < 0)
        throw Error(failed);
    }
    const Handle slab_space(
        all, rank > 0 ? H5Sclose : [](hid_t) -> herr_t { return 0; });
    if (H5Dread(set, memory, slab_space, rank > 0 ? static_cast<hid_t>(space) : H5S_ALL, H5P_DEFAULT, slab.data()) < 0)
      throw Error(failed);
    std::span<const std::byte> read = std::span(slab).first(count * row_bytes);
    for (; !read.empty(); read = read.subspan(std::min<std::size_t>(read.size(), longest_frame)))
      frame(read.first(std::min<std::size_t>(read.size(), longest_frame)));
  }
}

}  // namespace strata
