#include "tools/cases/call_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

namespace quarry::tools {
namespace {

// "ok", "oom" or what the recordings say for the other failures of that call.
std::string_view result_text(const sim::CallRecord& record) {
  if (record.result == DriverCode::ok) return "ok";
  const bool maps = record.call == sim::Call::map || record.call == sim::Call::set_access;
  if (maps) return "fail";
  return record.result == DriverCode::out_of_memory ? "oom" : "invalid";
}

std::string stream_text(const sim::CallRecord& record) {
  return fmt::format("s{}", reinterpret_cast<std::uintptr_t>(record.stream) >> 8);
}

std::string mapping_text(std::string_view name, const sim::CallRecord& record) {
  const std::string text = fmt::format("{} {} {}", name, record.size.count, result_text(record));
  return record.result == DriverCode::ok ? fmt::format("{} {}", text, record.offset.count) : text;
}

// A release is recorded with what the device held for the segment: whole multiples of its granularity.
std::string free_text(const sim::CallRecord& record, Bytes granularity) {
  const std::uint64_t held = (record.size.count + granularity.count - 1) / granularity.count * granularity.count;
  return fmt::format("cudaFree {}{}", held, record.result == DriverCode::ok ? "" : " failed");
}

std::string text_of(const sim::CallRecord& record, Bytes granularity) {
  switch (record.call) {
    case sim::Call::allocate_segment:
      return fmt::format("cudaMalloc {} {}", record.size.count, result_text(record));
    case sim::Call::release_segment:
      return free_text(record, granularity);
    case sim::Call::reserve:
      return fmt::format("cuMemAddressReserve {} {}", record.size.count, result_text(record));
    case sim::Call::unreserve:
      return fmt::format("cuMemAddressFree {}", record.size.count);
    case sim::Call::create_page:
      return fmt::format("cuMemCreate {} {}", record.size.count, result_text(record));
    case sim::Call::destroy_page:
      return fmt::format("cuMemRelease {}", record.size.count);
    case sim::Call::map:
      return mapping_text("cuMemMap", record);
    case sim::Call::set_access:
      return mapping_text("cuMemSetAccess", record);
    case sim::Call::unmap:
      return mapping_text("cuMemUnmap", record);
    case sim::Call::record:
      return "cudaEventRecord " + stream_text(record);
    case sim::Call::query:
      return fmt::format("cudaEventQuery {} {}", stream_text(record),
                         record.result == DriverCode::ok ? "ready" : "pending");
    case sim::Call::wait_on_host:
      return "cudaEventSynchronize " + stream_text(record);
    case sim::Call::synchronize_stream:
      return "cudaStreamSynchronize " + stream_text(record);
    default:
      return {};
  }
}

}  // namespace

void* handle_of(CaseStream stream) { return reinterpret_cast<void*>(std::uintptr_t{stream} << 8); }

std::vector<std::string> call_texts(const std::vector<sim::CallRecord>& records, Bytes granularity) {
  std::vector<std::string> texts;
  for (const sim::CallRecord& record : records) {
    if (std::string text = text_of(record, granularity); !text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

std::optional<sim::Call> call_named(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, sim::Call>, 6> kCalls = {{
      {"cudaMalloc", sim::Call::allocate_segment},
      {"cudaFree", sim::Call::release_segment},
      {"cuMemAddressReserve", sim::Call::reserve},
      {"cuMemCreate", sim::Call::create_page},
      {"cuMemMap", sim::Call::map},
      {"cuMemSetAccess", sim::Call::set_access},
  }};
  const auto found = std::ranges::find(kCalls, name, &std::pair<std::string_view, sim::Call>::first);
  if (found == kCalls.end()) return std::nullopt;
  return found->second;
}

}  // namespace quarry::tools
