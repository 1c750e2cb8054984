// The unpacked bytes of a regular file, plain or gzip, as a sliding window. Never blocks on a FIFO or device; memory
// grows only with bytes that have arrived.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <quarry/stats/formats/grow_buffer.h>
#include <quarry/stats/formats/read_error.h>

namespace quarry::stats::formats {

class ByteSource {
 public:
  // Above this much output, a gzip file that unpacks to more than kMaxRatio times its size is refused. Recordings reach
  // about 30; deflate itself ends at 1032.
  static constexpr std::uint64_t kFreeOutput = 4 << 20;
  static constexpr std::uint64_t kMaxRatio = 400;

  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  bool open(const std::string& path);

  // The unread bytes of the window. A parser may move `cursor` up to `limit`.
  const unsigned char* cursor = nullptr;
  const unsigned char* limit = nullptr;

  std::size_t available() const { return static_cast<std::size_t>(limit - cursor); }
  // True if `count` bytes stand at `cursor`; reads on if they do not yet. False at the end of the file and on
  // failure().
  bool ensure(std::size_t count) { return available() >= count || fill(count); }
  // False if the file is known to end before `count` more bytes.
  bool may_hold(std::uint64_t count) const { return packed_ != nullptr || count <= available() + file_left_; }
  // Of `cursor`, in unpacked bytes.
  std::uint64_t offset() const { return window_end_ - available(); }
  bool failed() const { return failure_.set; }
  Failure& failure() { return failure_; }

 private:
  bool fill(std::size_t count);
  std::size_t produce(unsigned char* to, std::size_t room);
  std::size_t read_file(unsigned char* to, std::size_t room);
  std::size_t inflate_some(unsigned char* to, std::size_t room);
  bool refill_packed();
  bool next_member();
  bool start_gzip();

  int file_ = -1;
  std::uint64_t file_left_ = 0;  // of the size at opening: a file that grows while we read does not keep us busy
  std::uint64_t window_end_ = 0;
  GrowBuffer<unsigned char> window_;
  std::unique_ptr<unsigned char[]> packed_;  // null for a plain file
  z_stream zlib_{};
  bool zlib_open_ = false;
  bool ended_ = false;
  std::uint64_t packed_bytes_ = 0;  // taken by zlib so far
  Failure failure_;
};

}  // namespace quarry::stats::formats
