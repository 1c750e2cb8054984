#include <algorithm>

#include <fmt/format.h>
#include "tools/replay/rewind.h"

namespace quarry::tools {
namespace {

constexpr std::size_t kMaxProblems = 4;

bool leaves_64_bits(Address address, Bytes size) { return size.count > ~std::uint64_t{0} - address.value; }

// Empty if the blocks fill the segment without a hole. A list of no blocks says nothing.
std::string block_problem(const stats::TraceSegment& segment) {
  Address end = segment.address;
  for (const stats::TraceBlock& block : segment.blocks) {
    if (block.address != end) {
      return fmt::format("segment {:#x}: the block at {:#x} should begin at {:#x}", segment.address.value,
                         block.address.value, end.value);
    }
    if (block.size == Bytes{} || leaves_64_bits(block.address, block.size)) {
      return fmt::format("segment {:#x}: the block at {:#x} cannot have {} bytes", segment.address.value,
                         block.address.value, block.size.count);
    }
    end = block.address + block.size;
  }
  const Bytes sum = end - segment.address;
  if (segment.blocks.empty() || sum == segment.total_size) return {};
  return fmt::format("segment {:#x}: its blocks add up to {} bytes, its total_size is {}", segment.address.value,
                     sum.count, segment.total_size.count);
}

std::string segment_problem(const stats::TraceSegment& segment, const stats::TraceSegment* before) {
  if (segment.total_size == Bytes{} || leaves_64_bits(segment.address, segment.total_size)) {
    return fmt::format("segment {:#x} cannot have {} bytes", segment.address.value, segment.total_size.count);
  }
  if (before != nullptr && before->address + before->total_size > segment.address) {
    return fmt::format("segments {:#x} and {:#x} overlap", before->address.value, segment.address.value);
  }
  return block_problem(segment);
}

}  // namespace

std::vector<std::string> segment_problems(const stats::DeviceTrace& device) {
  std::vector<const stats::TraceSegment*> sorted;
  for (const stats::TraceSegment& segment : device.segments) sorted.push_back(&segment);
  std::ranges::stable_sort(sorted, {}, [](const stats::TraceSegment* s) { return s->address; });
  std::vector<std::string> problems;
  const stats::TraceSegment* before = nullptr;
  for (const stats::TraceSegment* segment : sorted) {
    if (problems.size() == kMaxProblems) break;
    if (std::string problem = segment_problem(*segment, before); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
    before = segment;
  }
  return problems;
}

}  // namespace quarry::tools
