// The structures of DLPack 1, written down here from their layout: what programs hand each other as pointers. They are
// those of dlpack.h under our own names; cast where a program has that header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quarry::dlpack {

enum : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };  // device types

enum Code : std::uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;  // elements of a vector type; 1 here

  friend bool operator==(const DataType&, const DataType&) = default;
};

// Strides are in elements; null (before version 1.2 of DLPack) means dense.
struct Array {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

// The form before version 1. The consumer calls `deleter` (if it is not null) once, when it is done.
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

enum : std::uint64_t { kReadOnly = 1, kCopied = 2, kPadded = 4 };  // flags

struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Array array;
};

static_assert(sizeof(void*) == 8 && sizeof(Array) == 48 && offsetof(Array, shape) == 24);
static_assert(sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80 && offsetof(ManagedVersioned, array) == 32);

}  // namespace quarry::dlpack
