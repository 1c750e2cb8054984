// Times of single calls, as a table for people and JSON for programs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace quarry::gpu {

// Nanoseconds that `call` takes on the host.
template <class F>
double time_ns(F call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

class Timings {
 public:
  // One sample of `per` units (pages, pairs); figures are for one unit. Rows come in the order of their first sample.
  void sample(const std::string& what, std::uint64_t size, double ns, double per = 1) {
    const auto same = [&](const Series& series) { return series.what == what && series.size == size; };
    auto found = std::find_if(series_.begin(), series_.end(), same);
    if (found == series_.end()) found = series_.insert(series_.end(), {what, size, per, {}});
    found->ns_per_unit.push_back(ns / per);
  }

  void print(const char* title) {
    std::printf("%s\n%-34s %12s %8s %12s %12s %12s\n", title, "what", "size", "samples", "min us", "median us",
                "p90 us");
    for (Series& row : series_) {
      std::printf("%-34s %12s %8zu %12.3f %12.3f %12.3f\n", row.what.c_str(), size_text(row.size).c_str(),
                  row.ns_per_unit.size(), row.at(0) / 1000, row.at(0.5) / 1000, row.at(0.9) / 1000);
    }
  }

  bool write(const std::string& file) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (Series& row : series_) {
      rows.push_back({{"what", row.what},
                      {"size", row.size},
                      {"samples", row.ns_per_unit.size()},
                      {"units_per_sample", row.per},
                      {"min_ns", row.at(0)},
                      {"median_ns", row.at(0.5)},
                      {"p90_ns", row.at(0.9)},
                      {"max_ns", row.at(1)}});
    }
    std::ofstream out(file);
    out << nlohmann::ordered_json({{"schema", 1}, {"rows", rows}}).dump(1) << '\n';
    return static_cast<bool>(out.flush());
  }

 private:
  struct Series {
    std::string what;
    std::uint64_t size = 0;
    double per = 1;
    std::vector<double> ns_per_unit;

    // The sample below which `share` of them lie.
    double at(double share) {
      const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(ns_per_unit.size() - 1));
      std::nth_element(ns_per_unit.begin(), ns_per_unit.begin() + index, ns_per_unit.end());
      return ns_per_unit[static_cast<std::size_t>(index)];
    }
  };

  static std::string size_text(std::uint64_t size) {
    if (size >= 1ull << 20) return std::to_string(size >> 20) + " MiB";
    if (size >= 1ull << 10) return std::to_string(size >> 10) + " KiB";
    return std::to_string(size) + " B";
  }

  std::vector<Series> series_;
};

}  // namespace quarry::gpu
