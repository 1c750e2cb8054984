// One case with a fault at one driver call, judged while it runs and after everything was given back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "tests/support/identities.h"
#include "tools/cases/call_text.h"
#include "tools/cases/session.h"

namespace quarry::tools {

struct Fault {
  std::uint64_t nth;  // driver call of the run, 1 = the first that opening makes; 0 = none
  DriverCode code;
  bool repeat;
};

inline std::string to_text(const Fault& fault) {
  return "driver call " + std::to_string(fault.nth) + (fault.repeat ? " and all later" : "") +
         (fault.code == DriverCode::out_of_memory ? " fail: out of memory" : " fail: other");
}

// The answers may be others than the recorded ones. The fault is lifted after the operations; one that has not struck
// by then strikes while the case is unwound, which is then done once more.
class FaultRun {
 public:
  // What is costly to check is checked after every `check_every` operations and after the last.
  FaultRun(const Case& one, const Fault& fault, std::size_t check_every)
      : case_(one), fault_(fault), check_every_(check_every) {}

  // The first breach, or an empty string.
  std::string broken() {
    std::string breach;
    {
      Session session(case_, [this](const sim::DeviceOptions& options) {
        const SimBackend made = plain_sim_backend(options);
        device_ = made.device;
        device_->fail_any(fault_.nth, fault_.code, fault_.repeat);
        return made;
      });
      const Status opened = session.open(case_);
      breach = opened ? played(session) : broken_error(opened.error());
      lift();
    }
    if (!breach.empty()) return breach;
    return device_->holdings() == sim::Holdings{} ? "" : "leaked: " + held();
  }

  // Driver calls so far.
  std::uint64_t calls() const {
    const auto counts = device_->call_counts();
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }

 private:
  static constexpr Bytes kNext{1 << 20};
  static constexpr Bytes kSegment{2 << 20};  // that it needs

  std::string played(Session& session) {
    for (std::size_t i = 0; i < case_.steps.size(); ++i) {
      const Step& step = case_.steps[i];
      const bool check = (i + 1) % check_every_ == 0 || i + 1 == case_.steps.size();
      if (std::string breach = stepped(session, step, check); !breach.empty()) {
        return "step " + std::to_string(i) + " (" + step.text + "): " + breach;
      }
    }
    if (calls() >= fault_.nth) lift();
    if (std::string breach = served(session, true); !breach.empty()) return "the next request: " + breach;
    if (std::string breach = unwound(session); !breach.empty()) return "unwinding: " + breach;
    lift();
    if (std::string breach = served(session, false); !breach.empty()) return "the last request: " + breach;
    if (std::string breach = unwound(session); !breach.empty()) return "unwinding again: " + breach;
    const Ledger ledger = session.ledger();
    if (ledger.active() != Bytes{}) return std::to_string(ledger.active().count) + " bytes never came back";
    if (ledger.reserved != Bytes{}) return std::to_string(ledger.reserved.count) + " bytes stayed reserved";
    return device_->in_use() == Bytes{} ? "" : "pages were lost: " + held();
  }

  std::string stepped(Session& session, const Step& step, bool check) {
    const Result<Seen> seen = session.apply(step.operation);
    const bool request =
        std::holds_alternative<op::Alloc>(step.operation) || std::holds_alternative<op::Allocate>(step.operation);
    // A name is asked for again where the recording refused it and this run did not.
    if (!seen) return request ? "" : "not applied: " + seen.error().message;
    if (seen->error && request) {
      if (std::string breach = broken_error(*seen->error); !breach.empty()) return breach;
    }
    if (seen->error && seen->error->message.empty()) return "an error without a message";
    return check ? broken_state(session) : "";
  }

  static std::string broken_error(const Error& error) {
    if (error.message.empty()) return "an error without a message";
    const bool clean = error.code == ErrorCode::out_of_memory || error.code == ErrorCode::driver;
    return clean ? "" : "neither out of memory nor the driver's error: " + error.message;
  }

  std::string broken_state(const Session& session) const {
    if (std::string breach = session.validate(); !breach.empty()) return "validate: " + breach;
    const Snapshot snapshot = session.allocator().snapshot();
    const Counters counters = session.allocator().counters();
    if (std::string breach = oracle::broken_counters(counters, snapshot); !breach.empty()) return breach;
    if (!device_->hazards().empty()) return "a hazard";
    // Asking for the ledger is a driver call, which must not use up the fault.
    return lifted_ ? broken_ledger(session.ledger(), counters, snapshot) : "";
  }

  static std::string broken_ledger(const Ledger& ledger, const Counters& counters, const Snapshot& snapshot) {
    // Free pages of an expandable segment go one by one, so that its free blocks are not judged as the others are.
    const bool plain = std::ranges::none_of(snapshot.segments, &SegmentView::expandable);
    return plain ? oracle::broken_ledger(ledger, counters, snapshot) : "";
  }

  // A request that nothing stands against. `may_be_full`: the case's own limits hold still, so that it may be refused.
  std::string served(Session& session, bool may_be_full) const {
    if (!may_be_full) {
      (void)session.apply(op::SetFraction{1});
      for (const Operation& operation : {Operation{op::SetContext{}}, Operation{op::SetCapacity{kUnlimited}}}) {
        if (const auto done = session.apply(operation); !done) return done.error().message;
      }
    }
    const auto seen = session.apply(op::Alloc{"the next one", kNext});
    if (!seen) return seen.error().message;
    if (!seen->error || !lifted_) return {};
    const bool refused = may_be_full && seen->error->code == ErrorCode::out_of_memory;
    return refused && tight(session) ? "" : seen->error->message;
  }

  // The device, or the bound on it, has no room for the segment that the request needs.
  static bool tight(const Session& session) {
    return session.ledger().device_free < kSegment || session.allocator().memory_fraction() < 1;
  }

  // Everything is freed, ended and released, whatever state it is in.
  std::string unwound(Session& session) const {
    std::set<CaseStream> streams{0};
    std::set<CasePool> pools;
    for (const Step& step : case_.steps) {
      if (const auto* control = std::get_if<op::StreamControl>(&step.operation)) streams.insert(control->stream);
      if (const auto* capture = std::get_if<op::Capture>(&step.operation)) streams.insert(capture->stream);
      if (const auto* pool = std::get_if<op::Pool>(&step.operation)) pools.insert(pool->pool);
    }
    for (const CaseStream stream : streams) {
      device_->unhold(handle_of(stream));
      (void)device_->end_capture(handle_of(stream));
    }
    for (const CasePool pool : pools) {
      while (succeeds(session, op::Pool{op::PoolVerb::end, pool})) {
      }
    }
    free_all(session);
    for (const CasePool pool : pools) {
      while (succeeds(session, op::Pool{op::PoolVerb::release, pool})) {
      }
    }
    (void)succeeds(session, op::Capture{op::CaptureVerb::current, 0});
    (void)succeeds(session, op::EmptyCache{});
    return broken_state(session);
  }

  void free_all(Session& session) const {
    (void)succeeds(session, op::Free{"the next one"});
    for (const Step& step : case_.steps) {
      if (const auto* one = std::get_if<op::Alloc>(&step.operation)) (void)succeeds(session, op::Free{one->id});
      if (const auto* one = std::get_if<op::Allocate>(&step.operation)) (void)succeeds(session, op::Free{one->id});
      if (const auto* one = std::get_if<op::View>(&step.operation)) (void)succeeds(session, op::Free{one->id});
    }
  }

  static bool succeeds(Session& session, const Operation& operation) {
    const auto seen = session.apply(operation);
    return seen && !seen->error;
  }

  void lift() {
    lifted_ = true;
    device_->fail_any(0);
    for (std::size_t call = 0; call < sim::kCallNames.size(); ++call) device_->fail(static_cast<sim::Call>(call), 0);
  }

  std::string held() const {
    const sim::Holdings h = device_->holdings();
    return std::to_string(h.segments) + " segments, " + std::to_string(h.reservations) + " reservations, " +
           std::to_string(h.pages) + " pages, " + std::to_string(h.mappings) + " mappings, " +
           std::to_string(h.events) + " events";
  }

  const Case& case_;
  Fault fault_;
  std::size_t check_every_;
  std::shared_ptr<sim::Device> device_;
  bool lifted_ = false;
};

}  // namespace quarry::tools
