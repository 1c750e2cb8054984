// From content to a dense id, for interning. Open addressing over 8-byte slots; the content stays with the owner.
//
// The hash is seeded per process, so a hostile file cannot be prepared to collide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace quarry::stats {

std::uint64_t hash_seed();

class HashIndex {
 public:
  HashIndex() : seed_(hash_seed()), slots_(16) {}

  std::uint32_t hash(const void* data, std::size_t size) const {
    const auto* at = static_cast<const unsigned char*>(data);
    std::uint64_t h = seed_ ^ size;
    for (; size > 8; at += 8, size -= 8) h = mix(h ^ load(at, 8), seed_ | 1);
    return static_cast<std::uint32_t>(mix(h ^ load(at, size), kOdd ^ seed_));
  }

  // The id of the content with this hash for which `same(id)` holds; if there is none, `next`, which is then stored.
  template <class Same>
  std::uint32_t find_or_add(std::uint32_t hash, std::uint32_t next, Same&& same) {
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].id_plus_1 != 0; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].hash == hash && same(slots_[at].id_plus_1 - 1)) return slots_[at].id_plus_1 - 1;
    }
    slots_[at] = {hash, next + 1};
    if (++used_ * 4 > slots_.size() * 3) grow();
    return next;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id_plus_1 = 0;  // 0 = empty
  };
  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    const Wide product = static_cast<Wide>(a ^ kOdd) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }
  static std::uint64_t load(const unsigned char* at, std::size_t size) {
    std::uint64_t word = 0;
    if (size == 8) {
      std::memcpy(&word, at, 8);
    } else if (size >= 4) {  // two overlapping halves: no loop for the tail
      std::uint32_t low = 0, high = 0;
      std::memcpy(&low, at, 4);
      std::memcpy(&high, at + size - 4, 4);
      word = low | static_cast<std::uint64_t>(high) << 32;
    } else if (size > 0) {
      word = static_cast<std::uint64_t>(at[0]) | static_cast<std::uint64_t>(at[size / 2]) << 8 |
             static_cast<std::uint64_t>(at[size - 1]) << 16;
    }
    return word;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.id_plus_1 == 0) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].id_plus_1 != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::uint64_t seed_;
  std::size_t used_ = 0;
  std::vector<Slot> slots_;  // a power of two
};

}  // namespace quarry::stats
