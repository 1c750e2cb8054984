// An address range handed out first fit: where a simulated device's memory lies.
#pragma once

#include <map>
#include <optional>

#include <quarry/allocator/types.h>

namespace quarry::sim {

// Not synchronised; the owner locks. Finding a place walks the gaps from the bottom up.
class AddressLayout {
 public:
  // Hands out multiples of `granularity` (> 0) inside [base, top).
  AddressLayout(Address base, Address top, Bytes granularity);

  // The lowest gap that holds `size` bytes, a multiple of the granularity; nullopt when there is none.
  std::optional<Address> take(Bytes size) { return take(size, granularity_); }
  std::optional<Address> take(Bytes size, Bytes alignment);  // at a multiple of `alignment` instead
  // Takes [at, at + size) where it lies inside the layout; it must be free there, and the sum below 2^64.
  void take_at(Address at, Bytes size);
  // The opposite of both.
  void give_back(Address at, Bytes size);

 private:
  std::map<Address, Address> gaps_;  // begin -> end; none is empty, no two touch
  Address base_;
  Address top_;
  Bytes granularity_;
};

// `size` rounded up to a multiple of `granularity`; nullopt when that leaves 64 bits.
std::optional<Bytes> round_up(Bytes size, Bytes granularity);

}  // namespace quarry::sim
