// Options from file, environment and command line, in that order: the later one wins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <quarry/allocator/options.h>
#include <quarry/stats/summary.h>

namespace quarry::tools {

// `sets` are the arguments of --set: `key=value`, or `key:value` as in QUARRY_CONF.
Result<Options> effective_options(const Options& from_file, const std::vector<std::string>& sets);

std::string_view origin_name(Origin origin);
std::string_view support_name(Support support);

// The words of --units.
const std::map<std::string, stats::Units>& unit_names();

}  // namespace quarry::tools
