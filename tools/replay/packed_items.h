// Items that have their place, found by time: what lives during some stretch of time, from the bottom up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <quarry/allocator/types.h>
#include "tools/replay/pack.h"

namespace quarry::tools {

enum class Fit : std::uint8_t { first, best };

// Time is covered by windows on several levels, each half over the next one; an item stands in every window that it
// meets, in the order of its offset. A search needs only the smallest window around it.
class PackedItems {
 public:
  // For these items, in [0, time). Places for them are added by `add` only.
  PackedItems(std::span<const PackItem> items, std::uint32_t time);

  // Where the item fits, the lowest place of all or of the smallest gap; above all others if there is no gap.
  Bytes find(const PackItem& item, Fit fit) const;
  void add(const PackItem& item, Bytes offset);

 private:
  struct Placed {
    std::uint64_t bottom;
    std::uint64_t top;
    std::uint32_t begin;
    std::uint32_t end;
  };
  // In the order of `bottom`, in chunks so that a new one moves few.
  class Window {
   public:
    void insert(const Placed& placed);
    const std::vector<std::vector<Placed>>& chunks() const { return chunks_; }

   private:
    std::vector<std::vector<Placed>> chunks_;  // none is empty
  };
  struct Level {
    std::uint32_t stride;  // windows begin at its multiples and are twice as long
    std::vector<Window> windows;

    // The windows that an item meets: [first, last].
    std::uint32_t first(const PackItem& item) const {
      const std::uint32_t own = item.begin / stride;
      return own == 0 ? 0 : own - 1;  // a window reaches into the stretch of the next one
    }
    std::uint32_t last(const PackItem& item) const { return (item.end - 1) / stride; }
  };

  const Window& around(const PackItem& item) const;

  std::vector<Level> levels_;  // the last has the shortest windows; the first has one for everything
};

}  // namespace quarry::tools
