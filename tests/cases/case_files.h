// Helpers of the case tests: the recorded files, and cases made from them or from text.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tools/cases/case.h"
#include "tools/cases/run.h"

#include <quarry/stats/read.h>

namespace quarry::tools {

inline std::string data_path(const std::string& name) { return std::string(QUARRY_TEST_DATA) + "/" + name; }

// A recorded case as a document, to be changed by a test. An empty object if it is not there.
inline nlohmann::json recorded_case(const std::string& file, std::string_view name) {
  const auto text = stats::read_text(data_path("conformance/" + file + ".json.gz"), 16u << 20);
  if (!text) return nlohmann::json::object();
  const auto document = nlohmann::json::parse(*text);
  for (const auto& one : document.at("cases")) {
    if (one.at("name") == name) return one;
  }
  return nlohmann::json::object();
}

inline CaseResult run_recorded(const nlohmann::json& one, const std::string& file, const KnownDifferences& known = {}) {
  const auto cases = parse_recording(nlohmann::json{{"cases", {one}}}.dump(), file + ".json");
  if (!cases) {
    ADD_FAILURE() << cases.error().message;
    return {};
  }
  return run_case(cases->front(), known);
}

inline Case script(std::string_view text) {
  auto one = parse_script(text, "script.ops");
  if (one) return *std::move(one);
  ADD_FAILURE() << one.error().message;
  return {};
}

// The message of a script that must not be read.
inline std::string script_error(std::string_view text) {
  const auto one = parse_script(text, "script.ops");
  return one ? "accepted" : one.error().message;
}

inline std::string recording_error(std::string_view text) {
  const auto cases = parse_recording(text, "file.json");
  return cases ? "accepted" : cases.error().message;
}

}  // namespace quarry::tools
