#include "tools/cases/run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/cases/compare.h"
#include "tools/cases/expectation.h"
#include "tools/cases/session.h"

namespace quarry::tools {
namespace {

// Blocks and segments that the steps of a case may look at, all together: a look at the whole heap after every step
// would take hours where a file is large.
constexpr std::uint64_t kMaxLooks = 10'000'000;

// Whether the step walks the heap: to be judged, or for the ledger of a refusal.
bool looks(const Step& step, const Seen& seen) {
  if (seen.error && seen.error->code == ErrorCode::out_of_memory) return true;
  const auto* expect = std::get_if<op::Expect>(&step.operation);
  if (expect != nullptr && !expect->values.empty()) return true;
  return step.answer && (!step.answer->sums || std::holds_alternative<op::Check>(step.operation));
}

class Runner {
 public:
  Runner(const Case& one, const KnownDifferences& known, const MakeSimBackend& make_backend, const Options& base)
      : case_(one), known_(known), base_(base), session_(one, make_backend), expectations_(base.policy) {
    result_.file = one.file;
    result_.name = one.name;
  }

  CaseResult run() {
    if (load()) {
      for (std::size_t i = 0; i < case_.steps.size() && !result_.failure; ++i) run_step(i);
      if (!result_.failure && !case_.steps.empty()) finish();
    }
    if (result_.failure) {
      result_.outcome = CaseOutcome::fail;
    } else if (!result_.known.empty()) {
      result_.outcome = CaseOutcome::known;
    }
    return std::move(result_);
  }

 private:
  // True if there is something to run.
  bool load() {
    const Status opened = session_.open(case_, base_);
    const bool refused = !opened;
    if (refused != case_.refused_at_load) {
      settle({std::nullopt,
              {},
              0,
              "refused_at_load",
              case_.refused_at_load ? "refused" : "accepted",
              refused ? "refused: " + opened.error().message : "accepted"});
    }
    if (refused || case_.refused_at_load) return false;  // after a known refusal nothing can be asked
    for (Difference& difference : comparison_.start(case_, session_)) settle(std::move(difference));
    return !result_.failure;
  }

  void run_step(std::size_t index) {
    const Step& step = case_.steps[index];
    const auto seen = session_.apply(step.operation);
    if (!seen) {
      settle({index, step.text, step.line, "operation", "can run", seen.error().message});
      return;
    }
    if (looks(step, *seen) && (looks_ += session_.heap_size()) > kMaxLooks) {
      settle({index, step.text, step.line, "operation", "can be judged",
              fmt::format("the steps up to here look at more than {} blocks", kMaxLooks)});
      return;
    }
    const bool is_check = std::holds_alternative<op::Check>(step.operation);
    auto differences = step.answer ? comparison_.step(*step.answer, *seen, is_check, session_)
                                   : compare_unrecorded(*seen, step.operation);
    if (const auto* expect = std::get_if<op::Expect>(&step.operation)) {
      std::ranges::move(expectations_.compare(*expect, session_), std::back_inserter(differences));
    }
    for (Difference& difference : differences) {
      difference.step = index;
      difference.step_text = step.text;
      difference.line = step.line;
      settle(std::move(difference));
    }
  }

  void finish() {
    const std::string broken = session_.validate();
    const Step& last = case_.steps.back();
    if (!broken.empty()) settle({case_.steps.size() - 1, last.text, last.line, "validate", "", broken});
  }

  // A known difference is listed; the first other one is the failure.
  void settle(Difference difference) {
    if (!difference.step) difference.step_text = "load";
    if (known_.contains(case_.file, case_.name, difference.step, difference.key)) {
      result_.known.push_back(std::move(difference));
    } else if (!result_.failure) {
      result_.failure = std::move(difference);
    }
  }

  const Case& case_;
  const KnownDifferences& known_;
  const Options& base_;
  Session session_;
  Comparison comparison_;
  Expectations expectations_;
  CaseResult result_;
  std::uint64_t looks_ = 0;
};

constexpr std::string_view kRecordedByPytorch = "its recorded answers are those of the policy pytorch";

bool is_recorded(const Case& one) {
  return one.refused_at_load || one.has_start_stats ||
         std::ranges::any_of(one.steps, [](const Step& step) { return step.answer != nullptr; });
}

bool shows(const CaseResult& result, const KnownDifference& entry) {
  return std::ranges::any_of(
      result.known, [&](const Difference& difference) { return entry.covers(difference.step, difference.key); });
}

}  // namespace

std::string_view outcome_name(CaseOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"pass", "fail", "skip", "known"};
  return kNames[static_cast<std::size_t>(outcome)];
}

CaseResult run_case(const Case& one, const KnownDifferences& known, const MakeSimBackend& make_backend,
                    const Options& base) {
  std::string_view missing = missing_feature(one);
  if (missing.empty() && base.policy == Policy::paged && is_recorded(one)) missing = kRecordedByPytorch;
  if (!missing.empty()) return {one.file, one.name, CaseOutcome::skip, std::nullopt, {}, std::string(missing)};
  return Runner(one, known, make_backend, base).run();
}

std::vector<KnownDifference> unused_known(const KnownDifferences& known, std::span<const CaseResult> results) {
  std::vector<KnownDifference> unused;
  for (const KnownDifference& entry : known.entries()) {
    const auto result = std::ranges::find_if(
        results, [&](const CaseResult& r) { return r.file == entry.file && r.name == entry.name; });
    if (result == results.end()) continue;
    const bool ran = result->outcome == CaseOutcome::pass || result->outcome == CaseOutcome::known;
    if (ran && !shows(*result, entry)) unused.push_back(entry);
  }
  return unused;
}

}  // namespace quarry::tools
