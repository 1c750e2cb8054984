#include <quarry/stats/write.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <quarry/stats/formats/json_sink.h>
#include <quarry/stats/formats/pickle_sink.h>
#include <quarry/stats/formats/read_error.h>
#include <quarry/stats/formats/snapshot_emit.h>

namespace quarry::stats {
namespace {

template <class Sink>
std::string emit(const Trace& trace) {
  Sink sink;
  formats::SnapshotEmitter<Sink>(trace, sink).emit();
  return sink.take();
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A name beside `path` that no other writer uses at the same time.
std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> serial{0};
  return fmt::format("{}.{}.{}.tmp", path, ::getpid(), serial.fetch_add(1));
}

}  // namespace

std::string to_snapshot_json(const Trace& trace) { return emit<formats::JsonSink>(trace); }

std::string to_snapshot_pickle(const Trace& trace) { return emit<formats::PickleSink>(trace); }

Status write_file(const std::string& path, std::string_view content) {
  const auto failed = [&](int reason) {
    return Error{ErrorCode::invalid,
                 fmt::format("{}: cannot be written: {}", formats::printable(path, 4096), std::strerror(reason))};
  };
  const std::string temporary = temporary_name(path);
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return failed(errno);
  int reason = write_all(file, content) ? 0 : errno;
  if (::close(file) != 0 && reason == 0) reason = errno;
  if (reason == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return Done{};
  ::unlink(temporary.c_str());
  return failed(reason);
}

}  // namespace quarry::stats
