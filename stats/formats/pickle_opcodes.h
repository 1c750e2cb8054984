// The opcodes of Python's pickle protocols 0 to 5, by name. Those that are read are plain data.
#pragma once

#include <cstdint>
#include <string_view>

namespace quarry::stats::formats {

enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kNone = 'N',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kBinFloat = 'G',
  kBinUnicode = 'X',
  kAppend = 'a',
  kDict = 'd',
  kEmptyDict = '}',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kList = 'l',
  kEmptyList = ']',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kEmptyTuple = ')',
  kSetItems = 'u',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};

// Name of an opcode that exists but is not read: it builds objects, calls code, or is not plain data. Empty if there is
// no such opcode at all.
std::string_view refused_opcode(std::uint8_t opcode);

}  // namespace quarry::stats::formats
