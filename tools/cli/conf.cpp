#include "tools/cli/conf.h"

namespace quarry::tools {

Result<Options> effective_options(const Options& from_file, const std::vector<std::string>& sets) {
  Result<Options> options = options_from_environment(from_file);
  for (const std::string& set : sets) {
    if (!options) return options;
    std::string text = set;
    if (const std::size_t sign = text.find_first_of("=:"); sign != std::string::npos) text[sign] = ':';
    options = parse_options(text, *options, Origin::command_line);
    if (!options) return Error{options.error().code, "--set " + set + ": " + options.error().message};
  }
  return options;
}

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::default_value:
      return "default";
    case Origin::file:
      return "file";
    case Origin::environment:
      return "QUARRY_CONF";
    case Origin::command_line:
      return "command line";
    case Origin::api:
      return "API";
  }
  return "unknown";
}

std::string_view support_name(Support support) {
  switch (support) {
    case Support::full:
      return "yes";
    case Support::without_effect:
      return "read, no effect yet";
    case Support::refused:
      return "only the default";
  }
  return "unknown";
}

const std::map<std::string, stats::Units>& unit_names() {
  using stats::Units;
  static const std::map<std::string, Units> names = {{"auto", Units::automatic}, {"B", Units::bytes},
                                                     {"MiB", Units::mib},        {"GiB", Units::gib},
                                                     {"MB", Units::mb},          {"GB", Units::gb}};
  return names;
}

}  // namespace quarry::tools
