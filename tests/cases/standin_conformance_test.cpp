// Through the CUDA backend and the stand-in libcuda every case ends as it does on the simulated device itself.
#ifdef QUARRY_STANDIN_LIBRARY

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/standin_backend.h"
#include "tests/cases/case_files.h"

namespace quarry::tools {
namespace {

std::string text_of(const Difference& d) {
  return "step " + (d.step ? std::to_string(*d.step) : "load") + " " + d.key + ": expected " + d.expected + ", got " +
         d.got;
}

std::vector<std::string> texts_of(const CaseResult& result) {
  std::vector<std::string> texts = {std::string(outcome_name(result.outcome)), result.reason};
  if (result.failure) texts.push_back(text_of(*result.failure));
  for (const Difference& known : result.known) texts.push_back(text_of(known));
  return texts;
}

// Files of a folder of the test data, by name.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(data_path(folder))) {
    names.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class StandinCases : public testing::TestWithParam<std::string> {};

TEST_P(StandinCases, EndAsOnTheSimulatedDevice) {
  const auto cases = read_cases(data_path(GetParam()));
  ASSERT_TRUE(cases) << cases.error().message;
  const auto known = read_known(data_path("known_differences.txt"));
  ASSERT_TRUE(known) << known.error().message;
  for (const Case& one : *cases) {
    EXPECT_EQ(texts_of(run_case(one, *known, standin::backend)), texts_of(run_case(one, *known))) << one.name;
  }
}

std::string name_of_file(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Recorded, StandinCases, testing::ValuesIn(files_in("conformance")), name_of_file);
INSTANTIATE_TEST_SUITE_P(Scripts, StandinCases, testing::ValuesIn(files_in("ops")), name_of_file);

}  // namespace
}  // namespace quarry::tools

#endif
