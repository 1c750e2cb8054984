// Runs cases against the public Allocator over a simulated device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cases/case.h"
#include "tools/cases/case_options.h"
#include "tools/cases/known.h"
#include "tools/sim_backend.h"

namespace quarry::tools {

enum class CaseOutcome : std::uint8_t {
  pass,
  fail,   // a difference that is not known; the case stops there
  skip,   // needs what is not built yet; nothing was run
  known,  // all differences are known ones
};
std::string_view outcome_name(CaseOutcome outcome);

struct Difference {
  std::optional<std::size_t> step;  // from 0; empty = before the first operation
  std::string step_text;            // the operation, or "load"
  std::size_t line = 0;             // in a script
  std::string key;                  // "at", "calls", "stats.active.all", "reserved", ...
  std::string expected;
  std::string got;
};

struct CaseResult {
  std::string file;
  std::string name;
  CaseOutcome outcome = CaseOutcome::pass;
  std::optional<Difference> failure;  // outcome fail
  std::vector<Difference> known;      // in order of steps
  std::string reason;                 // outcome skip: what it needs
};

// In the policy paged only the rules of reference/bug_cases.md are asked (expectation.h), and recorded answers are
// skipped: they are those of pytorch.
CaseResult run_case(const Case& one, const KnownDifferences& known = {},
                    const MakeSimBackend& make_backend = plain_sim_backend, const Options& base = *case_options());

// What a case needs and this build does not have; empty if nothing.
std::string_view missing_feature(const Case& one);

// The lines of `known` that a case among `results` should have shown and did not. Skipped and failed cases do not tell.
std::vector<KnownDifference> unused_known(const KnownDifferences& known, std::span<const CaseResult> results);

}  // namespace quarry::tools
