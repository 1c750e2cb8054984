// Programs of several streams as training jobs make them, run on a device whose work lags behind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <quarry/allocator/options.h>

namespace quarry::programs {

// One step of a program. Streams are small numbers, 0 is the compute stream; blocks are numbers of the program's own.
struct Step {
  enum class Act : std::uint8_t {
    allocate,  // `block`, `bytes`, on `stream`
    use,       // work on `stream` reads the block: Allocation::used_on
    free,      // `block`
    wait       // the program makes `stream` wait for `other`
  };
  Act act = Act::allocate;
  std::uint32_t block = 0;
  std::uint32_t stream = 0;
  std::uint32_t other = 0;
  std::uint64_t bytes = 0;
};

struct Program {
  std::string name;
  std::uint32_t streams = 1;
  std::vector<Step> steps;
};

// A few training steps each, layers of uneven size; `seed` varies the sizes.
Program fsdp_like(std::uint64_t seed);      // layers gathered on a side stream, gradients scattered from it
Program ddp_like(std::uint64_t seed);       // gradients reduced in buckets on a side stream
Program pipeline_like(std::uint64_t seed);  // micro-batches received and sent on streams of their own
Program offload_like(std::uint64_t seed);   // weights fetched and activations sent away on two copy streams
Program unrelated(std::uint64_t seed);      // two streams that never wait for each other

struct Measured {
  std::uint64_t peak_reserved = 0;
  std::uint64_t peak_active = 0;  // of requested_active: requested and not yet usable again
  std::uint64_t waits = 0;        // the allocator's own
  std::uint64_t wait_calls = 0;   // of the driver, the program's left out
  std::string broken;             // the first breach: hazard, refusal, invariant
};

// Work completes `lag` requests after it was queued. Every block is written on its stream when it is allocated and read
// where it is used, so that the hazard checker judges every reuse. `tell`: the program's waits are told by note_wait.
Measured run(const Program& program, const Options& options, std::uint64_t lag, bool tell);

}  // namespace quarry::programs
