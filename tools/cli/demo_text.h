// The demonstrations for people: what was measured, and what it means.
#pragma once

#include <string>

#include <quarry/stats/summary.h>

#include "tools/demo/basic.h"
#include "tools/demo/dtype.h"
#include "tools/demo/estimation.h"
#include "tools/demo/gpu.h"
#include "tools/demo/process.h"
#include "tools/demo/sharing.h"

namespace quarry::tools {

std::string demo_text(const BasicDemo& demo, stats::Units units);
std::string demo_text(const SharingDemo& demo, stats::Units units);
std::string demo_text(const DTypeDemo& demo, stats::Units units);
std::string demo_text(const ProcessDemo& demo, stats::Units units);
std::string demo_text(const GpuDemo& demo, stats::Units units);
std::string demo_text(const EstimationDemo& demo, stats::Units units);

}  // namespace quarry::tools
