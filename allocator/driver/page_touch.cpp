#include <quarry/allocator/driver/page_touch.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

#include <quarry/allocator/driver/system_memory.h>

namespace quarry {
namespace {

constexpr std::uint64_t kLeastPages = 256;  // less is done before a thread has started

void touch(Address base, std::uint64_t first, std::uint64_t last, Bytes page) {
  for (std::uint64_t i = first; i < last; ++i) {
    *reinterpret_cast<volatile unsigned char*>((base + page * i).value) = 0;
  }
}

}  // namespace

void touch_pages(Address base, Bytes size, std::uint32_t threads) {
  const Bytes page = system_page_size();
  const std::uint64_t pages = (size.count + page.count - 1) / page.count;
  const std::uint64_t parts = std::clamp<std::uint64_t>(threads, 1, std::max<std::uint64_t>(pages / kLeastPages, 1));
  const auto border = [&](std::uint64_t part) { return pages * part / parts; };
  std::vector<std::thread> others;
  std::uint64_t part = 1;
  try {
    others.reserve(parts);
    for (; part < parts; ++part) others.emplace_back(touch, base, border(part), border(part + 1), page);
  } catch (const std::system_error&) {
    // The parts from here on are ours.
  }
  touch(base, border(part), pages, page);
  touch(base, 0, border(1), page);
  for (std::thread& other : others) other.join();
}

}  // namespace quarry
