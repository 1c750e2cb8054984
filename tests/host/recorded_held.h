// The requests of the recorded pinned cases (conformance/host.json), and what they make two allocators hold.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <quarry/allocator/types.h>

namespace quarry::test {

// One row: a case, or one request of the case `rounding`, where each is made alone.
struct HeldRow {
  std::string name;
  Bytes requested;  // most that was live at once
  Bytes pytorch;    // most that its allocator had from the driver at once, by the recorded calls
  Bytes quarry;     // most that ours had on the same operations
};

// In the order of the file. A case that is not understood is a test failure.
std::vector<HeldRow> held_rows(const nlohmann::json& recorded);

// As a table of Markdown, bytes.
std::string held_table(const std::vector<HeldRow>& rows);

}  // namespace quarry::test
