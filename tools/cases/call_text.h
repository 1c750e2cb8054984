// The simulated device's calls by the names the recordings use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/cases/operation.h"

#include <quarry/allocator/sim/device.h>

namespace quarry::tools {

// The native handle of a case's stream: null for the default one, else a value that differs per stream.
void* handle_of(CaseStream stream);

// One text a call; what the recordings leave out or hold for information only is left out.
std::vector<std::string> call_texts(const std::vector<sim::CallRecord>& records, Bytes granularity);

// The call that a `fail` operation names; empty for one that no recording has.
std::optional<sim::Call> call_named(std::string_view name);

}  // namespace quarry::tools
