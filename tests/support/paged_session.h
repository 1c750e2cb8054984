// An allocator with the paged policy on a simulated device, and what a program has of it. Steps are done as a correct
// program does them; who wants to judge them derives from this.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/identities.h"
#include "support/paged_program.h"
#include "support/tracked_block.h"

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/sim/device.h>

namespace quarry::paged {

sim::DeviceOptions device_options(const Start& start);
Options allocator_options(const Start& start);

class Session {
 public:
  // `allocator` works on `device`, by whatever driver.
  Session(const Start& start, std::shared_ptr<sim::Device> device, Allocator allocator);
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void perform(const Step& step);
  // Frees all blocks, ends all scopes and releases all pools.
  void unwind();

  Allocator& allocator() { return allocator_; }
  std::vector<oracle::LiveBlock> live() const;
  // What went wrong first; empty if nothing did.
  const std::string& failed() const { return failed_; }

 protected:
  // A request that the step is about, from `pool`; empty where it was refused.
  virtual Allocation ask(const Step& step, const Request& request, std::uint32_t pool) = 0;
  virtual void empty_cache() { (void)allocator_.empty_cache(); }
  // A call whose only reason to fail is the driver.
  virtual void refused(const Error& error) { fail(error.message); }

  void fail(std::string text) {
    if (failed_.empty()) failed_ = std::move(text);
  }
  StreamId stream_id(std::uint32_t slot) const { return queues_[slot].stream.id(); }

  Start start_;
  std::shared_ptr<sim::Device> device_;
  Allocator allocator_;
  std::map<std::uint32_t, hunt::TrackedBlock> blocks_;
  std::set<StreamId> coupled_;  // with some other stream
  std::array<std::uint64_t, kPools> users_{};
  std::array<bool, kPools> no_split_{};
  bool pools_begun_ = false;
  std::uint64_t waits_ = static_cast<std::uint64_t>(start_.waits);

 private:
  struct Scope {
    std::uint32_t pool;
    bool by_stream;
    StreamId stream;
  };

  void allocate(const Step& step);
  void use(const Step& step);
  void free(std::uint32_t id);
  void wait(const hunt::Queue& waiter, const hunt::Queue& on);
  void retire(std::uint32_t slot);
  void configure();
  void set_fraction(double fraction);
  void about_pools(const Step& step);
  void begin_pool(const Step& step);
  void end_pool(std::uint32_t pool);
  void release_pool(std::uint32_t pool);
  std::uint32_t scope_of(std::uint32_t stream) const;
  bool has_scope(std::uint32_t pool) const;

  std::array<hunt::Queue, kStreams> queues_{};
  std::vector<Scope> scopes_;
  std::uint64_t limit_mib_ = 0;
  std::string failed_;
};

}  // namespace quarry::paged
