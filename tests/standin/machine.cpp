#include "standin/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace quarry::standin {

namespace {

// A context handle names its machine and its device, so that those of an earlier machine are dead.
constexpr std::uintptr_t kContextUnit = 256;
constexpr Bytes kLayoutSize{std::uint64_t{1} << 56};

thread_local std::vector<CUcontext> stack;

void set(Settings& settings, const std::string& key, const std::string& value) {
  const auto number = [&] { return std::strtoull(value.c_str(), nullptr, 10); };
  if (key == "devices") settings.devices = static_cast<int>(number());
  if (key == "version") settings.version = static_cast<int>(number());
  if (key == "init") settings.init = static_cast<int>(number());
  if (key == "missing") settings.missing = value;
  if (key == "capacity") settings.device.capacity = {number()};
  if (key == "mapping") settings.device.mapping = number() != 0;
  if (key == "bytes" && number() != 0) settings.device.backing = sim::Backing::memfd;
}

Settings settings_from_environment() {
  Settings settings;
  const char* const text = std::getenv("QUARRY_STANDIN");
  std::istringstream entries(text != nullptr ? text : "");
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) set(settings, entry.substr(0, equals), entry.substr(equals + 1));
  }
  return settings;
}

}  // namespace

void Machine::reset(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  ++generation_;
  settings_ = settings;
  gpus_.clear();
  for (int i = 0; i < settings.devices; ++i) {
    sim::DeviceOptions options = settings.device;
    options.base = options.base + kLayoutSize * static_cast<std::uint64_t>(i);
    gpus_.push_back(std::make_unique<Gpu>(i, options));
  }
  built_ = true;
  shut_ = false;
  owner_ = 0;
  calls_.clear();
  fault_in_ = 0;
}

sim::Device& Machine::device(int ordinal) { return gpus_.at(static_cast<std::size_t>(ordinal))->device; }

void Machine::fail(const std::string& name, std::uint64_t nth, int result, bool repeat) {
  const std::lock_guard lock(mutex_);
  fault_name_ = name;
  fault_in_ = nth;
  fault_ = static_cast<CUresult>(result);
  fault_repeats_ = repeat;
}

void Machine::shut_down() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

std::uint64_t Machine::calls(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [called, times] : calls_) sum += name.empty() || name == called ? times : 0;
  return sum;
}

int Machine::contexts_retained(int ordinal) const {
  const std::lock_guard lock(mutex_);
  return gpus_.at(static_cast<std::size_t>(ordinal))->retained;
}

const Settings& Machine::settings() {
  if (!built_) reset(settings_from_environment());
  return settings_;
}

CUresult Machine::init() {
  if (settings_.init != 0) return static_cast<CUresult>(settings_.init);
  if (gpus_.empty()) return CUDA_ERROR_NO_DEVICE;
  owner_ = getpid();
  return CUDA_SUCCESS;
}

Gpu* Machine::gpu(int ordinal) {
  const bool there = ordinal >= 0 && static_cast<std::size_t>(ordinal) < gpus_.size();
  return there ? gpus_[static_cast<std::size_t>(ordinal)].get() : nullptr;
}

CUcontext Machine::context_of(const Gpu& gpu) const {
  return reinterpret_cast<CUcontext>((generation_ + 1) * kContextUnit + static_cast<std::uintptr_t>(gpu.ordinal));
}

Gpu* Machine::gpu_of(CUcontext context) {
  const auto handle = reinterpret_cast<std::uintptr_t>(context);
  if (handle / kContextUnit != generation_ + 1) return nullptr;
  Gpu* const found = gpu(static_cast<int>(handle % kContextUnit));
  return found != nullptr && found->retained > 0 ? found : nullptr;
}

CUcontext Machine::current() const { return stack.empty() ? nullptr : stack.back(); }
void Machine::push(CUcontext context) { stack.push_back(context); }

bool Machine::pop(CUcontext& context) {
  if (stack.empty()) return false;
  context = stack.back();
  stack.pop_back();
  return true;
}

// Above the handles that programs make up (small numbers), aligned like a pointer.
std::uintptr_t Machine::fresh_handle() { return 0x5a00'0000'0000 + ++next_handle_ * 64; }

bool Machine::foreign(const Gpu& gpu, CUstream stream) const {
  return std::any_of(gpus_.begin(), gpus_.end(),
                     [&](const auto& other) { return other.get() != &gpu && other->streams.count(stream) != 0; });
}

void* Machine::native(const Gpu& gpu, CUstream stream) const {
  const auto found = gpu.streams.find(stream);
  return found != gpu.streams.end() ? found->second : stream;
}

CUresult Machine::enter(const char* name, bool needs_init) {
  ++calls_[name];
  if (shut_) return CUDA_ERROR_DEINITIALIZED;
  if (owner_ != 0 && owner_ != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  if (const CUresult result = strike(name); result != CUDA_SUCCESS) return result;
  return needs_init && owner_ == 0 ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
}

CUresult Machine::strike(const char* name) {
  if (fault_in_ == 0 || (!fault_name_.empty() && fault_name_ != name)) return CUDA_SUCCESS;
  if (fault_in_ > 1) {
    --fault_in_;
    return CUDA_SUCCESS;
  }
  if (!fault_repeats_) fault_in_ = 0;
  return fault_;
}

Machine& machine() {
  static Machine* const the_one = new Machine;
  return *the_one;
}

CUresult result_of(DriverStatus status) {
  switch (status.code) {
    case DriverCode::ok:
      return CUDA_SUCCESS;
    case DriverCode::out_of_memory:
      return CUDA_ERROR_OUT_OF_MEMORY;
    case DriverCode::not_ready:
      return CUDA_ERROR_NOT_READY;
    case DriverCode::invalid:
      return CUDA_ERROR_INVALID_VALUE;
    case DriverCode::gone:
      return CUDA_ERROR_DEINITIALIZED;
    case DriverCode::unsupported:
      return CUDA_ERROR_NOT_SUPPORTED;
    case DriverCode::other:
      return CUDA_ERROR_UNKNOWN;
  }
  return CUDA_ERROR_UNKNOWN;
}

}  // namespace quarry::standin

extern "C" quarry::standin::Control* quarry_standin_control() { return &quarry::standin::machine(); }
