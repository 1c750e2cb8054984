// The words of --device: auto, cuda, cuda:N, sim, host.
#pragma once

#include <string>
#include <string_view>

#include <quarry/allocator/result.h>

namespace quarry::tools {

// What is wrong with `text` as a device, or nothing: the form of a CLI11 check.
inline std::string check_device_name(const std::string& text) {
  constexpr std::string_view kGpu = "cuda:";
  const bool numbered = text.size() > kGpu.size() && text.starts_with(kGpu) &&
                        text.find_first_not_of("0123456789", kGpu.size()) == std::string::npos;
  const bool known = text == "auto" || text == "sim" || text == "host" || text == "cuda" || numbered;
  return known ? "" : "must be auto, cuda, cuda:N, sim or host";
}

// The number in `cuda` (0) or `cuda:N`; `device` passed the check.
inline Result<int> cuda_ordinal(const std::string& device) {
  const std::size_t colon = device.find(':');
  const std::string number = colon == std::string::npos ? "0" : device.substr(colon + 1);
  constexpr std::size_t kMostDigits = 4;
  if (number.size() > kMostDigits) return Error{ErrorCode::invalid, "there is no device " + number};
  return std::stoi(number);
}

}  // namespace quarry::tools
