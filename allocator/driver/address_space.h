// Address ranges of this process: taking them, putting memory behind them, taking it away. Addresses and sizes are
// multiples of the operating system's page.
#pragma once

#include <quarry/allocator/driver/driver.h>

namespace quarry {

// What a driver says when the system call failed with `error` (errno).
DriverStatus system_failure(int error);

// `size` rounded up to whole `unit`s; the sum must not leave 64 bits.
constexpr std::uint64_t whole_units(std::uint64_t size, std::uint64_t unit) { return (size + unit - 1) / unit * unit; }

// A fresh range whose address is a multiple of `alignment`, a power of two.
DriverResult<Address> take_memory(Bytes size, Bytes alignment);     // zeroed memory behind it
DriverResult<Address> take_addresses(Bytes size, Bytes alignment);  // nothing behind it: any touch is a fault
// Gives a range back, or a part of one.
DriverStatus drop_addresses(Address base, Bytes size);

// For a part of a range from take_addresses: zeroed memory behind it; nothing behind it again.
DriverStatus put_memory(Address at, Bytes size);
DriverStatus clear_memory(Address at, Bytes size);

}  // namespace quarry
