#include <quarry/allocator/space_errors.h>

#include <array>
#include <string_view>

#include <quarry/allocator/options.h>
#include <quarry/allocator/text.h>

namespace quarry {
namespace {

std::string_view code_name(DriverCode code) {
  static constexpr std::array<std::string_view, 7> kNames = {"ok",   "out of memory", "not ready", "invalid",
                                                             "gone", "unsupported",   "other"};
  return kNames[static_cast<std::size_t>(code)];
}

// What the numbers say about why it did not fit. One sentence.
std::string verdict(Bytes requested, Bytes segment, const Ledger& l) {
  if (l.limit != kUnlimited && (l.reserved > l.limit || segment > l.limit - l.reserved)) {
    return "The limit of " + to_text(l.limit) + " on reserved memory refuses it.";
  }
  if (l.largest_free >= requested) {
    return "The largest free block, " + to_text(l.largest_free) +
           ", may not serve it: it belongs to another stream, pool or class, max_split_size keeps it whole, or it came "
           "back while this request waited (close_holes would search again).";
  }
  if (l.device_total == kUnlimited) return "No device has that much in one piece.";
  if (l.device_free + l.releasable_after_wait >= segment && l.pending > Bytes{}) {
    return "It would fit once the pending bytes are free and given back.";
  }
  if (l.free_bytes() + l.device_free >= segment) {
    return "The bytes are there but not in one piece: " + to_text(l.device_free) + " free on the device, " +
           to_text(l.stranded) + " stranded beside live blocks, largest free block " + to_text(l.largest_free) + ".";
  }
  if (l.outside() > l.reserved) return "Most of the device is held outside this allocator.";
  return "Live memory fills the device.";
}

bool set_to(const Ledger& l, std::string_view setting) { return l.settings.find(setting) != std::string::npos; }

// What could be changed, by what is not changed yet. Empty where nothing of ours would help.
std::string advice(Bytes segment, const Ledger& l) {
  if (set_to(l, "garbage_collection_threshold") && l.limit == kUnlimited && !set_to(l, "close_holes")) {
    return "garbage_collection_threshold does nothing without a memory fraction below 1.";
  }
  const bool fits = l.free_bytes() + l.device_free >= segment;
  if (!fits || l.stranded < l.releasable) return {};
  if (!set_to(l, "expandable_segments:True")) {
    return "expandable_segments:True lets stranded memory grow into one piece; max_split_size_mb keeps large segments "
           "whole.";
  }
  return {};
}

std::string pending_text(const Ledger& l) {
  std::string text;
  for (const PendingOn& row : l.pending_by_stream) {
    text += text.empty() ? "  pending on " : ", on ";
    text += "stream " + std::to_string(static_cast<std::uint32_t>(row.stream)) + " " + to_text(row.bytes);
  }
  return text.empty() ? text : text + "\n";
}

std::string stranding_text(const Ledger& l) {
  std::string text;
  for (const Stranding& row : l.stranding) {
    text += "  a block of " + to_text(row.size) + (row.pending ? " (pending)" : "") + " alone keeps " +
            to_text(row.strands) + " from going back\n";
  }
  return text;
}

}  // namespace

Error driver_error(std::string_view what, DriverStatus status) {
  std::string text = "driver failed while " + std::string(what) + ": " + std::string(code_name(status.code));
  if (status.native != 0) text += " (native code " + std::to_string(status.native) + ")";
  const ErrorCode code = status.code == DriverCode::gone          ? ErrorCode::gone
                         : status.code == DriverCode::unsupported ? ErrorCode::unsupported
                                                                  : ErrorCode::driver;
  return {code, std::move(text), status.native};
}

Error rejected_error(Bytes requested, Bytes segment, const Ledger& ledger) {
  Error error = out_of_memory_error(requested, segment, ledger);
  error.message += "\n  throw_on_cudamalloc_oom refused it before anything was given back.";
  return error;
}

Error out_of_memory_error(Bytes requested, Bytes segment, const Ledger& l) {
  std::string text = "out of memory: " + to_text(requested) + " (" + std::to_string(requested.count) +
                     " bytes) requested, a segment of " + to_text(segment) + " refused.\n";
  text += "  requested " + to_text(l.requested) + " + rounding " + to_text(l.rounding()) + " = allocated " +
          to_text(l.allocated) + "\n";
  text += "  allocated " + to_text(l.allocated) + " + pending " + to_text(l.pending) + " + releasable " +
          to_text(l.releasable) + " + stranded " + to_text(l.stranded) + " = reserved " + to_text(l.reserved) + "\n";
  if (l.device_total > Bytes{} && l.device_total != kUnlimited) {
    text += "  reserved " + to_text(l.reserved) + " + outside " + to_text(l.outside()) + " + device free " +
            to_text(l.device_free) + " = device " + to_text(l.device_total) + "\n";
  }
  text += "  releasable after waiting " + to_text(l.releasable_after_wait) + ", largest free block " +
          to_text(l.largest_free) + "\n";
  text += pending_text(l) + stranding_text(l);
  if (!l.settings.empty()) text += "  settings " + l.settings + "\n";
  text += "  " + verdict(requested, segment, l);
  if (const std::string hint = advice(segment, l); !hint.empty()) text += " " + hint;
  return {ErrorCode::out_of_memory, std::move(text)};
}

Error absurd_size_error(Bytes requested) {
  return {ErrorCode::out_of_memory,
          "out of memory: " + std::to_string(requested.count) + " bytes requested, more than any device holds"};
}

}  // namespace quarry
