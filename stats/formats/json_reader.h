// JSON with the same builder as the pickle machine. The parser is nlohmann's; what is added is the bound on depth, on
// the length of a token, and the byte offset.
#pragma once

#include <quarry/stats/formats/byte_source.h>
#include <quarry/stats/formats/snapshot_builder.h>

namespace quarry::stats::formats {

// Reads the whole source. False with source.failure() set if a rule is broken.
bool read_json(ByteSource& source, SnapshotBuilder& builder);

}  // namespace quarry::stats::formats
