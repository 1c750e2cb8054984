// The options a trace was recorded with, as far as the file says and replay applies them.
#pragma once

#include <string>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/stats/trace.h>

namespace quarry::tools {

struct RecordedSettings {
  Options options;                 // origin `file` where the file names the key
  std::vector<std::string> notes;  // keys that are not applied, and values that break a rule: one line each
};

// Verify mode applies what decides addresses. Limits, garbage collection and the ladder are the recording's
// environment: what they did is in its segment_free entries.
RecordedSettings recorded_settings(const stats::TraceSettings& settings);

// Takes off what verify mode leaves to the recording; adds a line to `notes` for each option that was set.
Options without_limits(Options options, std::vector<std::string>& notes);

// Where the value of option `key` came from; default_value for an unknown key.
Origin origin_of(const Options& options, std::string_view key);

}  // namespace quarry::tools
