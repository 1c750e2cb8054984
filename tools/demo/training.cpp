#include "tools/demo/training.h"

#include <cmath>
#include <utility>

#include <quarry/tensor/ops.h>

#include "tools/demo/in_order.h"

namespace quarry::tools {
namespace {

using Scope = ByteMeter::Scope;

// Uniform in [-bound, bound), in place: no second tensor.
Result<Tensor> uniform(const Place& place, const Dims& sizes, double bound, Generator& generator, DType dtype) {
  Result<Tensor> tensor = rand(place, sizes, generator, dtype);
  if (!tensor) return tensor;
  const Status done = in_order(
      {[&] { return mul_into(*tensor, *tensor, 2 * bound); }, [&] { return sub_into(*tensor, *tensor, bound); }});
  if (!done) return done.error();
  return tensor;
}

}  // namespace

Result<Training> Training::create(const Place& place, const MlpShape& shape, ByteMeter& meter, Generator& generator) {
  Training training(place, shape, meter);
  const Scope scope(meter, Purpose::parameters);
  for (std::size_t i = 1; i < shape.widths.size(); ++i) {
    const std::int64_t in = shape.widths[i - 1];
    const std::int64_t out = shape.widths[i];
    const double bound = 1 / std::sqrt(static_cast<double>(in));
    Result<Tensor> weight = uniform(place, {in, out}, bound, generator, shape.dtype);
    if (!weight) return weight.error();
    Result<Tensor> bias = uniform(place, {out}, bound, generator, shape.dtype);
    if (!bias) return bias.error();
    training.parameters_.push_back({*std::move(weight), *std::move(bias)});
  }
  return training;
}

Result<std::vector<LinearTensors>> Training::zeros_like_parameters(Purpose purpose) {
  const Scope scope(*meter_, purpose);
  std::vector<LinearTensors> result;
  for (const LinearTensors& like : parameters_) {
    Result<Tensor> weight = zeros(place_, like.weight.sizes(), shape_.dtype);
    if (!weight) return weight.error();
    Result<Tensor> bias = zeros(place_, like.bias.sizes(), shape_.dtype);
    if (!bias) return bias.error();
    result.push_back({*std::move(weight), *std::move(bias)});
  }
  return result;
}

Status Training::prepare() {
  const auto fill = [&](std::vector<LinearTensors>& into, Purpose purpose) -> Status {
    Result<std::vector<LinearTensors>> made = zeros_like_parameters(purpose);
    if (!made) return made.error();
    into = *std::move(made);
    return Done{};
  };
  return in_order({[&] { return fill(gradients_, Purpose::gradients); },
                   [&] { return fill(first_moments_, Purpose::optimizer); },
                   [&] { return fill(second_moments_, Purpose::optimizer); }});
}

Status Training::forward(const Tensor& input) {
  const Scope scope(*meter_, Purpose::activations);
  activations_ = {input};
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Result<Tensor> output = matmul(activations_.back(), parameters_[i].weight);
    if (!output) return output.error();
    if (Status done = add_into(*output, *output, parameters_[i].bias); !done) return done;
    const bool last = i + 1 == parameters_.size();
    if (Status done = last ? Status(Done{}) : relu_into(*output, *output); !done) return done;
    activations_.push_back(*output);
  }
  return Done{};
}

Result<double> Training::find_loss(const Tensor& target) {
  const Scope scope(*meter_, Purpose::temporaries);
  Result<Tensor> difference = [&] {
    const Scope gradient(*meter_, Purpose::activation_gradients);
    return sub(activations_.back(), target);
  }();
  if (!difference) return difference.error();
  const Result<Tensor> squares = mul(*difference, *difference);
  if (!squares) return squares.error();
  const Result<Tensor> loss = mean(*squares);
  if (!loss) return loss.error();
  const double slope = 2 / static_cast<double>(target.count());
  if (Status done = mul_into(*difference, *difference, slope); !done) return done.error();
  downstream_ = *std::move(difference);
  return loss->item();
}

Status Training::backward() {
  activations_.pop_back();  // the output: the loss was its only user
  for (std::size_t i = parameters_.size(); i > 0; --i) {
    if (Status done = backward_through(i - 1); !done) return done;
  }
  downstream_.reset();
  return Done{};
}

// `downstream_` is the gradient in what the layer gave, and the last activation what it got.
Status Training::backward_through(std::size_t layer) {
  const Scope scope(*meter_, Purpose::temporaries);
  const LinearTensors& gradient = gradients_[layer];
  const Result<Tensor> input = activations_.back().transpose(0, 1);
  if (!input) return input.error();
  if (Status done = matmul_into(gradient.weight, *input, *downstream_); !done) return done;
  const Result<Tensor> bias = sum(*downstream_, 0);
  if (!bias) return bias.error();
  if (Status done = gradient.bias.copy_(*bias); !done) return done;
  if (Status done = layer > 0 ? pass_on(layer) : Status(Done{}); !done) return done;
  activations_.pop_back();
  return Done{};
}

// The gradient in the layer's input, through the ReLU that made it: 0 where the ReLU gave 0.
Status Training::pass_on(std::size_t layer) {
  const Result<Tensor> weight = parameters_[layer].weight.transpose(0, 1);
  if (!weight) return weight.error();
  const Result<Tensor> upstream = [&] {
    const Scope gradient(*meter_, Purpose::activation_gradients);
    return matmul(*downstream_, *weight);
  }();
  if (!upstream) return upstream.error();
  const Result<Tensor> passed = activations_.back().to(DType::boolean);
  if (!passed) return passed.error();
  const Result<Tensor> mask = passed->to(shape_.dtype);
  if (!mask) return mask.error();
  if (Status done = mul_into(*upstream, *upstream, *mask); !done) return done;
  downstream_ = *upstream;
  return Done{};
}

Status Training::update(const AdamSettings& settings) {
  ++updates_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto update_part = [&](Tensor LinearTensors::*part) {
      return update_one(parameters_[i].*part, gradients_[i].*part, first_moments_[i].*part, second_moments_[i].*part,
                        settings);
    };
    if (Status done = update_part(&LinearTensors::weight); !done) return done;
    if (Status done = update_part(&LinearTensors::bias); !done) return done;
  }
  return Done{};
}

// Kingma and Ba, "Adam", algorithm 1 (arXiv 1412.6980). One temporary as large as the parameter.
Status Training::update_one(const Tensor& parameter, const Tensor& gradient, const Tensor& first, const Tensor& second,
                            const AdamSettings& settings) {
  const Scope scope(*meter_, Purpose::temporaries);
  const auto step = static_cast<double>(updates_);
  const double first_bias = 1 - std::pow(settings.beta1, step);
  const double second_bias = 1 - std::pow(settings.beta2, step);
  const Result<Tensor> made = mul(gradient, 1 - settings.beta1);
  if (!made) return made.error();
  const Tensor& t = *made;
  return in_order(
      {[&] { return mul_into(first, first, settings.beta1); }, [&] { return add_into(first, first, t); },
       [&] { return mul_into(second, second, settings.beta2); }, [&] { return mul_into(t, gradient, gradient); },
       [&] { return mul_into(t, t, 1 - settings.beta2); }, [&] { return add_into(second, second, t); },
       [&] { return sqrt_into(t, second); }, [&] { return mul_into(t, t, 1 / std::sqrt(second_bias)); },
       [&] { return add_into(t, t, settings.epsilon); }, [&] { return div_into(t, first, t); },
       [&] { return mul_into(t, t, settings.rate / first_bias); }, [&] { return sub_into(parameter, parameter, t); }});
}

}  // namespace quarry::tools
