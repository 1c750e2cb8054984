// A training step of an Mlp, done by hand on our tensors: forward, mean squared error, backward, Adam.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <quarry/tensor/tensor.h>

#include "tools/demo/byte_meter.h"
#include "tools/demo/mlp.h"

namespace quarry::tools {

// Of torch.optim.Adam, with its defaults.
struct AdamSettings {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

// The trained tensors of one layer: y = x . weight + bias, weight (in, out).
struct LinearTensors {
  Tensor weight;
  Tensor bias;
};

// Steps are called in the order forward, find_loss, backward, update. Gradients stay allocated from one step to the
// next and are written over. Every request is labelled at the meter. Errors are those of the tensors; after one the
// object is of no further use. One thread.
class Training {
 public:
  // Weights and biases uniform in [-1/sqrt(in), 1/sqrt(in)). The meter listens to the memory of `place` and outlives
  // this.
  static Result<Training> create(const Place& place, const MlpShape& shape, ByteMeter& meter, Generator& generator);
  // Gradients and the optimizer's state, all 0. Before the first step.
  Status prepare();

  // `input` is (batch, widths.front()); it is kept as the first activation.
  Status forward(const Tensor& input);
  // Mean of (output - target)^2, and its gradient in the output, which it keeps.
  Result<double> find_loss(const Tensor& target);
  // Gives each activation back once it is used.
  Status backward();
  Status update(const AdamSettings& settings);

  const std::vector<LinearTensors>& parameters() const { return parameters_; }
  const std::vector<LinearTensors>& gradients() const { return gradients_; }
  const std::vector<LinearTensors>& first_moments() const { return first_moments_; }
  const std::vector<LinearTensors>& second_moments() const { return second_moments_; }
  const std::vector<Tensor>& activations() const { return activations_; }  // the input first, the output last

 private:
  Training(const Place& place, const MlpShape& shape, ByteMeter& meter)
      : place_(place), shape_(shape), meter_(&meter) {}

  Result<std::vector<LinearTensors>> zeros_like_parameters(Purpose purpose);
  Status backward_through(std::size_t layer);
  Status pass_on(std::size_t layer);
  Status update_one(const Tensor& parameter, const Tensor& gradient, const Tensor& first, const Tensor& second,
                    const AdamSettings& settings);

  Place place_;
  MlpShape shape_;
  ByteMeter* meter_;
  std::int64_t updates_ = 0;
  std::vector<LinearTensors> parameters_;
  std::vector<LinearTensors> gradients_;
  std::vector<LinearTensors> first_moments_;
  std::vector<LinearTensors> second_moments_;
  std::vector<Tensor> activations_;
  std::optional<Tensor> downstream_;  // gradient of the loss in the last activation that is still there
};

}  // namespace quarry::tools
