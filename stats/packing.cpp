#include <quarry/stats/packing.h>

#include <new>
#include <utility>

#include <quarry/stats/formats/packing_reader.h>

namespace quarry::stats {

Result<PackingProblem> read_packing(const std::string& path) {
  formats::ByteSource source;
  try {
    if (!source.open(path)) return formats::read_error(path, source.failure());
    formats::PackingReader reader(source);
    if (!reader.read()) return formats::read_error(path, source.failure());
    return std::move(reader.problem());
  } catch (const std::bad_alloc&) {
    return formats::read_error(path, {true, source.offset(), "needs more memory than there is"});
  }
}

}  // namespace quarry::stats
