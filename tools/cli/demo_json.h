// The results of the demonstrations for programs: sizes in bytes, whole numbers.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/demo/basic.h"
#include "tools/demo/dtype.h"
#include "tools/demo/estimation.h"
#include "tools/demo/gpu.h"
#include "tools/demo/process.h"
#include "tools/demo/sharing.h"

namespace quarry::tools {

nlohmann::ordered_json demo_json(const BasicDemo& demo);
nlohmann::ordered_json demo_json(const SharingDemo& demo);
nlohmann::ordered_json demo_json(const DTypeDemo& demo);
nlohmann::ordered_json demo_json(const ProcessDemo& demo);
nlohmann::ordered_json demo_json(const GpuDemo& demo);
nlohmann::ordered_json demo_json(const EstimationDemo& demo);

}  // namespace quarry::tools
