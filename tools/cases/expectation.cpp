#include "tools/cases/expectation.h"

#include <fmt/format.h>

namespace quarry::tools {
namespace {

using Differences = std::vector<Difference>;

void add(std::string key, std::string expected, std::string got, Differences& into) {
  into.push_back({{}, {}, 0, std::move(key), std::move(expected), std::move(got)});
}

std::uint64_t value_of(op::ExpectKey key, const Session& session) {
  const Ledger ledger = session.ledger();
  switch (key) {
    case op::ExpectKey::allocated:
      return ledger.allocated.count;
    case op::ExpectKey::requested:
      return ledger.requested.count;
    case op::ExpectKey::active:
      return ledger.active().count;
    case op::ExpectKey::pending:
      return ledger.pending.count;
    case op::ExpectKey::reserved:
      return ledger.reserved.count;
    case op::ExpectKey::cached:
      return ledger.cached().count;
    case op::ExpectKey::releasable:
      return ledger.releasable.count;
    case op::ExpectKey::stranded:
      return ledger.stranded.count;
    case op::ExpectKey::largest_free:
      return ledger.largest_free.count;
    case op::ExpectKey::segments:
      return ledger.segments;
    case op::ExpectKey::device_free:
      return (session.capacity() - ledger.reserved).count;
    case op::ExpectKey::peak_allocated:
      return ledger.peak_allocated.count;
    case op::ExpectKey::peak_reserved:
      return ledger.peak_reserved.count;
    case op::ExpectKey::retries:
      return ledger.retries;
  }
  return 0;
}

// Less of it is better: a bound in the policy paged.
bool is_bound(op::ExpectKey key) {
  switch (key) {
    case op::ExpectKey::active:
    case op::ExpectKey::releasable:
    case op::ExpectKey::largest_free:
    case op::ExpectKey::device_free:
      return false;
    default:
      return true;
  }
}

std::string_view name_of(op::ExpectKey key) { return op::kExpectKeyNames[static_cast<std::size_t>(key)]; }

std::string outcome(bool ok) { return ok ? "ok" : "oom"; }

void compare_outcome(bool expected, const Session& session, Differences& into) {
  const std::string got = session.served() ? outcome(*session.served()) : "no alloc";
  if (got != outcome(expected)) add("outcome", outcome(expected), got, into);
}

void compare_equal(const op::Expect& expect, const Session& session, Differences& into) {
  if (expect.ok) compare_outcome(*expect.ok, session, into);
  for (const auto& [key, value] : expect.values) {
    const std::uint64_t got = value_of(key, session);
    if (got != value) add(std::string(name_of(key)), std::to_string(value), std::to_string(got), into);
  }
}

void compare_bounds(const op::Expect& expect, const Session& session, Differences& into) {
  if (expect.ok && *expect.ok) compare_outcome(true, session, into);
  for (const auto& [key, value] : expect.values) {
    const std::uint64_t got = value_of(key, session);
    if (is_bound(key) && got > value) {
      add(std::string(name_of(key)), fmt::format("at most {}", value), std::to_string(got), into);
    }
  }
}

// What holds whatever the policy has answered.
void compare_identities(const Session& session, Differences& into) {
  if (const std::string broken = session.validate(); !broken.empty()) add("validate", "", broken, into);
  const Ledger ledger = session.ledger();
  const bool ordered =
      ledger.requested <= ledger.allocated && ledger.allocated <= ledger.active() && ledger.active() <= ledger.reserved;
  if (!ordered) add("validate", "requested <= allocated <= active <= reserved", "not so", into);
  const Bytes sum = ledger.active() + ledger.free_bytes();
  if (sum != ledger.reserved) {
    add("validate", fmt::format("reserved is {}", ledger.reserved.count),
        fmt::format("its parts add up to {}", sum.count), into);
  }
}

}  // namespace

bool Expectations::speaks_of(op::ExpectPolicy policy) const {
  if (policy == op::ExpectPolicy::any) return true;
  return (policy == op::ExpectPolicy::paged) == (policy_ == Policy::paged);
}

std::vector<Difference> Expectations::compare(const op::Expect& expect, const Session& session) {
  Differences differences;
  if (policy_ == Policy::paged) compare_identities(session, differences);
  if (!speaks_of(expect.policy)) return differences;
  if (policy_ == Policy::pytorch || expect.policy == op::ExpectPolicy::paged) {
    compare_equal(expect, session, differences);
    return differences;
  }
  better_ = better_ || (expect.ok == false && session.served() == true);
  if (!better_) compare_bounds(expect, session, differences);
  return differences;
}

}  // namespace quarry::tools
