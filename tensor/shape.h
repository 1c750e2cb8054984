// Sizes and strides: up to eight numbers, held in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <quarry/allocator/check.h>
#include <quarry/allocator/result.h>

namespace quarry {

inline constexpr std::size_t kMaxDims = 8;

// A number for each dimension, the outermost first. More than kMaxDims is a CHECK failure.
class Dims {
 public:
  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) {
    for (const std::int64_t value : values) push_back(value);
  }
  // `count` times the same.
  static constexpr Dims of(std::size_t count, std::int64_t value) {
    Dims result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(value);
    return result;
  }

  constexpr std::size_t size() const { return count_; }
  constexpr bool empty() const { return count_ == 0; }
  constexpr std::int64_t& operator[](std::size_t i) { return values_[i]; }
  constexpr std::int64_t operator[](std::size_t i) const { return values_[i]; }
  constexpr const std::int64_t* begin() const { return values_.data(); }
  constexpr const std::int64_t* end() const { return values_.data() + count_; }

  constexpr void push_back(std::int64_t value) { insert(count_, value); }
  constexpr void insert(std::size_t at, std::int64_t value) {
    QUARRY_CHECK(count_ < kMaxDims, "a tensor has at most eight dimensions");
    for (std::size_t i = count_; i > at; --i) values_[i] = values_[i - 1];
    values_[at] = value;
    ++count_;
  }
  constexpr void erase(std::size_t at) {
    for (std::size_t i = at + 1; i < count_; ++i) values_[i - 1] = values_[i];
    values_[--count_] = 0;
  }

  friend constexpr bool operator==(const Dims&, const Dims&) = default;

 private:
  std::array<std::int64_t, kMaxDims> values_{};  // 0 from count_ on
  std::size_t count_ = 0;
};

// "[2, 3]"
std::string text(const Dims& dims);

// More elements than this are refused, so that sizes in bytes stay below 2^63.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 59;

// The number of elements; 1 without dimensions. `invalid` for a negative size, or where the sizes that are not 0 have a
// product above kMostElements.
Result<std::int64_t> count_elements(const Dims& sizes);

// Of a dense tensor, the last dimension innermost. Sizes of 0 count as 1 here. `sizes` passed count_elements.
Dims dense_strides(const Dims& sizes);

// The sizes both broadcast to, by NumPy's rule: aligned at the last dimension, equal or one of them 1.
Result<Dims> broadcast(const Dims& a, const Dims& b);

}  // namespace quarry
