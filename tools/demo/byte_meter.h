// Who asked for the live bytes of a space: every request is counted for what it was made for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include <quarry/allocator/allocator.h>
#include <quarry/allocator/observer.h>

namespace quarry::tools {

// What a training step keeps tensors for.
enum class Purpose : std::uint8_t {
  parameters,
  gradients,
  optimizer,    // state of the optimizer
  activations,  // kept from the forward to the backward pass
  target,       // what the network should have answered
  activation_gradients,
  temporaries
};
inline constexpr std::size_t kPurposes = 7;
inline constexpr std::array<std::string_view, kPurposes> kPurposeNames = {
    "parameters", "gradients", "optimizer", "activations", "target", "activation_gradients", "temporaries"};

// Requested bytes by purpose.
struct ByteRow {
  std::array<Bytes, kPurposes> of{};

  Bytes& operator[](Purpose purpose) { return of[static_cast<std::size_t>(purpose)]; }
  Bytes operator[](Purpose purpose) const { return of[static_cast<std::size_t>(purpose)]; }
  Bytes total() const;
};

// Listens to the allocator: what it reports is counted, nothing is worked out. One thread, which also makes the
// requests. Attached for its life, and the only observer meanwhile; requests made before are not seen.
class ByteMeter final : public Observer {
 public:
  explicit ByteMeter(Allocator memory);
  ~ByteMeter() override;
  ByteMeter(const ByteMeter&) = delete;
  ByteMeter& operator=(const ByteMeter&) = delete;

  // Requests count for `purpose` until the scope ends; then again for what they did before.
  class Scope {
   public:
    Scope(ByteMeter& meter, Purpose purpose) : meter_(meter), before_(meter.purpose_) { meter.purpose_ = purpose; }
    ~Scope() { meter_.purpose_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ByteMeter& meter_;
    Purpose before_;
  };

  const ByteRow& now() const { return now_; }
  // The rows at the moment of the largest total since the last start_window, the first such moment.
  const ByteRow& peak() const { return peak_; }
  void start_window() { peak_ = now_; }

  void on_record(const Record& record) noexcept override;

 private:
  struct Live {
    Purpose purpose;
    Bytes size;
  };

  Allocator memory_;
  Purpose purpose_ = Purpose::temporaries;
  std::unordered_map<std::uint64_t, Live> live_;  // by address
  ByteRow now_;
  ByteRow peak_;
};

}  // namespace quarry::tools
