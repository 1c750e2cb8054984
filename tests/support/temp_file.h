// A file in the test's temporary folder, and gzip, for tests of readers.
#pragma once

#include <zlib.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <unistd.h>

namespace quarry::test {

inline std::string temp_path(std::string_view name) {
  static std::atomic<int> serial{0};
  return ::testing::TempDir() + "quarry_" + std::to_string(::getpid()) + "_" + std::to_string(serial++) + "_" +
         std::string(name);
}

class TempFile {
 public:
  explicit TempFile(std::string_view content, std::string_view name = "file") : path_(temp_path(name)) {
    std::ofstream(path_, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Packs what it is given piece by piece, so that a bomb never exists unpacked.
class GzipWriter {
 public:
  GzipWriter() { EXPECT_EQ(deflateInit2(&stream_, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK); }
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  ~GzipWriter() { deflateEnd(&stream_); }

  void add(std::string_view data) { deflate_all(data, Z_NO_FLUSH); }
  std::string take() {
    deflate_all({}, Z_FINISH);
    return std::move(out_);
  }

 private:
  void deflate_all(std::string_view data, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
    stream_.avail_in = static_cast<uInt>(data.size());
    char buffer[1 << 14];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      deflate(&stream_, flush);
      out_.append(buffer, sizeof buffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::string out_;
};

inline std::string gzip(std::string_view data) {
  GzipWriter writer;
  writer.add(data);
  return writer.take();
}

}  // namespace quarry::test
