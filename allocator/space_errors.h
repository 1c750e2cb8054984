// The texts of a space's errors.
#pragma once

#include <string>

#include <quarry/allocator/driver/driver.h>
#include <quarry/allocator/ledger.h>
#include <quarry/allocator/result.h>

namespace quarry {

// "driver failed while getting a segment: invalid (native code 1)".
Error driver_error(std::string_view what, DriverStatus status);

// The refusal of `requested` bytes that would have taken a segment of `segment`, with the ledger of that instant.
Error out_of_memory_error(Bytes requested, Bytes segment, const Ledger& ledger);

// The same for throw_on_cudamalloc_oom, which refuses before anything is tried.
Error rejected_error(Bytes requested, Bytes segment, const Ledger& ledger);

// Requests no device can serve; the driver is not asked.
Error absurd_size_error(Bytes requested);

}  // namespace quarry
