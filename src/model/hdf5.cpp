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

// What a file may ask of its reader.
constexpr std::size_t most_objects = 100'000, longest_name = 1023, longest_text = 1 << 20;
constexpr int deepest = 64;
constexpr std::uint64_t deflate_ratio = 1100;  // gzip packs at most about 1032 to 1

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

// Without its own messages, and without its handler at exit: after a write that failed, that handler crashes.
void quiet() {
  static const herr_t without_handler = H5dont_atexit();
  (void)without_handler;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
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

// What a stored type is taken as; none when there is no dtype that holds every value of it.
DType dtype_of_type(hid_t type) {
  const std::size_t size = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_FLOAT: {
      std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
      H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits);
      if (size == 2) return exponent_bits == 5 ? DType::float16 : DType::none;
      return size == 4 ? DType::float32 : size == 8 ? DType::float64 : DType::none;
    }
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
      if (size == 1) return is_signed ? DType::int32 : DType::uint8;
      if (size == 2) return DType::int32;
      if (size == 4) return is_signed ? DType::int32 : DType::int64;
      return size == 8 && is_signed ? DType::int64 : DType::none;
    }
    case H5T_ENUM: return size == 1 && H5Tget_nmembers(type) == 2 ? DType::boolean : DType::none;
    default: return DType::none;
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
  const hid_t made = extents.empty() ? H5Screate(H5S_SCALAR)
                                     : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  const Handle space(checked(made, path, "its shape has no place in HDF5"), H5Sclose);
  const Handle plan(checked(H5Pcreate(H5P_DATASET_CREATE), path, "the dataset cannot be made"), H5Pclose);
  H5Pset_obj_track_times(plan, false);  // equal weights are equal bytes
  const Handle set(checked(H5Dcreate2(file_, path.c_str(), type, space, H5P_DEFAULT, plan, H5P_DEFAULT), path,
                           "the dataset cannot be made"),
                   H5Dclose);
  checked(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.host_data()), path,
          "the numbers cannot be written");
  if (tensor.dtype() == DType::bfloat16) set_attribute(path, "dtype", "bfloat16");
}

void Hdf5File::put_attribute(const std::string& object, const std::string& name, std::size_t bytes, const void* value) {
  const Handle type(checked(H5Tcopy(H5T_C_S1), object, "an attribute cannot be made"), H5Tclose);
  H5Tset_size(type, bytes);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Handle space(checked(H5Screate(H5S_SCALAR), object, "an attribute cannot be made"), H5Sclose);
  const Handle attribute(checked(H5Acreate_by_name(file_, object.c_str(), name.c_str(), type, space, H5P_DEFAULT,
                                                   H5P_DEFAULT, H5P_DEFAULT),
                                 object, "an attribute cannot be made"),
                         H5Aclose);
  checked(H5Awrite(attribute, type, value), object, "an attribute cannot be written");
}

void Hdf5File::set_attribute(const std::string& object, const std::string& name, const std::string& value) {
  const char* text = value.c_str();
  put_attribute(object, name, H5T_VARIABLE, &text);
}

void Hdf5File::set_fixed_attribute(const std::string& object, const std::string& name, const std::string& value) {
  put_attribute(object, name, value.size() + 1, value.c_str());
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

namespace {

// Why a dataset is not read, or "": what it would fetch from elsewhere, unpack by code unknown to us, or make up.
std::string refusal(hid_t set, hid_t plan, std::uint64_t bytes, std::uint64_t file) {
  if (H5Pget_external_count(plan) != 0) return "keeps its numbers in another file; that is not read";
  if (H5Pget_layout(plan) == H5D_VIRTUAL) return "is a virtual dataset; that is not read";
  const int filters = H5Pget_nfilters(plan);
  bool packed = false;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    const auto filter = H5Pget_filter2(plan, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      return cat("uses filter ", static_cast<int>(filter), "; gzip, shuffle and fletcher32 can be read");
    packed = packed || filter == H5Z_FILTER_DEFLATE;
  }
  // What is announced must be stored: a few bytes may claim terabytes, and claim to store them.
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(set), file);
  if (packed ? bytes / deflate_ratio > stored : stored < bytes)
    return cat("announces ", bytes_text(bytes), " of numbers, but ", bytes_text(stored), " are stored");
  return "";
}

}  // namespace

Tensor Hdf5File::read(const std::string& path) const {
  if (!has(path)) fail(path, "is not in the file");
  const Handle set(checked(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), path, "is no dataset"), H5Dclose);
  const Handle plan(checked(H5Dget_create_plist(set), path, "cannot be looked at"), H5Pclose);
  const Handle space(checked(H5Dget_space(set), path, "has no shape"), H5Sclose);
  const Handle type(checked(H5Dget_type(set), path, "has no dtype"), H5Tclose);
  if (H5Sget_simple_extent_type(space) == H5S_NULL) fail(path, "holds nothing, not even a scalar");
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > Shape::max_rank)
    fail(path, cat("has ", rank, " axes; at most ", Shape::max_rank, " can be read"));
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) checked(H5Sget_simple_extent_dims(space, extents.data(), nullptr), path, "has no shape");
  DType dtype = dtype_of_type(type);
  const std::size_t size = H5Tget_size(type);
  const bool is_opaque = H5Tget_class(type) == H5T_OPAQUE;
  // Keras's attribute says bfloat16; there is no other opaque number of two bytes.
  if (is_opaque && size == 2 && has_attribute(path, "dtype")) dtype = DType::bfloat16;
  if (dtype == DType::none) fail(path, cat("has a dtype that cannot be read (", size, " bytes each)"));
  std::uint64_t bytes = size;
  std::vector<std::int64_t> shape;
  for (const hsize_t extent : extents) {
    shape.push_back(static_cast<std::int64_t>(extent));
    if (extent > INT64_MAX || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      fail(path, "announces more numbers than there can be");
  }
  if (const std::string why = refusal(set, plan, bytes, file_bytes(path_)); !why.empty()) fail(path, why);
  Tensor tensor(Type{Shape(shape), dtype});
  if (bytes == 0) return tensor;
  // Opaque bytes and the names of an enumeration have no order to turn around.
  const Handle memory(dtype == DType::boolean || is_opaque ? H5Tcopy(type) : file_type(dtype), H5Tclose);
  checked(H5Dread(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.host_data()), path,
          "cannot be read: the file is damaged");
  if (dtype == DType::boolean) {
    const auto* values = static_cast<const std::uint8_t*>(tensor.host_data());
    if (std::any_of(values, values + bytes, [](std::uint8_t value) { return value > 1; }))
      fail(path, "should hold false and true, and holds other values");
  }
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
  if (H5Tis_variable_str(type) != 0)
    fail(object, cat("attribute ", name, " is text of variable length, which is not read"));
  if (H5Tget_size(type) > longest_text)
    fail(object, cat("attribute ", name, " is longer than ", bytes_text(longest_text)));
  std::string text(H5Tget_size(type), '\0');
  checked(H5Aread(attribute, type, text.data()), object, "an attribute cannot be read");
  text.resize(std::strlen(text.c_str()));
  return text;
}

std::vector<std::string> Hdf5File::datasets_under(const std::string& group) const {
  std::vector<std::string> found;
  std::size_t seen = 0;
  auto kind = [&](const std::string& path) {
    H5O_info_t object{};
    checked(H5Oget_info_by_name2(file_, ("/" + path).c_str(), &object, H5O_INFO_BASIC, H5P_DEFAULT), path,
            "cannot be looked at");
    return object.type;
  };
  // Not by libhdf5's own walk: a file may hold circles.
  auto walk = [&](auto& self, const std::string& path, int depth) -> void {
    if (depth > deepest) fail(path, cat("is nested more than ", deepest, " deep"));
    const Handle here(checked(H5Gopen2(file_, ("/" + path).c_str(), H5P_DEFAULT), path, "cannot be opened"), H5Gclose);
    H5G_info_t info{};
    checked(H5Gget_info(here, &info), path, "cannot be looked at");
    for (hsize_t i = 0; i < info.nlinks; ++i) {
      if (++seen > most_objects) fail(path, cat("has more than ", most_objects, " objects"));
      char name[longest_name + 1];
      const auto length = H5Lget_name_by_idx(here, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
      if (length < 0) fail(path, "cannot be listed");
      if (static_cast<std::size_t>(length) > longest_name)
        fail(path, cat("has a name of ", length, " letters; at most ", longest_name, " can be read"));
      const std::string child = path.empty() ? name : path + "/" + name;
      if (!has(child)) fail(child, "cannot be looked at");
      const H5O_type_t object = kind(child);
      if (object == H5O_TYPE_GROUP) self(self, child, depth + 1);
      else if (object == H5O_TYPE_DATASET) found.push_back(child);
    }
  };
  if (group.empty() || (has(group) && kind(group) == H5O_TYPE_GROUP)) walk(walk, group, 0);
  std::ranges::sort(found);
  return found;
}

}  // namespace strata
