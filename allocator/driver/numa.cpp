#include <quarry/allocator/driver/numa.h>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

#include <quarry/allocator/driver/address_space.h>

namespace quarry {
namespace {

constexpr unsigned kMostNodes = 1024;
constexpr unsigned kBits = 8 * sizeof(unsigned long);

// Takes a number off the front of the text.
std::optional<unsigned> take_number(std::string_view& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number >= kMostNodes) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::vector<unsigned> parse_node_list(std::string_view text) {
  std::vector<unsigned> nodes;
  do {
    const std::optional<unsigned> first = take_number(text);
    const std::optional<unsigned> last = first && take(text, '-') ? take_number(text) : first;
    if (!last || *last < *first) return {};
    for (unsigned node = *first; node <= *last; ++node) nodes.push_back(node);
  } while (take(text, ','));
  return text.empty() ? nodes : std::vector<unsigned>{};
}

std::vector<unsigned> memory_nodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string line;
  std::getline(file, line);
  return parse_node_list(line);
}

DriverStatus interleave(Address base, Bytes size, const std::vector<unsigned>& nodes) {
  std::array<unsigned long, kMostNodes / kBits> mask{};
  for (const unsigned node : nodes) mask[node / kBits] |= 1ul << node % kBits;
  const long done = syscall(SYS_mbind, base.value, size.count, MPOL_INTERLEAVE, mask.data(), kMostNodes, 0);
  return done == 0 ? DriverStatus{} : system_failure(errno);
}

}  // namespace quarry
