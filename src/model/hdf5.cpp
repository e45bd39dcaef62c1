// SPDX-License-Identifier: Apache-2.0
// libhdf5's C interface behind Hdf5File. Every return is checked; its own error printing is off.
#include "model/hdf5.h"

#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "strata/error.h"

namespace strata {

namespace {

constexpr std::size_t most_objects = 100'000;
constexpr int deepest = 64;

// A handle and what closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void quiet() {
  static const bool done = [] {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  (void)done;
}

// As h5py writes booleans.
hid_t boolean_type() {
  const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
  signed char value = 0;
  H5Tenum_insert(type, "FALSE", &value);
  value = 1;
  H5Tenum_insert(type, "TRUE", &value);
  return type;
}

hid_t half_type() {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

hid_t file_type(DType dtype) {
  switch (dtype) {
    case DType::float32: return H5Tcopy(H5T_IEEE_F32LE);
    case DType::float64: return H5Tcopy(H5T_IEEE_F64LE);
    case DType::float16: return half_type();
    case DType::bfloat16: {
      const hid_t type = H5Tcreate(H5T_OPAQUE, 2);  // Keras: opaque, and an attribute that says so
      H5Tset_tag(type, "");
      return type;
    }
    case DType::int32: return H5Tcopy(H5T_STD_I32LE);
    case DType::int64: return H5Tcopy(H5T_STD_I64LE);
    case DType::uint8: return H5Tcopy(H5T_STD_U8LE);
    case DType::boolean: return boolean_type();
    default: return -1;
  }
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string& part : split(path, '/'))
    if (!part.empty()) parts.push_back(part);
  return parts;
}

}  // namespace

Hdf5File::Hdf5File() = default;
Hdf5File::Hdf5File(Hdf5File&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), written_(std::move(other.written_)) {}

Hdf5File::~Hdf5File() {
  if (file_ >= 0) H5Fclose(file_);
}

void Hdf5File::fail(const std::string& object, const std::string& what) const {
  const std::string message = cat(path_, ": ", object.empty() ? "" : cat("'", object, "': "), what);
  if (written_) throw RunFailed(message);
  throw Error(message);
}

std::int64_t Hdf5File::checked(std::int64_t handle, const std::string& object, const char* what) const {
  if (handle < 0) fail(object, what);
  return handle;
}

Hdf5File Hdf5File::create(const std::string& path) {
  quiet();
  Hdf5File file;
  file.path_ = path;
  file.written_ = std::make_unique<AtomicFile>(path);
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
  file.file_ = H5Fcreate(file.written_->temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file.file_ < 0) file.fail("", "cannot be created");
  return file;
}

Hdf5File Hdf5File::open(const std::string& path) {
  quiet();
  Hdf5File file;
  file.path_ = path;
  if (!exists(path)) throw Error(cat(path, ": there is no such file"));
  if (H5Fis_hdf5(path.c_str()) <= 0) throw Error(cat(path, ": is no HDF5 file"));
  file.file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file.file_ < 0) file.fail("", "cannot be opened: it is damaged, or another program is writing it");
  return file;
}

void Hdf5File::make_group(const std::string& path) {
  std::string so_far;
  for (const std::string& part : parts_of(path)) {
    so_far += "/" + part;
    if (H5Lexists(file_, so_far.c_str(), H5P_DEFAULT) > 0) continue;
    const Handle group(checked(H5Gcreate2(file_, so_far.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path,
                               "the group cannot be made"),
                       H5Gclose);
  }
}

void Hdf5File::write(const std::string& path, const Tensor& tensor) {
  const auto slash = path.rfind('/');
  if (slash != std::string::npos) make_group(path.substr(0, slash));
  const Handle type(checked(file_type(tensor.dtype()), path, "its dtype has no place in HDF5"), H5Tclose);
  std::vector<hsize_t> extents(tensor.shape().begin(), tensor.shape().end());
  const Handle space(extents.empty() ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                     H5Sclose);
  const Handle set(checked(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path,
                           "the dataset cannot be made"),
                   H5Dclose);
  checked(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.host_data()), path,
          "the numbers cannot be written");
  if (tensor.dtype() == DType::bfloat16) set_attribute(path, "dtype", "bfloat16");
}

void Hdf5File::set_attribute(const std::string& object, const std::string& name, const std::string& value) {
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(checked(H5Acreate_by_name(file_, object.c_str(), name.c_str(), type, space, H5P_DEFAULT,
                                                   H5P_DEFAULT, H5P_DEFAULT),
                                 object, "an attribute cannot be made"),
                         H5Aclose);
  const char* text = value.c_str();
  checked(H5Awrite(attribute, type, &text), object, "an attribute cannot be written");
}

void Hdf5File::close() {
  STRATA_CHECK(written_, "close() is for files being written");
  checked(H5Fflush(file_, H5F_SCOPE_GLOBAL), "", "cannot be written out");
  const herr_t closed = H5Fclose(std::exchange(file_, -1));
  checked(closed, "", "cannot be closed");
  written_->commit();
}

bool Hdf5File::has(const std::string& path) const {
  std::string so_far;
  for (const std::string& part : parts_of(path)) {
    so_far += "/" + part;
    if (H5Lexists(file_, so_far.c_str(), H5P_DEFAULT) <= 0) return false;
    H5L_info_t info{};
    checked(H5Lget_info(file_, so_far.c_str(), &info, H5P_DEFAULT), so_far, "cannot be looked at");
    if (info.type != H5L_TYPE_HARD) fail(so_far, "is a link to somewhere else; links are not followed");
  }
  return true;
}

Tensor Hdf5File::read(const std::string& path) const {
  if (!has(path)) fail(path, "is not in the file");
  const Handle set(checked(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), path, "is no dataset"), H5Dclose);
  const Handle plan(checked(H5Dget_create_plist(set), path, "cannot be looked at"), H5Pclose);
  if (H5Pget_external_count(plan) != 0) fail(path, "keeps its numbers in another file; that is not read");
  if (H5Pget_layout(plan) == H5D_VIRTUAL) fail(path, "is a virtual dataset; that is not read");
  const int filters = H5Pget_nfilters(plan);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const auto filter = H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      fail(path, cat("uses filter ", static_cast<int>(filter), "; gzip, shuffle and fletcher32 can be read"));
  }
  const Handle space(checked(H5Dget_space(set), path, "has no shape"), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > Shape::max_rank)
    fail(path, cat("has ", rank, " axes; at most ", Shape::max_rank, " can be read"));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  const Handle type(checked(H5Dget_type(set), path, "has no dtype"), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t size = H5Tget_size(type);
  DType dtype = DType::none;
  if (kind == H5T_FLOAT)
    dtype = size == 4 ? DType::float32 : size == 8 ? DType::float64 : size == 2 ? DType::float16 : DType::none;
  if (kind == H5T_INTEGER)
    dtype = size == 1 ? DType::uint8 : size == 4 ? DType::int32 : size == 8 ? DType::int64 : DType::none;
  if (kind == H5T_ENUM && size == 1) dtype = DType::boolean;
  if (kind == H5T_OPAQUE && size == 2 && has_attribute(path, "dtype") && attribute(path, "dtype") == "bfloat16")
    dtype = DType::bfloat16;
  if (dtype == DType::none) fail(path, cat("has a dtype that cannot be read (", size, " bytes each)"));
  // What is announced must be stored: a few bytes may claim terabytes.
  std::uint64_t bytes = size;
  std::vector<std::int64_t> shape;
  for (const hsize_t extent : extents) {
    shape.push_back(static_cast<std::int64_t>(extent));
    if (extent > INT64_MAX || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      fail(path, "announces more numbers than there can be");
  }
  const std::uint64_t stored = H5Dget_storage_size(set);
  if (filters == 0 ? stored < bytes : bytes > (std::uint64_t{4} << 30) && bytes / 1000 > stored)
    fail(path, cat("announces ", bytes_text(bytes), " of numbers, but ", bytes_text(stored), " are stored"));
  Tensor tensor(Type{Shape(shape), dtype});
  const Handle memory(kind == H5T_OPAQUE ? H5Tcopy(type) : file_type(dtype), H5Tclose);
  if (bytes > 0)
    checked(H5Dread(set, kind == H5T_ENUM ? static_cast<hid_t>(type) : static_cast<hid_t>(memory), H5S_ALL, H5S_ALL,
                    H5P_DEFAULT, tensor.host_data()),
            path, "cannot be read: the file is damaged");
  return tensor;
}

bool Hdf5File::has_attribute(const std::string& object, const std::string& name) const {
  return H5Aexists_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::string Hdf5File::attribute(const std::string& object, const std::string& name) const {
  const Handle attribute(checked(H5Aopen_by_name(file_, object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), object,
                                 "has no such attribute"),
                         H5Aclose);
  const Handle type(H5Aget_type(attribute), H5Tclose);
  if (H5Tget_class(type) != H5T_STRING) fail(object, cat("attribute ", name, " is no text"));
  const Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Sget_simple_extent_npoints(space) != 1) fail(object, cat("attribute ", name, " is not one text"));
  if (H5Tis_variable_str(type) > 0) {
    const Handle memory(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(memory, H5T_VARIABLE);
    H5Tset_cset(memory, H5Tget_cset(type));
    char* text = nullptr;
    checked(H5Aread(attribute, memory, &text), object, "an attribute cannot be read");
    std::string result = text ? text : "";
    H5free_memory(text);
    return result;
  }
  std::string text(H5Tget_size(type), '\0');
  checked(H5Aread(attribute, type, text.data()), object, "an attribute cannot be read");
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::vector<std::string> Hdf5File::datasets_under(const std::string& group) const {
  std::vector<std::string> found;
  std::size_t seen = 0;
  // Not by libhdf5's own walk: a file may hold circles.
  auto walk = [&](auto& self, const std::string& path, int depth) -> void {
    if (depth > deepest) fail(path, cat("is nested more than ", deepest, " deep"));
    const Handle here(H5Gopen2(file_, ("/" + path).c_str(), H5P_DEFAULT), H5Gclose);
    if (here < 0) return;
    H5G_info_t info{};
    checked(H5Gget_info(here, &info), path, "cannot be looked at");
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++seen > most_objects) fail(path, cat("has more than ", most_objects, " objects"));
      char name[1024];
      if (H5Lget_name_by_idx(here, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT) < 0)
        fail(path, "cannot be listed");
      const std::string child = path.empty() ? name : path + "/" + name;
      if (!has(child)) continue;
      H5O_info_t object{};
      checked(H5Oget_info_by_name2(file_, ("/" + child).c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT), child,
              "cannot be looked at");
      if (object.type == H5O_TYPE_GROUP) self(self, child, depth + 1);
      else if (object.type == H5O_TYPE_DATASET) found.push_back(child);
    }
  };
  if (group.empty() || has(group)) walk(walk, group, 0);
  std::ranges::sort(found);
  return found;
}

}  // namespace strata
