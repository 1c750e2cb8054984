// The test bench's side of the stand-in libcuda: what kind of machine it plays, and the simulated devices behind it.
//
// A test loads the library with dlopen and asks it for `quarry_standin_control`; a program that cannot be asked reads
// its machine from the environment: QUARRY_STANDIN="devices=2,version=12040,missing=cuStreamGetId,capacity=1073741824,
// bytes=1". Not thread-safe against calls of the driver API.
#pragma once

#include <cstdint>
#include <string>

#include <quarry/allocator/sim/device.h>

namespace quarry::standin {

struct Settings {
  int devices = 1;
  int version = 13000;       // of the driver, as CUDA counts
  int init = 0;              // what cuInit returns, a CUresult
  std::string missing = {};  // name of an entry point that is not there
  bool exportable = true;    // pages may have a POSIX handle
  bool rdma = true;
  bool peers = true;                                         // the devices reach each other
  sim::DeviceOptions device{.capacity = Bytes{1ull << 30}};  // of each device; only `base` differs
};

class Control {
 public:
  virtual ~Control() = default;

  // A new machine that nobody has initialised; contexts, streams and events of the old one are dead handles.
  virtual void reset(const Settings& settings) = 0;
  // Lives until the next reset. The devices of a machine are made by reset or by the first call of the driver API.
  virtual sim::Device& device(int ordinal) = 0;
  // The nth next call of the entry point `name` ("" = of any) returns `result` and does nothing; `repeat`: so do all
  // later ones. One fault at a time; nth = 0 removes it.
  virtual void fail(const std::string& name, std::uint64_t nth, int result, bool repeat = false) = 0;
  // As in a process that is exiting: from now on every call returns CUDA_ERROR_DEINITIALIZED.
  virtual void shut_down() = 0;
  // Calls so far of an entry point, "" = of all; look-ups do not count.
  virtual std::uint64_t calls(const std::string& name) const = 0;
  virtual int contexts_retained(int ordinal) const = 0;
};

}  // namespace quarry::standin

extern "C" quarry::standin::Control* quarry_standin_control();
