#include <quarry/stats/formats/pickle_opcodes.h>

#include <algorithm>
#include <array>

namespace quarry::stats::formats {
namespace {

struct Named {
  std::uint8_t opcode;
  std::string_view name;
};
constexpr std::array<Named, 34> kRefused = {{
    {'c', "GLOBAL"},      {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},
    {'b', "BUILD"},       {'i', "INST"},          {'o', "OBJ"},
    {0x81, "NEWOBJ"},     {0x92, "NEWOBJ_EX"},    {0x82, "EXT1"},
    {0x83, "EXT2"},       {0x84, "EXT4"},         {'P', "PERSID"},
    {'Q', "BINPERSID"},   {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"},
    {0x96, "BYTEARRAY8"}, {'B', "BINBYTES"},      {'C', "SHORT_BINBYTES"},
    {0x8e, "BINBYTES8"},  {0x8f, "EMPTY_SET"},    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},  {'T', "BINSTRING"},     {'U', "SHORT_BINSTRING"},
    {'S', "STRING"},      {'V', "UNICODE"},       {'I', "INT"},
    {'L', "LONG"},        {'F', "FLOAT"},         {'g', "GET"},
    {'p', "PUT"},         {'0', "POP"},           {'1', "POP_MARK"},
    {'2', "DUP"},
}};

}  // namespace

std::string_view refused_opcode(std::uint8_t opcode) {
  const auto found = std::find_if(kRefused.begin(), kRefused.end(), [&](const Named& n) { return n.opcode == opcode; });
  return found == kRefused.end() ? std::string_view{} : found->name;
}

}  // namespace quarry::stats::formats
