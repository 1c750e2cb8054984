#include "support/operation.h"

#include <sstream>

namespace quarry::oracle {
namespace {

std::string roundup_text(const Roundup& roundup) {
  if (roundup.list.empty()) return std::to_string(roundup.all);
  std::string text = "[";
  for (const auto& [mib, divisions] : roundup.list) {
    if (text.size() > 1) text += ',';
    text += (mib == 0 ? ">" : std::to_string(mib)) + ":" + std::to_string(divisions);
  }
  return text + "]";
}

struct Print {
  std::ostringstream& out;

  void operator()(const Allocate& a) const { out << "alloc b" << a.id << ' ' << a.size << ' ' << a.stream; }
  void operator()(const Free& f) const { out << "free b" << f.id; }
  void operator()(const EmptyCache&) const { out << "empty_cache"; }
  void operator()(const ResetPeak&) const { out << "reset_peak"; }
  void operator()(const ResetAccumulated&) const { out << "reset_accumulated"; }
  void operator()(const SetFraction& f) const { out << "set_fraction " << f.fraction; }
  void operator()(const Configure& c) const {
    const std::string text = c.settings.text();
    out << "settings " << (text.empty() ? "-" : text);
  }
  void operator()(const SetCapacity& c) const { out << "cap " << c.bytes; }
  void operator()(const SetOutside& o) const { out << "context " << o.bytes; }
  void operator()(const FailSegment& f) const {
    out << "fail cudaMalloc " << f.nth << (f.other ? "  # with an error other than out of memory" : "");
  }
};

}  // namespace

std::string Settings::text() const {
  std::string text;
  const auto add = [&text](const std::string& key, const std::string& value) {
    text += (text.empty() ? "" : ",") + key + ":" + value;
  };
  if (large_segment_mib) add("large_segment_size_mb", std::to_string(*large_segment_mib));
  if (max_split_mib) add("max_split_size_mb", std::to_string(*max_split_mib));
  if (max_non_split_rounding_mib) add("max_non_split_rounding_mb", std::to_string(*max_non_split_rounding_mib));
  if (roundup) add("roundup_power2_divisions", roundup_text(*roundup));
  return text;
}

std::string to_text(const Operation& operation) {
  std::ostringstream out;
  std::visit(Print{out}, operation);
  return out.str();
}

std::string to_text(const Program& program) {
  const Start& start = program.start;
  std::ostringstream out;
  out << "# tie_break " << (start.tie_break == TieBreak::segment ? "segment" : "address") << ", streams "
      << start.streams << '\n';
  if (start.memory_limit != kUnlimited.count) out << "# memory_limit " << start.memory_limit << '\n';
  if (start.capacity != kUnlimited.count) out << "cap " << start.capacity << '\n';
  if (const std::string text = start.settings.text(); !text.empty()) out << "config " << text << '\n';
  if (start.outside != 0) out << "context " << start.outside << '\n';
  for (const Operation& operation : program.operations) out << to_text(operation) << '\n';
  return out.str();
}

}  // namespace quarry::oracle
