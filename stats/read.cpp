#include <quarry/stats/read.h>

#include <new>
#include <utility>

#include <fmt/format.h>
#include <quarry/stats/formats/byte_source.h>
#include <quarry/stats/formats/detect.h>
#include <quarry/stats/formats/json_reader.h>
#include <quarry/stats/formats/pickle_reader.h>
#include <quarry/stats/formats/snapshot_builder.h>

namespace quarry::stats {
namespace {

using formats::ByteSource;
using formats::SnapshotBuilder;

std::string_view head_of(ByteSource& source) {
  source.ensure(formats::kDetectBytes);
  return {reinterpret_cast<const char*>(source.cursor), std::min(source.available(), formats::kDetectBytes)};
}

bool refuse_kind(ByteSource& source, FileKind kind) {
  return source.failure().at(
      0, kind == FileKind::unknown
             ? std::string("is no kind of file that is known here")
             : fmt::format("is no PyTorch snapshot but a file of another kind: {}", kind_name(kind)));
}

bool read_any(ByteSource& source, SnapshotBuilder& builder) {
  const std::string_view head = head_of(source);
  if (source.failed()) return false;
  const FileKind kind = formats::detect(head);
  if (kind == FileKind::pytorch_pickle) return formats::PickleReader(source, builder).read();
  if (kind == FileKind::pytorch_json) return formats::read_json(source, builder);
  return refuse_kind(source, kind);
}

}  // namespace

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::pytorch_pickle:
      return "PyTorch snapshot (pickle)";
    case FileKind::pytorch_json:
      return "PyTorch snapshot (JSON)";
    case FileKind::case_json:
      return "case file (JSON)";
    case FileKind::case_ops:
      return "case script (.ops)";
    case FileKind::profiler_json:
      return "PyTorch profiler trace";
    case FileKind::memory_timeline:
      return "PyTorch memory timeline";
    case FileKind::rmm_csv:
      return "RMM log";
    case FileKind::packing_csv:
      return "packing problem";
    case FileKind::bfc_log:
      return "BFC allocator dump";
    case FileKind::unknown:
      break;
  }
  return "file of unknown kind";
}

Result<FileKind> detect_kind(const std::string& path) {
  ByteSource source;
  if (!source.open(path)) return formats::read_error(path, source.failure());
  const std::string_view head = head_of(source);
  if (head.empty() && source.failed()) return formats::read_error(path, source.failure());
  return formats::detect(head);
}

Result<Trace> read_snapshot(const std::string& path) {
  ByteSource source;
  try {
    if (!source.open(path)) return formats::read_error(path, source.failure());
    SnapshotBuilder builder(source.failure());
    if (!read_any(source, builder)) return formats::read_error(path, source.failure());
    builder.trace().file_bytes = source.offset();
    return std::move(builder.trace());
  } catch (const std::bad_alloc&) {
    return formats::read_error(path, {true, source.offset(), "needs more memory than there is"});
  }
}

Result<std::string> read_text(const std::string& path, std::uint64_t limit) {
  ByteSource source;
  if (!source.open(path)) return formats::read_error(path, source.failure());
  std::string text;
  while (source.ensure(1)) {
    text.append(reinterpret_cast<const char*>(source.cursor), source.available());
    source.cursor = source.limit;
    if (text.size() > limit) {
      source.failure().at(limit, fmt::format("unpacks to more than the {} bytes that are read", limit));
      break;
    }
  }
  if (source.failed()) return formats::read_error(path, source.failure());
  return text;
}

}  // namespace quarry::stats
