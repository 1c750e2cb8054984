#include <quarry/stats/formats/pickle_sink.h>

#include <bit>
#include <limits>
#include <utility>

#include <quarry/stats/formats/pickle_opcodes.h>

namespace quarry::stats::formats {
namespace {

// As Python's pickler: no reader has to hold more values of one list at a time.
constexpr std::size_t kBatch = 1000;

}  // namespace

PickleSink::PickleSink() {
  put(kProto);
  put(4);
}

void PickleSink::put_bytes(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> 8 * i & 0xff);
}

void PickleSink::item() {
  if (open_.empty() || !open_.back().is_list) return;
  Open& list = open_.back();
  if (list.items % kBatch == 0) {
    if (list.items > 0) put(kAppends);
    put(kMark);
  }
  ++list.items;
}

void PickleSink::begin_dict() {
  item();
  put(kEmptyDict);
  open_.push_back({false, 0});
}

void PickleSink::end_dict() {
  if (open_.back().items > 0) put(kSetItems);
  open_.pop_back();
}

void PickleSink::begin_list() {
  item();
  put(kEmptyList);
  open_.push_back({true, 0});
}

void PickleSink::end_list() {
  if (open_.back().items > 0) put(kAppends);
  open_.pop_back();
}

void PickleSink::key(std::string_view name) {
  if (open_.back().items++ == 0) put(kMark);
  put_string(name);
}

void PickleSink::text(std::string_view text) {
  item();
  put_string(text);
}

void PickleSink::put_string(std::string_view text) {
  const auto [known, added] = strings_.try_emplace(std::string(text), memo_size_);
  if (!added) return get(known->second);
  if (text.size() < 256) {
    put(kShortBinUnicode);
    put_bytes(text.size(), 1);
  } else {
    put(kBinUnicode);
    put_bytes(text.size(), 4);
  }
  out_ += text;
  memoize();
}

std::uint32_t PickleSink::memoize() {
  put(kMemoize);
  return memo_size_++;
}

void PickleSink::get(std::uint32_t memo) {
  put(memo < 256 ? kBinGet : kLongBinGet);
  put_bytes(memo, memo < 256 ? 1 : 4);
}

void PickleSink::number(std::uint64_t value) {
  item();
  put_number(value);
}

void PickleSink::put_number(std::uint64_t value) {
  if (value <= 0xff) {
    put(kBinInt1);
    put_bytes(value, 1);
  } else if (value <= 0xffff) {
    put(kBinInt2);
    put_bytes(value, 2);
  } else if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) {
    put(kBinInt);
    put_bytes(value, 4);
  } else {
    put_long(value, static_cast<std::size_t>(std::bit_width(value)) / 8 + 1);  // one bit for the sign
  }
}

void PickleSink::put_long(std::uint64_t value, std::size_t bytes) {
  put(kLong1);
  put_bytes(bytes, 1);
  put_bytes(value, bytes < 8 ? bytes : 8);
  if (bytes > 8) out_ += '\0';
}

void PickleSink::integer(std::int64_t value) {
  item();
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0) return put_number(bits);
  if (value < std::numeric_limits<std::int32_t>::min()) return put_long(bits, 8);
  put(kBinInt);
  put_bytes(bits, 4);
}

void PickleSink::real(double value) {
  item();
  put(kBinFloat);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = 8; i-- > 0;) put_bytes(bits >> 8 * i & 0xff, 1);
}

void PickleSink::boolean(bool value) {
  item();
  put(value ? kNewTrue : kNewFalse);
}

void PickleSink::pair(std::uint64_t a, std::uint64_t b) {
  item();
  put_number(a);
  put_number(b);
  put(kTuple2);
}

bool PickleSink::shared(StackId stack) {
  const auto known = stacks_.find(static_cast<std::uint32_t>(stack));
  if (known == stacks_.end()) return false;
  item();
  get(known->second);
  return true;
}

void PickleSink::share(StackId stack) { stacks_.emplace(static_cast<std::uint32_t>(stack), memoize()); }

std::string PickleSink::take() {
  put(kStop);
  return std::move(out_);
}

}  // namespace quarry::stats::formats
