#include "tools/cases/compare.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cases/show.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

using Differences = std::vector<Difference>;

constexpr std::string_view kNothing = "nothing";

void compare_text(std::string key, std::string expected, std::string got, Differences& into) {
  if (expected != got) into.push_back({{}, {}, 0, std::move(key), std::move(expected), std::move(got)});
}

// Shows the first entry that differs.
void compare_lists(std::string key, const std::vector<std::string>& expected, const std::vector<std::string>& got,
                   Differences& into) {
  const auto [e, g] = std::ranges::mismatch(expected, got);
  if (e == expected.end() && g == got.end()) return;
  const auto entry = [at = e - expected.begin()](bool there, std::string_view text) {
    return fmt::format("entry {}: {}", at, there ? text : kNothing);
  };
  into.push_back({{},
                  {},
                  0,
                  std::move(key),
                  entry(e != expected.end(), e != expected.end() ? *e : std::string()),
                  entry(g != got.end(), g != got.end() ? *g : std::string())});
}

// Kinds only: the words of an error are everyone's own.
std::string recorded_kind(const std::optional<std::string>& error) {
  if (!error) return "no error";
  return *error == "OutOfMemoryError" ? "out of memory" : "invalid";
}

std::string seen_kind(const std::optional<Error>& error) {
  if (!error) return "no error";
  return error->code == ErrorCode::out_of_memory ? "out of memory" : "invalid";
}

void compare_error(const std::optional<std::string>& recorded, const std::optional<Error>& seen, Differences& into) {
  const std::string expected = recorded_kind(recorded);
  const std::string got = seen_kind(seen);
  if (expected == got) return;
  const std::string detail = seen ? ": " + seen->message.substr(0, seen->message.find('\n')) : "";
  into.push_back({{}, {}, 0, "error", expected, got + detail});
}

bool several_streams(const std::vector<RecordedEvent>& events) {
  return std::ranges::any_of(events, [&](const RecordedEvent& event) { return event.stream != events.front().stream; });
}

// Stable-sorts every run of neighbours that `belongs` picks.
template <class Item, class Belongs, class Key>
void sort_runs(std::vector<Item>& items, Belongs belongs, Key key) {
  for (auto begin = items.begin(); begin != items.end();) {
    begin = std::find_if(begin, items.end(), belongs);
    const auto end = std::find_if_not(begin, items.end(), belongs);
    std::ranges::stable_sort(begin, end, {}, key);
    begin = end;
  }
}

// Events of several streams are looked at stream by stream, but which stream comes first is not part of the contract;
// nor is, then, the order of the frees that complete.
void settle_event_order(std::vector<std::string>& calls, std::vector<RecordedEvent>& events) {
  sort_runs(
      calls, [](const std::string& call) { return call.starts_with("cudaEvent"); },
      [](const std::string& call) {
        const std::size_t stream = call.find(' ') + 1;
        return call.substr(stream, call.find(' ', stream) - stream);
      });
  sort_runs(
      events, [](const RecordedEvent& event) { return event.action == "free_completed"; },
      [](const RecordedEvent& event) { return std::pair(event.place->segment, event.place->offset); });
}

// Within one operation only the order inside each stream is part of the contract.
void compare_calls_and_events(const Answer& recorded, const Seen& seen, Differences& into) {
  auto expected_calls = recorded.calls;
  auto got_calls = seen.calls;
  auto expected_events = recorded.events;
  auto got_events = seen.events;
  settle_event_order(expected_calls, expected_events);
  settle_event_order(got_calls, got_events);
  if (several_streams(seen.events)) {
    std::ranges::sort(expected_calls);
    std::ranges::sort(got_calls);
    std::ranges::stable_sort(expected_events, {}, &RecordedEvent::stream);
    std::ranges::stable_sort(got_events, {}, &RecordedEvent::stream);
  }
  compare_lists("calls", expected_calls, got_calls, into);
  if (!recorded.sums) compare_lists("events", show_each(expected_events), show_each(got_events), into);
}

std::string yes_no(bool value) { return value ? "true" : "false"; }

void compare_stats(const StatTable& expected, const StatTable& got, Differences& into) {
  std::set<std::string_view> names;
  for (const auto& [name, value] : expected) names.insert(name);
  for (const auto& [name, value] : got) names.insert(name);
  const auto find = [](const StatTable& table, std::string_view name) {
    const auto found = table.find(name);
    return found == table.end() ? std::nullopt : std::optional(found->second);
  };
  const auto text = [](const std::optional<StatValue>& value) { return value ? show(*value) : std::string(kNothing); };
  for (const std::string_view name : names) {
    const auto one = find(expected, name);
    const auto other = find(got, name);
    if (one != other) compare_text("stats." + printable(name), text(one), text(other), into);
  }
}

bool is_zero(const StatValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count == 0;
  return std::ranges::all_of(std::get<0>(value), [](std::int64_t n) { return n == 0; });
}

}  // namespace

std::vector<Difference> Comparison::start(const Case& one, const Session& session) {
  Differences differences;
  stats_ = session.stats();
  if (!one.has_start_stats) return differences;
  StatTable expected = one.start_stats;
  for (const auto& [name, value] : stats_) {  // what is not named is zero
    if (!expected.contains(name)) expected.emplace(name, is_zero(value) ? value : StatValue(std::int64_t{0}));
  }
  compare_stats(expected, stats_, differences);
  return differences;
}

std::vector<Difference> Comparison::step(const Answer& recorded, const Seen& seen, bool is_check,
                                         const Session& session) {
  Differences differences;
  compare_error(recorded.error, seen.error, differences);
  compare_text("skip", yes_no(recorded.skip), yes_no(seen.skip), differences);
  compare_text("null", yes_no(recorded.null), yes_no(seen.null), differences);
  compare_text("at", show(recorded.at), show(seen.at), differences);
  compare_text("value", show(recorded.value), show(seen.value), differences);
  compare_calls_and_events(recorded, seen, differences);
  if (recorded.sums) {
    compare_text("s", fmt::format("[{}]", fmt::join(*recorded.sums, ", ")),
                 fmt::format("[{}]", fmt::join(session.sums(), ", ")), differences);
  }
  if (!recorded.sums || is_check) compare_state(recorded, session, differences);
  return differences;
}

void Comparison::compare_state(const Answer& recorded, const Session& session, Differences& into) {
  RecordedLayout now = session.layout();
  const RecordedLayout& expected = recorded.layout ? *recorded.layout : layout_;
  if (expected != now) compare_lists("layout", show_each(expected), show_each(now), into);
  layout_ = std::move(now);
  for (const auto& [name, value] : recorded.stats) stats_.insert_or_assign(name, value);
  StatTable stats = session.stats();
  compare_stats(stats_, stats, into);
  stats_ = std::move(stats);
  compare_text("validate", "", session.validate(), into);
}

std::vector<Difference> compare_unrecorded(const Seen& seen, const Operation& operation) {
  Differences differences;
  const bool asks = std::holds_alternative<op::Alloc>(operation) || std::holds_alternative<op::Allocate>(operation);
  if (seen.error && !(asks && seen.error->code == ErrorCode::out_of_memory)) {
    compare_error(std::nullopt, seen.error, differences);
  }
  return differences;
}

}  // namespace quarry::tools
