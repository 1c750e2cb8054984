#include "tools/cli/replay_json.h"

#include <nlohmann/json.hpp>

namespace quarry::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

std::string_view state_name(BlockState state) {
  switch (state) {
    case BlockState::free:
      return "free";
    case BlockState::live:
      return "live";
    case BlockState::pending:
      return "pending";
  }
  return "unknown";
}

Json to_json(const std::optional<Site>& site) {
  if (!site) return nullptr;
  return {{"segment", site->segment.value},
          {"segment_size", site->segment_size.count},
          {"block", site->block.value},
          {"block_size", site->block_size.count},
          {"state", site->fresh ? "new" : state_name(site->state)}};
}

Json to_json(const std::optional<Mismatch>& mismatch) {
  if (!mismatch) return nullptr;
  return {{"entry", mismatch->entry},
          {"size", mismatch->size.count},
          {"stream", mismatch->stream},
          {"recorded", mismatch->recorded.value},
          {"chosen", mismatch->chosen.value},
          {"recorded_block", to_json(mismatch->recorded_site)},
          {"chosen_block", to_json(mismatch->chosen_site)},
          {"text", mismatch->text}};
}

// What differs from the default, and the tie-break, which the run chose.
Json settings_of(const Options& options) {
  Json settings = Json::object();
  const Options defaults;
  for (const OptionInfo& info : option_table()) {
    const std::string value = info.show(options);
    if (value != info.show(defaults) || info.key == "tie_break") settings[std::string(info.key)] = value;
  }
  return settings;
}

Json to_json(const CallCounts& counts) {
  Json calls = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) calls[std::string(sim::kCallNames[i])] = counts[i];
  }
  return calls;
}

Json to_json(std::size_t device, const Run& run) {
  Json addresses = {{"checked", run.checked},
                    {"matched", run.matched},
                    {"guessed_pools", run.guessed_pools},
                    {"first_mismatch", to_json(run.first_mismatch)}};
  return {{"device", device},
          {"policy", "pytorch"},
          {"settings", settings_of(run.options)},
          {"allocations", run.allocations},
          {"frees", run.frees},
          {"ooms", run.ooms},
          {"peak_requested", run.peak_requested.count},
          {"peak_allocated", run.peak_allocated.count},
          {"peak_reserved", run.peak_reserved.count},
          {"fragmentation", run.fragmentation()},
          {"driver_calls", to_json(run.driver_calls)},
          {"driver_us", run.driver_us},
          {"ns_per_op", run.ns_per_op},
          {"addresses", std::move(addresses)}};
}

Json to_json(const CompareIteration& iteration) {
  return {{"driver_calls", to_json(iteration.driver_calls)},
          {"driver_us", iteration.driver_us},
          {"ns_per_op", iteration.ns_per_op},
          {"peak_reserved", iteration.peak_reserved.count}};
}

// What is computed and not run has no driver time and no time at all.
Json to_json(std::size_t device, const CompareRun& run) {
  const bool ran = !run.iterations.empty();
  Json iterations = Json::array();
  for (const CompareIteration& iteration : run.iterations) iterations.push_back(to_json(iteration));
  return {{"device", device},
          {"policy", run.policy},
          {"settings", run.options ? settings_of(*run.options) : Json::object()},
          {"allocations", run.allocations},
          {"frees", run.frees},
          {"ooms", run.ooms},
          {"peak_requested", run.peak_requested.count},
          {"peak_requested_active", run.peak_requested_active.count},
          {"peak_allocated", run.peak_allocated.count},
          {"peak_reserved", run.peak_reserved.count},
          {"fragmentation", run.fragmentation()},
          {"fragmentation_active", run.fragmentation_active()},
          {"driver_calls", to_json(run.driver_calls())},
          {"driver_us", ran ? Json(run.driver_us()) : Json()},
          {"ns_per_op", ran ? Json(run.ns_per_op()) : Json()},
          {"addresses", nullptr},
          {"iterations", std::move(iterations)}};
}

Json to_json(const CaseResult& result) {
  Json json = {{"name", result.name}, {"result", outcome_name(result.outcome)}};
  const Difference* difference = result.failure ? &*result.failure : nullptr;
  if (difference == nullptr && !result.known.empty()) difference = &result.known.front();
  json["step"] = difference != nullptr && difference->step ? Json(*difference->step) : Json();
  json["key"] = difference != nullptr ? Json(difference->key) : Json();
  json["expected"] = difference != nullptr ? Json(difference->expected) : Json();
  json["got"] = difference != nullptr ? Json(difference->got) : Json();
  json["reason"] = result.reason.empty() ? Json() : Json(result.reason);
  return json;
}

Json to_json(const FileReport& report) {
  Json json = {{"file", report.file}};
  json["kind"] = report.kind ? Json(stats::kind_name(*report.kind)) : Json();
  json["exit"] = report.exit;
  json["tie_break"] = nullptr;
  json["rewind_misses"] = report.rewind_misses();
  json["skipped_actions"] = report.skipped_actions;
  json["skipped_keys"] = report.skipped_keys;
  if (report.scale != 1) json["scale"] = report.scale;
  Json& list = json[report.is_cases ? "cases" : "runs"] = Json::array();
  for (const CaseResult& result : report.cases) list.push_back(to_json(result));
  for (const DeviceReplay& device : report.devices) {
    for (const CompareRun& run : device.compared) list.push_back(to_json(device.device, run));
    if (!device.run) continue;
    if (list.empty()) json["tie_break"] = device.run->options.tie_break == TieBreak::address ? "address" : "segment";
    list.push_back(to_json(device.device, *device.run));
  }
  return json;
}

}  // namespace

std::string replay_json(std::span<const FileReport> reports) {
  Json files = Json::array();
  for (const FileReport& report : reports) files.push_back(to_json(report));
  const Json whole = {{"schema", kSchema}, {"files", std::move(files)}};
  return whole.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace quarry::tools
