#include "tests/faults/paged_fault_run.h"

#include <memory>
#include <optional>
#include <utility>

#include "tests/support/identities.h"
#include "tests/support/paged_session.h"
#include "tests/support/throwing_checks.h"

namespace quarry::paged {
namespace {

std::string broken_error(const Error& error) {
  if (error.message.empty()) return "an error without a message";
  const bool clean = error.code == ErrorCode::out_of_memory || error.code == ErrorCode::driver;
  return clean ? "" : "neither out of memory nor the driver's error: " + error.message;
}

class Faulted final : public Session {
 public:
  using Session::Session;

  std::string play(const Program& program, std::size_t check_every) {
    std::size_t done = 0;
    for (const Step& step : program.operations) {
      perform(step);
      ++done;
      const bool checks = done % check_every == 0 || done == program.operations.size();
      std::string what = checks ? broken() : failed();
      if (!what.empty()) return "step " + std::to_string(done) + ": " + what;
    }
    return {};
  }

  // Everything works again, on a device with room.
  std::string recover() {
    device_->set_capacity(kUnlimited);
    for (const Act act : {Act::outside, Act::limit}) perform({.act = act});
    perform({.act = Act::fraction, .amount = 100});
    for (const std::uint64_t size : {std::uint64_t{512}, start_.page.count * 2 + 512}) {
      perform({.act = Act::allocate, .block = next_++, .amount = size});
      if (!blocks_.contains(next_ - 1)) return "the next request is refused: " + last_;
    }
    if (std::string what = broken_all(); !what.empty()) return what;
    unwind();
    (void)allocator_.empty_cache();
    if (std::string what = broken_all(); !what.empty()) return "unwound: " + what;
    return allocator_.ledger().reserved == Bytes{} ? "" : "bytes stay reserved when nothing lives";
  }

 private:
  Allocation ask(const Step& /*step*/, const Request& request, std::uint32_t /*pool*/) override {
    Result<Allocation> got = allocator_.allocate(request);
    if (got) return *std::move(got);
    last_ = got.error().message;
    if (std::string what = broken_error(got.error()); !what.empty()) fail(std::move(what));
    return {};
  }
  void refused(const Error& error) override {
    if (std::string what = broken_error(error); !what.empty()) fail(std::move(what));
  }

  // Asks the driver nothing, so that the fault is not used up.
  std::string broken() {
    if (!failed().empty()) return failed();
    if (const auto hazards = device_->take_hazards(); !hazards.empty()) return "hazard: " + describe(hazards.front());
    if (std::string what = allocator_.validate(); !what.empty()) return "validate: " + what;
    const Snapshot snapshot = allocator_.snapshot();
    if (std::string what = oracle::broken_layout(snapshot, live()); !what.empty()) return what;
    return oracle::broken_counters(allocator_.counters(), snapshot);
  }
  // Pages that the driver refused to take back are not reserved any more and still there, until the next call.
  std::string broken_all() {
    if (std::string what = broken(); !what.empty()) return what;
    return oracle::broken_identity(allocator_, nullptr, live(), {});
  }

  std::uint32_t next_ = 1u << 30;
  std::string last_;
};

std::string held_text(const sim::Holdings& h) {
  return std::to_string(h.segments) + " segments, " + std::to_string(h.reservations) + " reservations, " +
         std::to_string(h.pages) + " pages, " + std::to_string(h.mappings) + " mappings, " + std::to_string(h.events) +
         " events";
}

FaultedRun play(const Program& program, const test::DriverFault& fault, std::size_t check_every) {
  FaultedRun result;
  const auto device = std::make_shared<sim::Device>(device_options(program.start));
  const auto driver = std::make_shared<test::FaultyDriver>(device, fault);
  Result<Allocator> opened = Allocator::open(driver, allocator_options(program.start));
  if (!opened) {
    result.breach = broken_error(opened.error());
  } else {
    auto session = std::make_unique<Faulted>(program.start, device, *std::move(opened));
    try {
      result.breach = session->play(program, check_every);
      const Counters counters = session->allocator().counters();
      result.alias_maps = counters[Tally::num_alias_maps];
      result.stream_waits = counters[Tally::num_stream_waits];
      result.unmaps = device->call_counts()[static_cast<std::size_t>(sim::Call::unmap)];
      result.calls = driver->calls();
      driver->lift();
      if (result.breach.empty()) result.breach = session->recover();
    } catch (const std::runtime_error& failure) {
      (void)session.release();  // not fit to be torn down
      result.breach = failure.what();
      return result;
    }
  }
  const sim::Holdings held = device->holdings();
  if (result.breach.empty() && held != sim::Holdings{}) result.breach = "leaked: " + held_text(held);
  return result;
}

}  // namespace

FaultedRun run_with_fault(const Program& program, const test::DriverFault& fault, std::size_t check_every) {
  const test::ThrowingChecks checks;
  return play(program, fault, check_every);
}

std::string to_text(const test::DriverFault& fault) {
  return "driver call " + std::to_string(fault.nth) + (fault.repeat ? " and all later" : "") +
         (fault.code == DriverCode::out_of_memory ? " fail: out of memory" : " fail: other");
}

}  // namespace quarry::paged
