// The operations of the case language (reference/bug_cases.md and the conformance corpus speak it). One line, one
// value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <quarry/allocator/result.h>
#include <quarry/allocator/types.h>

namespace quarry::tools {

// Streams and pools are small numbers of the case; 0 is the default one.
using CaseStream = std::uint32_t;
using CasePool = std::uint64_t;

namespace op {

struct Alloc {  // `alloc ID SIZE [STREAM]`: plain pointers
  std::string id;
  Bytes size;
  CaseStream stream = 0;
};
struct Allocate {  // `allocate ID SIZE`: the path of tensors, on the current stream
  std::string id;
  Bytes size;
};
struct Free {
  std::string id;
};
struct View {  // a second name of a block; the block is freed with the last name
  std::string id;
  std::string of;
};
struct Record {  // `record ID STREAM`: work on another stream uses the block
  std::string id;
  CaseStream stream = 0;
};
enum class StreamVerb : std::uint8_t { hold, complete, unhold, sync };
struct StreamControl {
  StreamVerb verb = StreamVerb::hold;
  CaseStream stream = 0;
};
struct EmptyCache {};
struct EmptyPool {
  CasePool pool = 0;
};
struct ResetPeak {};
struct ResetAccumulated {};
struct SetFraction {
  double fraction = 1;
};
struct GetFraction {};
struct Settings {  // the empty string is written `-`
  std::string text;
};
enum class PoolVerb : std::uint8_t { create, begin, end, release, use_count, use_on_oom, no_split };
struct Pool {
  PoolVerb verb = PoolVerb::create;
  CasePool pool = 0;
};
enum class CaptureVerb : std::uint8_t { begin, end, join, leave, current };
struct Capture {
  CaptureVerb verb = CaptureVerb::begin;
  CaseStream stream = 0;
};
struct Checkpoint {
  std::string name;
  CasePool pool = 0;
};
struct Restore {
  std::string name;
};
struct SetCapacity {
  Bytes capacity;
};
struct SetContext {  // bytes of the device in use by others
  Bytes used;
};
struct Fail {  // the `nth` next call of the driver's `call` fails as out of memory
  std::string call;
  std::uint64_t nth = 1;
};
struct Largest {};
struct Base {
  std::string id;
};
struct Check {};
enum class HostVerb : std::uint8_t { alloc, free, use, empty };
struct Host {  // the pinned host allocator's: halloc, hfree, use, empty
  HostVerb verb = HostVerb::alloc;
  std::string id;
  Bytes size;
  CaseStream stream = 0;
};

// What `expect` can ask about, in the order of kExpectKeyNames.
enum class ExpectKey : std::uint8_t {
  allocated,
  requested,
  active,
  pending,
  reserved,
  cached,
  releasable,
  stranded,
  largest_free,
  segments,
  device_free,
  peak_allocated,
  peak_reserved,
  retries
};
inline constexpr std::array<std::string_view, 14> kExpectKeyNames = {
    "allocated", "requested",    "active",   "pending",     "reserved",       "cached",        "releasable",
    "stranded",  "largest_free", "segments", "device_free", "peak_allocated", "peak_reserved", "retries"};

enum class ExpectPolicy : std::uint8_t { any, pytorch, paged };
struct Expect {
  ExpectPolicy policy = ExpectPolicy::any;
  std::optional<bool> ok;  // of the last alloc: true = it was served, false = out of memory
  std::vector<std::pair<ExpectKey, std::uint64_t>> values;
};

}  // namespace op

using Operation =
    std::variant<op::Alloc, op::Allocate, op::Free, op::View, op::Record, op::StreamControl, op::EmptyCache,
                 op::EmptyPool, op::ResetPeak, op::ResetAccumulated, op::SetFraction, op::GetFraction, op::Settings,
                 op::Pool, op::Capture, op::Checkpoint, op::Restore, op::SetCapacity, op::SetContext, op::Fail,
                 op::Largest, op::Base, op::Check, op::Host, op::Expect>;

// Reads one operation. Errors are ErrorCode::invalid; the message is the broken rule alone, without a place.
Result<Operation> parse_operation(std::string_view text);

// `N`, or `N` with KiB, MiB or GiB; with a unit N may have decimals (`26.5GiB`) as long as the bytes come out whole.
Result<Bytes> parse_size(std::string_view text);

}  // namespace quarry::tools
