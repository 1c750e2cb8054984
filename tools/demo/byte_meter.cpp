#include "tools/demo/byte_meter.h"

#include <numeric>
#include <utility>

namespace quarry::tools {

Bytes ByteRow::total() const { return std::accumulate(of.begin(), of.end(), Bytes{}); }

ByteMeter::ByteMeter(Allocator memory) : memory_(std::move(memory)) { memory_.attach(*this); }
ByteMeter::~ByteMeter() { memory_.detach(); }

void ByteMeter::on_record(const Record& record) noexcept {
  if (record.action == Action::alloc) {
    live_[record.address.value] = {purpose_, record.size};
    now_[purpose_] += record.size;
    if (now_.total() > peak_.total()) peak_ = now_;
  } else if (record.action == Action::free_requested) {
    const auto found = live_.find(record.address.value);
    if (found == live_.end()) return;  // from before
    now_[found->second.purpose] -= found->second.size;
    live_.erase(found);
  }
}

}  // namespace quarry::tools
