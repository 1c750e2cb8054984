#include <fcntl.h>
#include <quarry/stats/formats/byte_source.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace quarry::stats::formats {
namespace {

constexpr std::size_t kWindow = 128 << 10;
constexpr std::size_t kPacked = 64 << 10;

std::string kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return "not a regular file";
}

}  // namespace

ByteSource::~ByteSource() {
  if (zlib_open_) inflateEnd(&zlib_);
  if (file_ >= 0) ::close(file_);
}

bool ByteSource::open(const std::string& path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file_ < 0) return failure_.at(0, fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat info {};
  if (::fstat(file_, &info) != 0) return failure_.at(0, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(info.st_mode)) return failure_.at(0, kind_of_file(info.st_mode) + " is not read, only regular files");
  if (info.st_size == 0) return failure_.at(0, "the file is empty");
  file_left_ = static_cast<std::uint64_t>(info.st_size);
  window_.reserve(kWindow);
  const std::size_t head = read_file(window_.data(), kWindow);
  if (failed()) return false;
  cursor = window_.data();
  limit = cursor + head;
  window_end_ = head;
  const bool gzip = head >= 2 && cursor[0] == 0x1f && cursor[1] == 0x8b;
  return !gzip || start_gzip();
}

// What open() read is the beginning of the packed data.
bool ByteSource::start_gzip() {
  const std::size_t head = available();
  packed_ = std::make_unique_for_overwrite<unsigned char[]>(std::max(kPacked, head));
  std::memcpy(packed_.get(), cursor, head);
  zlib_.next_in = packed_.get();
  zlib_.avail_in = static_cast<uInt>(head);
  if (inflateInit2(&zlib_, 16 + MAX_WBITS) != Z_OK) return failure_.at(0, "zlib cannot be started");
  zlib_open_ = true;
  limit = cursor;
  window_end_ = 0;
  return true;
}

bool ByteSource::fill(std::size_t count) {
  std::size_t held = available();
  if (held > 0) std::memmove(window_.data(), cursor, held);
  while (held < count) {
    if (held == window_.capacity()) window_.reserve(window_.capacity() * 2);
    const std::size_t got = produce(window_.data() + held, window_.capacity() - held);
    if (got == 0) break;
    held += got;
    window_end_ += got;
  }
  cursor = window_.data();
  limit = cursor + held;
  return held >= count;
}

std::size_t ByteSource::produce(unsigned char* to, std::size_t room) {
  if (ended_ || failed()) return 0;
  return packed_ ? inflate_some(to, room) : read_file(to, room);
}

std::size_t ByteSource::read_file(unsigned char* to, std::size_t room) {
  const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(room, file_left_));
  if (want == 0) return 0;
  ssize_t got = 0;
  do {
    got = ::read(file_, to, want);
  } while (got < 0 && errno == EINTR);
  if (got < 0) failure_.at(window_end_, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (got <= 0) return 0;
  file_left_ -= static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

bool ByteSource::refill_packed() {
  if (zlib_.avail_in > 0) return true;
  zlib_.next_in = packed_.get();
  zlib_.avail_in = static_cast<uInt>(read_file(packed_.get(), kPacked));
  return zlib_.avail_in > 0;
}

// At the end of a gzip member: another one, zero bytes of padding, or the end.
bool ByteSource::next_member() {
  while (refill_packed() && *zlib_.next_in == 0) {
    ++zlib_.next_in;
    --zlib_.avail_in;
  }
  if (zlib_.avail_in == 0) {
    ended_ = true;
    return false;
  }
  if (*zlib_.next_in != 0x1f) return failure_.at(window_end_, "data that is not gzip follows the gzip stream");
  return inflateReset(&zlib_) == Z_OK || failure_.at(window_end_, "zlib cannot be restarted");
}

std::size_t ByteSource::inflate_some(unsigned char* to, std::size_t room) {
  zlib_.next_out = to;
  zlib_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, 1 << 30));
  const uInt wanted = zlib_.avail_out;
  while (zlib_.avail_out == wanted) {
    if (!refill_packed()) {
      failure_.at(window_end_, "the gzip stream ends early");
      return 0;
    }
    const uInt before = zlib_.avail_in;
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    packed_bytes_ += before - zlib_.avail_in;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      failure_.at(window_end_, fmt::format("the gzip data is damaged: {}", zlib_.msg ? zlib_.msg : "unknown reason"));
      return 0;
    }
    if (result == Z_STREAM_END && !next_member()) break;
  }
  const std::size_t got = wanted - zlib_.avail_out;
  const std::uint64_t total = window_end_ + got;
  if (total > kFreeOutput && total / kMaxRatio > packed_bytes_) {
    failure_.at(window_end_, fmt::format("unpacks to more than {} times its size", kMaxRatio));
    return 0;
  }
  return got;
}

}  // namespace quarry::stats::formats
