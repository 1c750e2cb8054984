// Sizes of the paged policy.
#pragma once

#include <quarry/allocator/heap/free_space.h>
#include <quarry/allocator/heap/pytorch_rules.h>
#include <quarry/allocator/types.h>

namespace quarry {

// Exact bytes at 512 B. 0 < n <= kLargestRequest.
constexpr Bytes paged_size(Bytes n) { return round_up(n, {kUnit}); }

// The rows of the counters; there is no wall between the two.
constexpr SizeClass paged_class(Bytes size) { return size_class_of(size); }

// Below this part of a page (256 KiB of 2 MiB) the tight placement takes a good fit. Scoring smaller requests too costs
// time and saves nothing; leaving larger ones to good fit costs memory (over fifteen large recordings, mean F with
// scoring from 512 B, 16, 64, 256, 512 KiB: 1.0009, 1.0009, 1.0009, 1.0008, 1.0008; the worst 1.0024, 1.0031, 1.0031,
// 1.0024, 1.0031).
inline constexpr Units kScoredPart = 8;

// Home addresses, counted in times what holds the whole device: blocks that have to be one run find addresses between
// those that stay.
inline constexpr std::size_t kArenaTimes = 4;

// Aliases that may lie idle before the longest idle are unmapped, in one go down to half.
inline constexpr std::size_t kMostAliases = 4096;
inline constexpr std::size_t kLeastAliasPages = 65536;
inline constexpr std::size_t kAliasPagesPerPage = 8;  // for each page held

// Ranges that are looked at when a wait could save a page, and how old they are when waits shall be few.
inline constexpr int kWaitTries = 4;  // for one request
inline constexpr std::size_t kMostWaitable = 256;
inline constexpr std::uint64_t kFewWaitsAge = 16;
// A wait is thought of only when growing would pass this many times the most that was live.
inline constexpr double kFewWaitsSlack = 1.01;
inline constexpr double kAllWaitsSlack = 1.001;

}  // namespace quarry
