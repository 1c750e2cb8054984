#include "support/paged_run.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/identities.h"
#include "support/paged_judge.h"
#include "support/paged_session.h"
#include "support/shrink.h"
#include "support/throwing_checks.h"

namespace quarry::paged {
namespace {

class Run final : public Session {
 public:
  Run(const Program& program, std::shared_ptr<sim::Device> device, Coverage& coverage)
      : Session(program.start, device, *Allocator::open(device, allocator_options(program.start))),
        program_(program),
        coverage_(coverage),
        page_(program.start.page) {}

  std::optional<Breach> play() {
    for (const Step& step : program_.operations) {
      ++done_;
      perform(step);
      if (std::string what = broken(); !what.empty()) return Breach{done_, std::move(what)};
    }
    if (std::string what = broken_end(); !what.empty()) return Breach{done_, std::move(what)};
    return std::nullopt;
  }
  std::size_t done() const { return done_; }

 private:
  // A request, before and after.
  Allocation ask(const Step& step, const Request& request, std::uint32_t pool) override {
    const std::vector<BlockView> foreign = freed_by_others(allocator_.snapshot(), stream_id(step.stream));
    const Counters before = allocator_.counters();
    Result<Allocation> got = allocator_.allocate(request);
    const Counters after = allocator_.counters();
    judge_waits(step, before, after);
    if (!got) {
      judge_refusal(step, got.error());
      return {};
    }
    if (!*got) return {};
    ++coverage_.served;
    if (pool != 0) ++coverage_.pool_requests;
    const bool run = step.flag || no_split_[pool];
    const Stat& now = after[Metric::reserved_bytes].all;
    const Stat& then = before[Metric::reserved_bytes].all;
    const bool grew = now.allocated != then.allocated && now.freed == then.freed;  // and did nothing but that
    if (grew) judge_growth(step, pool, run, static_cast<std::uint64_t>(now.current - then.current) / page_.count);
    judge_block(*got, run, after[Tally::num_alias_maps] - before[Tally::num_alias_maps], foreign);
    std::uint64_t touched = got->block_size() / page_.count + 2;
    for (const auto& [id, block] : blocks_) touched += block.size().count / page_.count + 2;
    most_touched_ = std::max(most_touched_, touched);
    return *std::move(got);
  }

  // Only streams that the program couples wait for each other, and only where waits are allowed or no page is to be
  // had.
  void judge_waits(const Step& step, const Counters& before, const Counters& after) {
    const std::uint64_t waits = after[Tally::num_stream_waits] - before[Tally::num_stream_waits];
    coverage_.stream_waits += waits;
    const std::uint64_t pages = (step.amount + page_.count - 1) / page_.count;
    const bool sane = Bytes{step.amount} < kHuge;
    if (waits != 0 && waits_ == 0 && sane && room().count / page_.count >= pages) {
      fail("waits are off, but a stream had to wait");
    }
    if (waits != 0 && !coupled_.contains(stream_id(step.stream))) fail("a stream waits for a stranger");
  }

  // A request is refused only where the device or the limit has no room for its pages, and nothing cached could make
  // some.
  void judge_refusal(const Step& step, const Error& error) {
    ++coverage_.refused;
    if (error.code != ErrorCode::out_of_memory) return fail(error.message);
    if (Bytes{step.amount} >= kHuge) return;
    const std::uint64_t pages = (step.amount + page_.count - 1) / page_.count;
    if (room().count / page_.count >= pages) return fail("refused although there is room for its pages");
    if (cached_pages() != 0) fail("refused although pages are cached");
  }

  // What the device and the limit still have.
  Bytes room() const {
    const Ledger ledger = allocator_.ledger();
    return std::min(ledger.device_free, ledger.limit - std::min(ledger.limit, ledger.reserved));
  }

  // What grows has first used up all whole pages that its stream may use, in its own pool, and all that are complete in
  // the default pool. Two things may add to that: a run of pages, and a page for so many pages mapped for aliases
  // (page_placement.h).
  void judge_growth(const Step& step, std::uint32_t pool, bool run, std::uint64_t pages) {
    ++coverage_.growths;
    if (!start_.mapping) return;
    const StreamId stream = stream_id(step.stream);
    const auto complete = [](const BlockView& range) { return range.shared; };
    const auto usable = [&](const BlockView& range) { return range.shared || range.stream == stream; };
    if (run) {
      for_runs_ += pages;
    } else if (whole_pages_in(pool, usable) + whole_pages_in(0, complete) != 0) {
      instead_of_maps_ += pages;
    }
    if (instead_of_maps_ * kMapsPerPage > alias_pages()) fail("got new pages although whole ones were free");
  }

  void judge_block(const Allocation& block, bool run, std::uint64_t maps, const std::vector<BlockView>& foreign) {
    const Pieces pieces = pieces_of(allocator_.snapshot(), block.address(), page_, foreign);
    if (run && pieces.count != 1) fail("a contiguous block lies in several pieces");
    if (run && !pieces.whole) fail("a run of pages does not lie on pages");
    coverage_.alias_maps += maps;
    if (pieces.handed_over) ++coverage_.handed_over;
    if (pieces.count > 1) ++coverage_.stitched;
    if (pieces.count > 1 && maps == 0) ++coverage_.alias_reuses;
  }

  // Pages mapped for aliases so far.
  std::uint64_t alias_pages() const {
    const auto calls = device_->call_counts();
    return calls[static_cast<std::size_t>(sim::Call::map)] - calls[static_cast<std::size_t>(sim::Call::create_page)];
  }

  // Whole pages of free ranges that `counts`.
  template <class Counts>
  std::uint64_t whole_pages_in(std::uint32_t pool, const Counts& counts) const {
    std::uint64_t pages = 0;
    for (const SegmentView& segment : allocator_.snapshot().segments) {
      if (segment.pool.second == pool) pages += whole_pages(segment, page_, counts);
    }
    return pages;
  }
  // In pools that give pages back.
  std::uint64_t cached_pages() const {
    std::uint64_t pages = 0;
    for (std::uint32_t pool = 0; pool < users_.size(); ++pool) {
      if (pool == 0 || users_[pool] == 0) pages += whole_pages_in(pool, [](const BlockView&) { return true; });
    }
    return pages;
  }

  void empty_cache() override {
    const Ledger before = allocator_.ledger();
    const Bytes released = allocator_.empty_cache();
    if (released != Bytes{}) ++coverage_.releases;
    if (cached_pages() != 0) fail("empty_cache left whole pages");
    const bool told = pools_begun_ || (before.releasable <= released && released <= before.releasable_after_wait);
    if (!told) fail("empty_cache gave back what the ledger had not said");
    if (allocator_.ledger().reserved != before.reserved - released) fail("empty_cache returns another number");
  }

  std::string broken() {
    if (!failed().empty()) return failed();
    if (const auto hazards = device_->take_hazards(); !hazards.empty()) return "hazard: " + describe(hazards.front());
    return oracle::broken_identity(allocator_, device_.get(), live(), {});
  }

  // With one stream and one pool no page but those is got while another is wholly free, so all that are held then have
  // a byte of a live block in them, and a block reaches into no more than its own size in pages and two.
  std::string broken_peak() const {
    const bool one = !pools_begun_ && std::ranges::all_of(program_.operations, [](const Step& step) {
      return step.stream == 0 && step.other == 0;
    });
    if (!one || !start_.mapping) return {};
    const std::uint64_t most = most_touched_ + for_runs_ + instead_of_maps_;
    return allocator_.ledger().peak_reserved > page_ * most ? "more pages were held than blocks can lie in" : "";
  }

  std::string broken_end() {
    if (std::string what = broken_peak(); !what.empty()) return what;
    unwind();
    (void)allocator_.empty_cache();
    if (std::string what = broken(); !what.empty()) return what;
    if (allocator_.ledger().reserved != Bytes{}) return "bytes stay reserved when nothing lives";
    sim::Holdings held = device_->holdings();
    held.events = 0;
    return held == sim::Holdings{} ? "" : "the device holds something when nothing lives";
  }

  static constexpr Bytes kHuge{1ull << 40};
  static constexpr std::uint64_t kMapsPerPage = 32;

  const Program& program_;
  Coverage& coverage_;
  Bytes page_;
  std::uint64_t for_runs_ = 0;         // pages that were got although whole ones may have been free
  std::uint64_t instead_of_maps_ = 0;  // likewise
  std::uint64_t most_touched_ = 0;     // pages that live blocks can lie in
  std::size_t done_ = 0;
};

}  // namespace

// After a failed check nothing of the run can be torn down any more: it is left as it is.
std::optional<Breach> run(const Program& program, Coverage& coverage) {
  const test::ThrowingChecks checks;
  auto running = std::make_unique<Run>(program, std::make_shared<sim::Device>(device_options(program.start)), coverage);
  try {
    return running->play();
  } catch (const std::runtime_error& failure) {
    return Breach{running.release()->done(), failure.what()};
  }
}

std::string explain(const Program& program) {
  std::string what;
  const Program small = oracle::shrink(program, [&](const Program& candidate) -> std::size_t {
    Coverage coverage;
    const std::optional<Breach> breach = run(candidate, coverage);
    if (!breach) return 0;
    what = breach->what;
    return breach->operations;
  });
  return what + "\n" + to_text(small);
}

}  // namespace quarry::paged
