#include <quarry/tensor/sim_place.h>

#include <utility>
#include <vector>

#include <quarry/allocator/check.h>
#include <quarry/tensor/queue_order.h>

namespace quarry {

namespace {

// Virtual time: a launch, and bytes moved at 1 GB/ms.
constexpr std::uint64_t kLaunchNs = 2000;
constexpr std::uint64_t kBytesPerNs = 1000;

class SimExecutor final : public Executor {
 public:
  explicit SimExecutor(std::shared_ptr<sim::Device> device) : device_(std::move(device)) {}

  Status run(const Work& work, void* queue) override {
    std::vector<sim::ByteRange> reads;
    std::vector<sim::ByteRange> writes;
    std::uint64_t bytes = add(work, work.out, writes);
    for (std::size_t i = 0; i < work.inputs; ++i) bytes += add(work, work.in[i], reads);
    // The effect runs under the device's lock, later: it has addresses, and nothing it could free.
    device_->work(queue, kLaunchNs + bytes / kBytesPerNs, reads, writes, [work] { run_on_host(work); });
    return Done{};
  }

  Status synchronize(void* queue) override { return quarry::synchronize(*device_, queue); }
  Status make_wait(void* waiter, void* on) override { return quarry::make_wait(*device_, waiter, on); }

 private:
  static std::uint64_t add(const Work& work, const Operand& operand, std::vector<sim::ByteRange>& ranges) {
    const ByteSpan span = span_of(work, operand);
    if (operand.seen_by_device && span.size.count > 0) ranges.push_back({span.begin, span.size});
    return span.size.count;
  }

  std::shared_ptr<sim::Device> device_;
};

}  // namespace

std::shared_ptr<Executor> make_sim_executor(std::shared_ptr<sim::Device> device) {
  QUARRY_CHECK(device->capabilities().readable, "the simulated device has real memory");
  return std::make_shared<SimExecutor>(std::move(device));
}

Result<Place> open_sim_place(const Options& options) {
  auto device = std::make_shared<sim::Device>(sim::DeviceOptions{.backing = sim::Backing::memfd});
  Result<Allocator> memory = Allocator::open(device, options);
  if (!memory) return memory.error();
  return Place::device(*std::move(memory), make_sim_executor(device));
}

}  // namespace quarry
