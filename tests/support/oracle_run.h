// Runs a program on an allocator over the simulated device and on the oracle, and finds where they part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "support/operation.h"

namespace quarry::oracle {

// `step` is the number of the operation, or their count when the end state is wrong.
struct Difference {
  std::size_t step = 0;
  std::string what;
};

// Outcome and counters are compared after every operation; layout, identities and validate() after every `deep`th and
// at the end. At the end everything is freed and emptied, and nothing may be left on the device.
std::optional<Difference> run(const Program& program, std::size_t deep = 1);
// The same with an oracle that believes in another beginning: a test of the test.
std::optional<Difference> run(const Program& program, const Start& believed, std::size_t deep = 1);

// What a person needs: the difference, and the shrunk program as a script.
std::string explain(const Program& program, const Difference& difference);

}  // namespace quarry::oracle
