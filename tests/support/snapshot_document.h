// A small snapshot with everything PyTorch writes today, as a document that tests change and encode; and what a trace
// holds as text, so that traces from different files can be compared by content.
#pragma once

#include <string>

#include <quarry/stats/trace.h>

#include "support/pickle_builder.h"

namespace quarry::test {

Json sample_frame(const std::string& name, std::int64_t line);
Json sample_entry(const std::string& action, std::uint64_t address, std::uint64_t size);
Json sample_block(std::uint64_t address, std::uint64_t size, const std::string& state);
Json sample_segment(std::uint64_t address, Json blocks);
// Two segments, a trace with every action, settings, annotations.
Json sample_snapshot();

std::string trace_text(const stats::Trace& trace);

}  // namespace quarry::test
