// The allocator under test over a simulated device, answering operations in the oracle's terms.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/operation.h"
#include "support/oracle.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::oracle {

class Subject {
 public:
  explicit Subject(const Start& start);

  Outcome apply(const Operation& operation);
  // The first identity that does not hold, or what an operation found broken by itself; empty if all is well.
  std::string broken() const;
  // The same after everything was freed and given back; then the device may hold nothing either.
  std::string broken_end();

  // The error of the last request that failed.
  const Error& error() const { return error_; }
  Allocator& allocator() { return allocator_; }
  sim::Device& device() { return *device_; }

 private:
  Outcome run(const Allocate& op);
  Outcome run(const Free& op);
  Outcome run(const EmptyCache& op);
  Outcome run(const ResetPeak& op);
  Outcome run(const ResetAccumulated& op);
  Outcome run(const SetFraction& op);
  Outcome run(const Configure& op);
  Outcome run(const SetCapacity& op);
  Outcome run(const SetOutside& op);
  Outcome run(const FailSegment& op);
  Outcome failed(const Error& error);
  std::uint64_t number_at(Address address) const;

  std::shared_ptr<sim::Device> device_;
  Allocator allocator_;
  std::vector<Stream> streams_;
  std::map<std::uint32_t, Allocation> live_;
  Counters baseline_;
  Error error_;
  std::string breach_;
};

}  // namespace quarry::oracle
