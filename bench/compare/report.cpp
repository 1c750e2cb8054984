#include "bench/compare/report.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "tools/cli/table.h"

namespace quarry::bench {
namespace {

constexpr std::string_view kUnit =
    "ns of processor time per operation (an allocation or a free), the least of the rounds";

struct Row {
  std::string_view name;
  double quarry_ns;
  double tight_ns;
  std::string_view peer;
  double peer_ns;

  double ratio() const { return peer_ns / quarry_ns; }
};

double ns_of(const CaseFigures& from, std::string_view subject) {
  const auto found = std::ranges::find(from.figures, subject, &Figure::subject);
  return found->min_ns;
}

std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  for (const CaseFigures& one : report.cases) {
    for (const Figure& figure : one.figures) {
      if (figure.subject == kFast || figure.subject == kTight) continue;
      rows.push_back({one.name, ns_of(one, kFast), ns_of(one, kTight), figure.subject, figure.min_ns});
    }
  }
  return rows;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return "unknown";
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
}

std::string joined(const std::vector<std::string_view>& names) { return fmt::format("{}", fmt::join(names, "; ")); }

nlohmann::ordered_json json_of(const std::string& name, const Figure& figure) {
  nlohmann::ordered_json one = {{"case", name},
                                {"subject", figure.subject},
                                {"cold_ns", figure.cold_ns},
                                {"min_ns", figure.min_ns},
                                {"median_ns", figure.median_ns},
                                {"max_ns", figure.max_ns},
                                {"operations", figure.books.operations},
                                {"live", figure.books.live}};
  for (const auto& [call, count] : figure.driver_calls) one["driver_calls"][std::string(call)] = count;
  return one;
}

}  // namespace

std::string text(const Report& report) {
  using tools::Align;
  std::string text = fmt::format("{}, {}, {}, {}; {} rounds, subjects in turn, over simulated devices\n{}\n", today(),
                                 cpu_name(), QUARRY_COMPILER, QUARRY_COMPILER_FLAGS, report.effort.rounds, kUnit);
  if (report.quick) text += "quick: short lists and few rounds, the figures mean nothing\n";
  if (!report.left_out.empty()) text += fmt::format("left out, no CUDA toolkit: {}\n", joined(report.left_out));
  tools::Table table({{"case"},
                      {"fast", Align::right},
                      {"tight", Align::right},
                      {"peer"},
                      {"peer ns", Align::right},
                      {"peer / fast", Align::right}});
  for (const Row& row : rows_of(report)) {
    table.row({std::string(row.name), fmt::format("{:.1f}", row.quarry_ns), fmt::format("{:.1f}", row.tight_ns),
               std::string(row.peer), fmt::format("{:.1f}", row.peer_ns), fmt::format("{:.2f}", row.ratio())});
  }
  return text + '\n' + table.text();
}

nlohmann::ordered_json json(const Report& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Row& row : rows_of(report)) {
    rows.push_back({{"case", row.name},
                    {"quarry_ns", row.quarry_ns},
                    {"peer", row.peer},
                    {"peer_ns", row.peer_ns},
                    {"ratio", row.ratio()},
                    {"tight_ns", row.tight_ns}});
  }
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const CaseFigures& one : report.cases) {
    for (const Figure& figure : one.figures) figures.push_back(json_of(one.name, figure));
  }
  return {{"schema", 1},
          {"quick", report.quick},
          {"unit", kUnit},
          {"conditions",
           {{"date", today()},
            {"cpu", cpu_name()},
            {"compiler", QUARRY_COMPILER},
            {"flags", QUARRY_COMPILER_FLAGS},
            {"rounds", report.effort.rounds}}},
          {"left_out", report.left_out},
          {"rows", rows},
          {"figures", figures}};
}

}  // namespace quarry::bench
