#include "support/oracle_run.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "support/generator.h"
#include "support/operation_subject.h"
#include "support/oracle.h"

#include <quarry/allocator/allocator.h>

namespace quarry::oracle {
namespace {

std::string compare_row(const std::string& name, const Stat& stat, const Oracle& oracle) {
  const auto found = oracle.rows().find(name);
  const Row right = found == oracle.rows().end() ? Row{} : found->second;
  const Row got{stat.current, stat.peak, stat.allocated, stat.freed};
  if (got == right) return {};
  std::ostringstream out;
  out << name << " is";
  for (const std::int64_t n : got) out << ' ' << n;
  out << ", the oracle says";
  for (const std::int64_t n : right) out << ' ' << n;
  return out.str();
}

std::string compare_counters(const Counters& counters, const Oracle& oracle) {
  std::string broken;
  const auto row = [&](const std::string& name, const Stat& stat) {
    if (broken.empty()) broken = compare_row(name, stat, oracle);
  };
  for (std::size_t i = 0; i < kMetricNames.size(); ++i) {
    const std::string name(kMetricNames[i]);
    row(name + ".all", counters.metrics[i].all);
    row(name + ".small_pool", counters.metrics[i].small_pool);
    row(name + ".large_pool", counters.metrics[i].large_pool);
  }
  for (std::size_t i = 0; i < kGaugeNames.size(); ++i) row(std::string(kGaugeNames[i]), counters.gauges[i]);
  for (std::size_t i = 0; i < kTallyNames.size() && broken.empty(); ++i) {
    const std::uint64_t right = oracle.tally(std::string(kTallyNames[i]));
    if (counters.tallies[i] == right) continue;
    broken = std::string(kTallyNames[i]) + " is " + std::to_string(counters.tallies[i]) + ", the oracle says " +
             std::to_string(right);
  }
  return broken;
}

std::vector<LayoutRow> layout_of(const Snapshot& snapshot) {
  std::vector<LayoutRow> rows;
  for (const SegmentView& segment : snapshot.segments) {
    for (const BlockView& block : segment.blocks) {
      rows.push_back({static_cast<std::uint64_t>(segment.number), (block.address - segment.address).count,
                      block.size.count, block.requested.count, static_cast<std::uint32_t>(segment.stream),
                      block.state == BlockState::live});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const LayoutRow& a, const LayoutRow& b) {
    return std::pair(a.segment, a.offset) < std::pair(b.segment, b.offset);
  });
  return rows;
}

std::string compare_step(Subject& subject, Oracle& oracle, const Operation& operation, bool deep) {
  const Outcome right = oracle.apply(operation);
  const Outcome got = subject.apply(operation);
  if (got != right) return "got " + to_text(got) + ", the oracle says " + to_text(right);
  const bool grew = std::any_of(got.calls.begin(), got.calls.end(), [](const SegmentCall& c) { return c.get && c.ok; });
  if (deep || grew) {
    const Snapshot snapshot = subject.allocator().snapshot();
    for (const SegmentView& segment : snapshot.segments) {
      oracle.place(static_cast<std::uint64_t>(segment.number), segment.address.value);
    }
    if (deep && layout_of(snapshot) != oracle.layout()) return "segments and blocks differ from the oracle's";
  }
  if (std::string broken = compare_counters(subject.allocator().counters(), oracle); !broken.empty()) return broken;
  return deep ? subject.broken() : std::string{};
}

}  // namespace

std::optional<Difference> run(const Program& program, const Start& believed, std::size_t deep) {
  Subject subject(program.start);
  Oracle oracle(believed);
  std::size_t step = 0;
  for (const Operation& operation : program.operations) {
    const bool look = step % deep == 0 || step + 1 == program.operations.size();
    std::string broken = compare_step(subject, oracle, operation, look);
    if (!broken.empty()) return Difference{step, to_text(operation) + ": " + std::move(broken)};
    ++step;
  }
  if (std::string broken = subject.broken_end(); !broken.empty()) return Difference{step, "at the end: " + broken};
  return std::nullopt;
}

std::optional<Difference> run(const Program& program, std::size_t deep) { return run(program, program.start, deep); }

std::string explain(const Program& program, const Difference& difference) {
  const auto fails = [](const Program& candidate) -> std::size_t {
    const std::optional<Difference> found = run(candidate);
    return found ? std::min(found->step + 1, candidate.operations.size()) : 0;
  };
  const std::string first = "operation " + std::to_string(difference.step + 1) + ": " + difference.what + "\n";
  if (fails(program) == 0) return first + "a second run does not fail\n";
  const Program small = shrink(program, fails);
  const std::optional<Difference> last = run(small);
  return first + "shrunk to " + std::to_string(small.operations.size()) + " operations, the last of which gives\n  " +
         (last ? last->what : "nothing") + "\n" + to_text(small);
}

}  // namespace quarry::oracle
