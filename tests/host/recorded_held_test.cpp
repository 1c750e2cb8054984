// The table of held bytes in allocator/README.md is what the code gives on the recorded requests.
#include "host/recorded_held.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <quarry/stats/read.h>

namespace quarry::test {
namespace {

nlohmann::json recorded() {
  const auto text = stats::read_text(std::string(QUARRY_TEST_DATA) + "/conformance/host.json.gz", 16u << 20);
  if (!text) {
    ADD_FAILURE() << "host.json cannot be read";
    return {};
  }
  return nlohmann::json::parse(*text);
}

std::string readme() {
  std::ifstream file(QUARRY_ALLOCATOR_README);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RecordedHostMemory, TheReadmeShowsWhatBothHold) {
  const std::string table = held_table(held_rows(recorded()));
  EXPECT_GT(std::count(table.begin(), table.end(), '\n'), 30) << "every case is there";
  EXPECT_NE(readme().find(table), std::string::npos) << "allocator/README.md should have this table:\n" << table;
}

// From 1 MiB on, where a program only allocates what it needs, never a sixteenth and a page more.
TEST(RecordedHostMemory, LargeRequestsHoldLittleMoreThanTheyNeed) {
  std::size_t seen = 0;
  for (const HeldRow& row : held_rows(recorded())) {
    if (row.name != "one request" || row.requested.count < 1 << 20) continue;
    ++seen;
    EXPECT_LE(row.quarry.count, row.requested.count + row.requested.count / 16 + (64 << 10)) << row.requested.count;
  }
  EXPECT_GT(seen, 3u);
}

}  // namespace
}  // namespace quarry::test
