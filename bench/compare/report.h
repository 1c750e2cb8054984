// The figures of bench_compare as rows, for people and for programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/compare/measure.h"

namespace quarry::bench {

struct CaseFigures {
  std::string name;
  std::vector<Figure> figures;  // kFast and kTight are among them
};

struct Report {
  std::vector<CaseFigures> cases;
  std::vector<std::string_view> left_out;  // subjects that this build does not have
  Effort effort;
  bool quick = false;  // the figures mean nothing
};

// A row for each case and peer: {case, quarry_ns, peer, peer_ns, ratio, tight_ns}; quarry_ns is kFast's; each is the
// least of the rounds, since what else a machine does only adds. ratio is peer_ns / quarry_ns.
std::string text(const Report& report);

// {schema, quick, unit, conditions, left_out, rows, figures}; a figure has the spread of one subject in one case.
nlohmann::ordered_json json(const Report& report);

}  // namespace quarry::bench
