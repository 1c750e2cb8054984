// The glossary: one word per thing, used in code, output and documents alike.
//
// space      one device's memory, pinned host memory, or pageable host memory. Not a pool.
// request    the bytes the caller asked for. Not the block.
// block      one address range, live or free, with an owner stream; made of one or more extents. Not a request.
// segment    an address range got from the driver, and what is mapped in it. Not a block.
// page       the unit of mapping physical memory (2 MiB on a GPU). Not an operating-system page.
// extent     a byte range of physical pages; the unit of merging and of hand-over between streams. Not a block.
// alias      a further address range over pages that are mapped elsewhere too. Not new memory.
// heap       the policy that cuts blocks for one pool of a space. Not the process heap.
// pool       a named part of a space with its own heap, sharing the space's limits. Not a size class.
// class      small or large: which of two free lists a size belongs to (pytorch policy).
// stream     an ordered queue of device work. Its number is never reused. Not a handle.
// pending    freed by the caller, still used by work on another stream. Not live.
// requested  bytes of live requests; drops when the caller frees.
// allocated  the same at block size; drops when the caller frees.
// active     allocated + pending.
// reserved   physical bytes got from the driver and not given back; an alias counts once. Not address space.
// cached     reserved - active = releasable + stranded.
// releasable cached bytes `empty_cache` would give back now. Not all that is cached.
// stranded   cached bytes it cannot give back, because something live shares their segment or page.
#pragma once

#include <compare>
#include <cstdint>

namespace quarry {

// A number of bytes. Unsigned; subtracting more than there is wraps, so callers compare first.
struct Bytes {
  std::uint64_t count = 0;

  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) { return {a.count * n}; }
  constexpr Bytes& operator+=(Bytes b) { return *this = *this + b; }
  constexpr Bytes& operator-=(Bytes b) { return *this = *this - b; }
};

// A place in an address space of a device or of the host. 0 is no place.
struct Address {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const Address&, const Address&) = default;
  friend constexpr Address operator+(Address a, Bytes n) { return {a.value + n.count}; }
  friend constexpr Address operator-(Address a, Bytes n) { return {a.value - n.count}; }
  friend constexpr Bytes operator-(Address a, Address b) { return {a.value - b.value}; }
};

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }
}  // namespace literals

// Number of a stream inside one space, in order of first use; 0 is the default stream.
enum class StreamId : std::uint32_t {};
inline constexpr StreamId kDefaultStream{0};

// Order of creation of a segment inside one space; never used twice.
enum class SegmentNumber : std::uint64_t {};

// Name of a pool. {0, 0} is the default pool.
struct PoolId {
  std::uint64_t first = 0;
  std::uint64_t second = 0;

  friend constexpr auto operator<=>(const PoolId&, const PoolId&) = default;
};
inline constexpr PoolId kDefaultPool{};

// The caller's own label of a request; 0 is none. Reported, never interpreted.
enum class Tag : std::uint32_t {};

enum class SizeClass : std::uint8_t { small, large };

enum class BlockState : std::uint8_t { free, live, pending };

// Which of several free blocks of equal size is taken (pytorch policy):
// the lower address, or the block of the earlier created segment and then the lower address.
enum class TieBreak : std::uint8_t { address, segment };

}  // namespace quarry
