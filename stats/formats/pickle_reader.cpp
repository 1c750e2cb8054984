#include <quarry/stats/formats/pickle_reader.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <quarry/stats/formats/pickle_opcodes.h>

namespace quarry::stats::formats {
namespace {

constexpr std::size_t kLookahead = 16;

}  // namespace

bool PickleReader::read() {
  if (!source_.ensure(1) || *source_.cursor != kProto) return fail("a pickle of protocol 2 to 5 begins with PROTO");
  for (;;) {
    if (source_.available() < kLookahead && !refill()) return false;
    opcode_at_ = source_.offset();
    builder_.offset = opcode_at_;
    const unsigned opcode = *source_.cursor++;
    if (opcode == kStop) return stop();
    if (!step(opcode)) return false;
  }
}

bool PickleReader::refill() {
  builder_.offset = source_.offset();
  const bool plausible = builder_.plausible() && builder_.plausible(stack_.size(), 1 << 20, 8, "values on the stack") &&
                         builder_.plausible(memo_.size(), 1 << 20, 8, "memo entries");
  if (!plausible) return false;
  source_.ensure(kLookahead);
  return source_.available() > 0 || cut_short();
}

bool PickleReader::fail(std::string rule) { return source_.failure().at(opcode_at_, std::move(rule)); }

bool PickleReader::cut_short() {
  return source_.failure().at(source_.offset() + source_.available(), "the file ends in the middle of the pickle");
}

bool PickleReader::step(unsigned opcode) {
  switch (opcode) {
    case kBinGet:
      return push_memo<1>();
    case kLongBinGet:
      return push_memo<4>();
    case kMemoize:
      return memoize(memo_used_);
    case kMark:
      return mark();
    case kEmptyDict:
      return push(builder_.new_dict());
    case kSetItems:
      return set_items_marked();
    case kShortBinUnicode:
      return push_string<1>();
    case kBinInt1:
      return push_integer<1>();
    case kBinInt2:
      return push_integer<2>();
    case kBinInt:
      return push_integer<4>();
    case kLong1:
      return push_long<1>();
    case kTuple2:
      return tuple(2);
    case kEmptyList:
      return push(builder_.new_list());
    case kAppends:
      return append_marked();
    case kBinUnicode:
      return push_string<4>();
    default:
      return step_rare(opcode);
  }
}

bool PickleReader::step_rare(unsigned opcode) {
  switch (opcode) {
    case kAppend:
      return append();
    case kSetItem:
      return set_item();
    case kBinPut:
      return memoize_at<1>();
    case kLongBinPut:
      return memoize_at<4>();
    case kNone:
      return push({Tag::none});
    case kNewTrue:
      return push({Tag::boolean, 1});
    case kNewFalse:
      return push({Tag::boolean, 0});
    case kBinFloat:
      return push_float();
    case kLong4:
      return push_long<4>();
    case kBinUnicode8:
      return push_string<8>();
    case kEmptyTuple:
      return push({Tag::opaque});
    case kTuple1:
      return tuple(1);
    case kTuple3:
      return tuple(3);
    case kTuple:
      return tuple_marked();
    case kList:
      return list_marked();
    case kDict:
      return dict_marked();
    case kFrame:
      return frame();
    case kProto:
      return protocol();
    default:
      return refuse(opcode);
  }
}

bool PickleReader::refuse(unsigned opcode) {
  const std::string_view name = refused_opcode(static_cast<std::uint8_t>(opcode));
  if (name.empty()) return fail(fmt::format("unknown opcode 0x{:02x}", opcode));
  return fail(fmt::format("opcode {} is refused: only plain data is read", name));
}

bool PickleReader::take(std::size_t count) {
  if (!source_.ensure(count)) return cut_short();
  operand_ = source_.cursor;
  source_.cursor += count;
  return true;
}

template <std::size_t kBytes>
std::uint64_t PickleReader::operand() const {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t value = 0;
  std::memcpy(&value, operand_, kBytes);
  return value;
}

bool PickleReader::protocol() {
  if (!take(1)) return false;
  const std::uint64_t version = operand<1>();
  return (version >= 2 && version <= 5) || fail(fmt::format("pickle protocol {} is refused: 2 to 5 are read", version));
}

bool PickleReader::frame() {
  if (!take(8)) return false;
  const std::uint64_t length = operand<8>();
  if (!source_.may_hold(length)) return fail(fmt::format("FRAME of {} bytes is longer than the file", length));
  if (source_.offset() < frame_end_) return fail("FRAME inside a frame");
  if (length > ~std::uint64_t{0} - source_.offset()) return fail("FRAME reaches beyond 2^64");
  frame_end_ = source_.offset() + length;
  return true;
}

bool PickleReader::push(Value value) {
  stack_.push_back(value);
  return true;
}

template <std::size_t kBytes>
bool PickleReader::push_integer() {
  if (!take(kBytes)) return false;
  const std::uint64_t bits = operand<kBytes>();
  if constexpr (kBytes == 4) return push(builder_.values.signed_integer(static_cast<std::int32_t>(bits)));
  return push({Tag::integer, bits});
}

bool PickleReader::push_float() {
  if (!take(8)) return false;
  return push(builder_.values.real(std::bit_cast<double>(__builtin_bswap64(operand<8>()))));
}

template <std::size_t kBytes>
bool PickleReader::push_string() {
  if (!take(kBytes)) return false;
  const std::uint64_t length = operand<kBytes>();
  if (length > kMaxString) return fail(fmt::format("a string of {} bytes: at most {} are read", length, kMaxString));
  if (!source_.may_hold(length)) return fail(fmt::format("a string of {} bytes is longer than the file", length));
  if (!take(length)) return false;
  return push(builder_.string({reinterpret_cast<const char*>(operand_), length}));
}

template <std::size_t kBytes>
bool PickleReader::push_long() {
  if (!take(kBytes)) return false;
  const std::uint64_t length = operand<kBytes>();
  if (length > 9) return fail(fmt::format("an integer of {} bytes: at most 8 are read, or 9 if unsigned", length));
  if (!take(length)) return false;
  if (length == 0) return push({Tag::integer, 0});
  if (length == 9) {
    if (operand_[8] != 0) return fail("an integer of 9 bytes that does not fit into 64 bits");
    return push(builder_.values.unsigned_integer(operand<8>()));
  }
  std::uint64_t bits = 0;
  for (std::size_t i = length; i-- > 0;) bits = bits << 8 | operand_[i];
  const auto unused = static_cast<int>(64 - 8 * length);
  return push(builder_.values.signed_integer(static_cast<std::int64_t>(bits << unused) >> unused));
}

template <std::size_t kBytes>
bool PickleReader::push_memo() {
  if (!take(kBytes)) return false;
  const std::uint64_t index = operand<kBytes>();
  if (index >= memo_.size() || memo_[index].tag() == Tag::unset) {
    return fail(fmt::format("memo entry {} was never set", index));
  }
  return push(memo_[index]);
}

template <std::size_t kBytes>
bool PickleReader::memoize_at() {
  return take(kBytes) && memoize(operand<kBytes>());
}

bool PickleReader::memoize(std::uint64_t index) {
  if (!has(1)) return false;
  if (index > source_.offset()) return fail(fmt::format("memo entry {} has a number beyond the file's size", index));
  while (memo_.size() <= index) memo_.push_back({Tag::unset});
  const Value value = stack_.back();
  if (memo_[index].tag() == Tag::unset) ++memo_used_;
  memo_[index] = value;
  if (value.tag() == Tag::handle) pinned_ = std::max<std::size_t>(pinned_, value.index() + std::size_t{1});
  return true;
}

bool PickleReader::mark() {
  if (mark_count_ == marks_.size()) return fail(fmt::format("nested deeper than {}", kMaxNesting));
  fence_ = stack_.size();
  marks_[mark_count_++] = {fence_, builder_.objects()};
  return true;
}

bool PickleReader::has(std::size_t count) {
  return stack_.size() - fence_ >= count || fail("the opcode needs more values than the stack has");
}

bool PickleReader::take_mark(std::size_t below) {
  if (mark_count_ == 0) return fail("the opcode needs a MARK and there is none");
  taken_ = marks_[--mark_count_];
  fence_ = mark_count_ == 0 ? 0 : marks_[mark_count_ - 1].stack;
  return taken_.stack - fence_ >= below || fail("the opcode needs a container below the MARK");
}

void PickleReader::drop_marked() {
  stack_.truncate(taken_.stack);
  builder_.drop_objects(std::max(pinned_, taken_.objects));
}

// The container just consumed; its number is free again if nothing can name it any more.
void PickleReader::forget(Value value) {
  if (value.tag() == Tag::handle && value.index() >= pinned_ && value.index() + std::size_t{1} == builder_.objects()) {
    builder_.drop_objects(value.index());
  }
}

bool PickleReader::append() {
  if (!has(2)) return false;
  const std::size_t size = stack_.size();
  if (!builder_.append(stack_[size - 2], stack_.from(size - 1))) return false;
  forget(stack_.back());
  stack_.truncate(size - 1);
  return true;
}

bool PickleReader::append_marked() {
  if (!take_mark(1) || !builder_.append(stack_[taken_.stack - 1], marked())) return false;
  drop_marked();
  return true;
}

bool PickleReader::set_item() {
  if (!has(3)) return false;
  const std::size_t size = stack_.size();
  const Value value = stack_.back();
  if (!builder_.set_items(stack_[size - 3], stack_.from(size - 2))) return false;
  forget(value);
  stack_.truncate(size - 2);
  return true;
}

bool PickleReader::set_items_marked() {
  if (!take_mark(1)) return false;
  if (marked().size() % 2 != 0) return fail("a key without a value");
  if (!builder_.set_items(stack_[taken_.stack - 1], marked())) return false;
  drop_marked();
  return true;
}

bool PickleReader::tuple(std::size_t count) {
  if (!has(count)) return false;
  const std::size_t first = stack_.size() - count;
  const Value tuple = builder_.tuple(stack_.from(first));
  stack_.truncate(first);
  return push(tuple);
}

bool PickleReader::tuple_marked() {
  if (!take_mark(0)) return false;
  const Value tuple = builder_.tuple(marked());
  drop_marked();
  return push(tuple);
}

bool PickleReader::list_marked() {
  if (!take_mark(0)) return false;
  const Value list = builder_.new_list();
  if (!builder_.append(list, marked())) return false;
  stack_.truncate(taken_.stack);
  return push(list);
}

bool PickleReader::dict_marked() {
  if (!take_mark(0)) return false;
  if (marked().size() % 2 != 0) return fail("a key without a value");
  const Value dict = builder_.new_dict();
  if (!builder_.set_items(dict, marked())) return false;
  stack_.truncate(taken_.stack);
  return push(dict);
}

// Only zero bytes may follow: padding of block devices and archives.
bool PickleReader::stop() {
  if (mark_count_ != 0 || stack_.size() != 1) return fail("STOP with other than one value on the stack");
  if (source_.offset() < frame_end_) return fail("STOP before the end of its FRAME");
  builder_.offset = source_.offset();
  while (source_.ensure(1)) {
    const unsigned char* other =
        std::find_if(source_.cursor, source_.limit, [](unsigned char byte) { return byte != 0; });
    source_.cursor = other;
    if (other != source_.limit) return source_.failure().at(source_.offset(), "data follows the end of the pickle");
  }
  return !source_.failed() && builder_.finish(stack_[0]);
}

}  // namespace quarry::stats::formats
