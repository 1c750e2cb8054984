// `expect` lines against what is there now, by the rules of reference/bug_cases.md section 1.
//
// In the policy pytorch every key must be equal. In the policy paged a figure of `expect` is an upper bound where more
// would be worse, and is not compared elsewhere; an `ok` stays `ok`; an `oom` may become `ok`, and from there on only
// the identities are asked. `expect@paged` says what a better allocator answers, to the byte.
#pragma once

#include <vector>

#include "tools/cases/operation.h"
#include "tools/cases/run.h"
#include "tools/cases/session.h"

namespace quarry::tools {

class Expectations {
 public:
  explicit Expectations(Policy policy) : policy_(policy) {}

  // None where the line speaks of another policy.
  std::vector<Difference> compare(const op::Expect& expect, const Session& session);

 private:
  bool speaks_of(op::ExpectPolicy policy) const;

  Policy policy_;
  bool better_ = false;  // served what was expected to be refused
};

}  // namespace quarry::tools
