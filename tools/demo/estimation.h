// The demonstration `estimation`: what a training step is said to take, and what it takes.
#pragma once

#include <string>
#include <vector>

#include <quarry/allocator/ledger.h>

#include "tools/demo/byte_meter.h"
#include "tools/demo/mlp.h"
#include "tools/demo/place.h"

namespace quarry::tools {

// One of the four terms of the estimate at the end of the forward pass, when all four are there.
struct EstimatedTerm {
  std::string name;
  Bytes estimate;   // by the formula
  Bytes requested;  // live requests made for it, as the allocator reported them
  Bytes storages;   // its tensors' storages, each once
};

// An instant, or the largest moment of a phase.
struct TrainingInstant {
  std::string name;
  ByteRow rows;
};

struct EstimationDemo {
  MlpShape shape;
  MlpEstimate estimate;
  std::vector<EstimatedTerm> terms;
  std::vector<TrainingInstant> instants;
  Ledger forward;        // at the end of the forward pass
  Ledger end;            // after the step; its peaks are those of the whole run
  TrainingInstant peak;  // of all instants the largest
  double loss_before = 0;
  double loss_after = 0;  // of the same samples, after the step
};

// The tutorial's network: Linear 1000-2000, ReLU, Linear 2000-1000, ReLU, Linear 1000-100, batch 32, f32, Adam. It is
// run on `device` in a space of its own.
Result<EstimationDemo> run_estimation_demo(const DemoDevice& device);
// The same for another network.
Result<EstimationDemo> run_estimation_demo(const DemoDevice& device, const MlpShape& shape);

}  // namespace quarry::tools
