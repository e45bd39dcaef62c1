// SPDX-License-Identifier: Apache-2.0
#include "model/hdf5_library.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "base/text.h"

namespace strata {

namespace {

// Libhdf5's driver of files, over FileBytes. What it calls must not throw.
struct OpenBytes {
  H5FD_t common;  // first: libhdf5's own part
  FileBytes* bytes;
  haddr_t end;  // of what libhdf5 has allotted
};
struct DriverInfo {
  FileBytes* bytes;
};
OpenBytes& opened(H5FD_t* file) { return *reinterpret_cast<OpenBytes*>(file); }
const OpenBytes& opened(const H5FD_t* file) { return *reinterpret_cast<const OpenBytes*>(file); }

constexpr const char* own_name = "strata";  // a file of any other name is not opened

H5FD_t* driver_open(const char* name, unsigned, hid_t access, haddr_t) {
  const auto* info = static_cast<const DriverInfo*>(H5Pget_driver_info(access));
  if (!info || std::string_view(name) != own_name) return nullptr;
  return reinterpret_cast<H5FD_t*>(new (std::nothrow) OpenBytes{{}, info->bytes, 0});
}
herr_t driver_close(H5FD_t* file) {
  delete &opened(file);
  return 0;
}
herr_t driver_query(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}
haddr_t driver_get_eoa(const H5FD_t* file, H5FD_mem_t) { return opened(file).end; }
herr_t driver_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  opened(file).end = end;
  return 0;
}
haddr_t driver_get_eof(const H5FD_t* file, H5FD_mem_t) { return opened(file).bytes->size(); }
herr_t driver_read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, void* into) {
  return opened(file).bytes->read(offset, {static_cast<std::byte*>(into), size}) ? 0 : -1;
}
herr_t driver_write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t offset, std::size_t size, const void* from) {
  return opened(file).bytes->write(offset, {static_cast<const std::byte*>(from), size}) ? 0 : -1;
}
herr_t driver_truncate(H5FD_t* file, hid_t, hbool_t) { return opened(file).bytes->resize(opened(file).end) ? 0 : -1; }

hid_t driver() {
  static const hid_t id = [] {
    H5FD_class_t description{};
    description.name = "strata";
    description.maxaddr = INT64_MAX;
    description.fc_degree = H5F_CLOSE_STRONG;
    description.fapl_size = sizeof(DriverInfo);
    description.open = driver_open;
    description.close = driver_close;
    description.query = driver_query;
    description.get_eoa = driver_get_eoa;
    description.set_eoa = driver_set_eoa;
    description.get_eof = driver_get_eof;
    description.read = driver_read;
    description.write = driver_write;
    description.truncate = driver_truncate;
    const H5FD_mem_t all[] = H5FD_FLMAP_DICHOTOMY;
    std::copy(std::begin(all), std::end(all), description.fl_map);
    return H5FDregister(&description);
  }();
  return id;
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

}  // namespace

hid_t create_hdf5(FileBytes& bytes, std::uint64_t user_block) {
  const Handle plan(H5Pcreate(H5P_FILE_CREATE), H5Pclose), access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const DriverInfo info{&bytes};
  if (plan < 0 || access < 0 || H5Pset_userblock(plan, user_block) < 0 ||
      H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) < 0 ||
      H5Pset_driver(access, driver(), &info) < 0)
    return -1;
  return H5Fcreate(own_name, H5F_ACC_TRUNC, plan, access);
}

hid_t open_hdf5(FileBytes& bytes) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const DriverInfo info{&bytes};
  if (access < 0 || H5Pset_driver(access, driver(), &info) < 0) return -1;
  return H5Fopen(own_name, H5F_ACC_RDONLY, access);
}

void quiet_hdf5() {
  static const herr_t without_handler = H5dont_atexit();
  (void)without_handler;
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
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

hid_t text_type(std::size_t bytes) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, bytes);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const std::string& part : split(path, '/'))
    if (!part.empty()) parts.push_back(part);
  return parts;
}

}  // namespace strata
