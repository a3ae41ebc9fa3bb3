// The DLPack structures (version 1.0 and the unversioned form before it): the exchange of arrays between
// libraries without a copy. The layout is fixed by the DLPack standard.
#pragma once

#include <cstdint>

namespace ig::dlpack {

struct Device {
  int32_t type;  // 1: CPU
  int32_t id;
};
inline constexpr int32_t kCpu = 1;

struct DataType {
  uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool
  uint8_t bits;
  uint16_t lanes;
};

struct TensorView {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

struct Managed {
  TensorView tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  uint32_t major, minor;
};
inline constexpr uint64_t kReadOnly = 1;
inline constexpr uint64_t kCopied = 2;

struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  TensorView tensor;
};

}  // namespace ig::dlpack
