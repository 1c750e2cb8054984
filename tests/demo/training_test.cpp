// The training step of the demonstration against plain loops that know nothing of tensors.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <quarry/tensor/ops.h>

#include "tensor/places.h"
#include "tools/demo/training.h"

namespace quarry::tools {
namespace {

using tensor_tests::must;
using tensor_tests::name_of;
using tensor_tests::place_names;
using tensor_tests::values;
using Numbers = std::vector<double>;

// One linear layer, weight[i * outputs + o].
struct PlainLayer {
  std::size_t inputs;
  std::size_t outputs;
  Numbers weight;
  Numbers bias;
};
using PlainNetwork = std::vector<PlainLayer>;

// What the layers give for one sample, before and after ReLU; the last layer has none.
std::vector<Numbers> run_sample(const PlainNetwork& network, Numbers x) {
  std::vector<Numbers> all = {x};
  for (std::size_t l = 0; l < network.size(); ++l) {
    const PlainLayer& layer = network[l];
    Numbers y(layer.outputs);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      double total = layer.bias[o];
      for (std::size_t i = 0; i < layer.inputs; ++i) total += x[i] * layer.weight[i * layer.outputs + o];
      y[o] = l + 1 < network.size() && total < 0 ? 0 : total;
    }
    all.push_back(x = y);
  }
  return all;
}

struct Batch {
  std::vector<Numbers> inputs;
  std::vector<Numbers> targets;
};

double plain_loss(const PlainNetwork& network, const Batch& batch) {
  double total = 0;
  for (std::size_t s = 0; s < batch.inputs.size(); ++s) {
    const Numbers y = run_sample(network, batch.inputs[s]).back();
    for (std::size_t o = 0; o < y.size(); ++o) total += (y[o] - batch.targets[s][o]) * (y[o] - batch.targets[s][o]);
  }
  return total / static_cast<double>(batch.inputs.size() * batch.targets[0].size());
}

// The gradients in the shape of the network, sample by sample and unit by unit.
PlainNetwork plain_gradients(const PlainNetwork& network, const Batch& batch) {
  PlainNetwork gradients = network;
  for (PlainLayer& layer : gradients) {
    layer.weight.assign(layer.weight.size(), 0);
    layer.bias.assign(layer.bias.size(), 0);
  }
  const double scale = 2 / static_cast<double>(batch.inputs.size() * batch.targets[0].size());
  for (std::size_t s = 0; s < batch.inputs.size(); ++s) {
    const std::vector<Numbers> all = run_sample(network, batch.inputs[s]);
    Numbers down(all.back().size());
    for (std::size_t o = 0; o < down.size(); ++o) down[o] = scale * (all.back()[o] - batch.targets[s][o]);
    for (std::size_t l = network.size(); l-- > 0;) {
      const PlainLayer& layer = network[l];
      Numbers up(layer.inputs, 0);
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        gradients[l].bias[o] += down[o];
        for (std::size_t i = 0; i < layer.inputs; ++i) {
          gradients[l].weight[i * layer.outputs + o] += all[l][i] * down[o];
          if (all[l][i] > 0) up[i] += layer.weight[i * layer.outputs + o] * down[o];
        }
      }
      down = up;
    }
  }
  return gradients;
}

void plain_adam(Numbers& parameter, const Numbers& gradient, Numbers& m, Numbers& v, int step) {
  for (std::size_t i = 0; i < parameter.size(); ++i) {
    m[i] = 0.9 * m[i] + 0.1 * gradient[i];
    v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
    const double m_hat = m[i] / (1 - std::pow(0.9, step));
    const double v_hat = v[i] / (1 - std::pow(0.999, step));
    parameter[i] -= 1e-3 * m_hat / (std::sqrt(v_hat) + 1e-8);
  }
}

Numbers numbers(const Tensor& tensor) { return must(must(tensor.to(DType::f64)).values<double>()); }

PlainNetwork copy_out(const std::vector<LinearTensors>& layers) {
  PlainNetwork network;
  for (const LinearTensors& layer : layers) {
    network.push_back({static_cast<std::size_t>(layer.weight.sizes()[0]),
                       static_cast<std::size_t>(layer.weight.sizes()[1]), numbers(layer.weight), numbers(layer.bias)});
  }
  return network;
}

std::vector<Numbers> rows_of(const Tensor& tensor) {
  std::vector<Numbers> rows;
  for (std::int64_t s = 0; s < tensor.sizes()[0]; ++s) rows.push_back(numbers(must(tensor.select(0, s))));
  return rows;
}

void expect_near(const PlainNetwork& got, const PlainNetwork& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t l = 0; l < got.size(); ++l) {
    ASSERT_EQ(got[l].weight.size(), wanted[l].weight.size());
    for (std::size_t i = 0; i < got[l].weight.size(); ++i) {
      EXPECT_NEAR(got[l].weight[i], wanted[l].weight[i], tolerance) << "weight " << l << ' ' << i;
    }
    for (std::size_t i = 0; i < got[l].bias.size(); ++i) {
      EXPECT_NEAR(got[l].bias[i], wanted[l].bias[i], tolerance) << "bias " << l << ' ' << i;
    }
  }
}

// A small network with everything that a step needs.
struct Bench {
  Bench(const Place& place, DType dtype)
      : shape{{5, 7, 6, 3}, 4, dtype},
        meter(place.memory()),
        training(must(Training::create(place, shape, meter, generator))),
        input(must(sub(must(rand(place, {4, 5}, generator, dtype)), 0.5))),
        target(must(rand(place, {4, 3}, generator, dtype))),
        batch{rows_of(input), rows_of(target)} {
    EXPECT_TRUE(training.prepare());
  }

  MlpShape shape;
  Generator generator{7};
  ByteMeter meter;
  Training training;
  Tensor input;
  Tensor target;
  Batch batch;
};

class TrainingStep : public tensor_tests::EachPlace {};
QUARRY_IN_EACH_PLACE(TrainingStep);

TEST_P(TrainingStep, equals_plain_loops) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f64, 1e-13}, std::pair{DType::f32, 2e-6}}) {
    Bench bench(place(), dtype);
    PlainNetwork plain = copy_out(bench.training.parameters());
    PlainNetwork m = plain_gradients(plain, bench.batch);  // for its shape
    for (PlainLayer& layer : m) {
      layer.weight.assign(layer.weight.size(), 0);
      layer.bias.assign(layer.bias.size(), 0);
    }
    PlainNetwork v = m;
    for (int step = 1; step <= 3; ++step) {
      ASSERT_TRUE(bench.training.forward(bench.input));
      EXPECT_NEAR(must(bench.training.find_loss(bench.target)), plain_loss(plain, bench.batch), tolerance);
      ASSERT_TRUE(bench.training.backward());
      const PlainNetwork gradients = plain_gradients(plain, bench.batch);
      expect_near(copy_out(bench.training.gradients()), gradients, tolerance);
      ASSERT_TRUE(bench.training.update({}));
      for (std::size_t l = 0; l < plain.size(); ++l) {
        plain_adam(plain[l].weight, gradients[l].weight, m[l].weight, v[l].weight, step);
        plain_adam(plain[l].bias, gradients[l].bias, m[l].bias, v[l].bias, step);
      }
      // Where a gradient is nearly 0 Adam divides two tiny numbers: f32 gets a wider margin.
      expect_near(copy_out(bench.training.parameters()), plain, dtype == DType::f64 ? 1e-10 : 1e-4);
      expect_near(copy_out(bench.training.first_moments()), m, tolerance);
      expect_near(copy_out(bench.training.second_moments()), v, tolerance);
    }
  }
}

// The plain loops could share a mistake with the tensors; the slope of the loss itself cannot.
TEST_P(TrainingStep, gradients_are_the_slope_of_the_loss) {
  Bench bench(place(), DType::f64);
  ASSERT_TRUE(bench.training.forward(bench.input));
  ASSERT_TRUE(bench.training.find_loss(bench.target));
  ASSERT_TRUE(bench.training.backward());
  const PlainNetwork gradients = copy_out(bench.training.gradients());
  const PlainNetwork network = copy_out(bench.training.parameters());
  constexpr double kStep = 1e-6;
  double largest = 0;
  const auto check = [&](std::size_t layer, Numbers PlainLayer::*part) {
    for (std::size_t i = 0; i < (network[layer].*part).size(); ++i) {
      PlainNetwork up = network;
      PlainNetwork down = network;
      (up[layer].*part)[i] += kStep;
      (down[layer].*part)[i] -= kStep;
      const double slope = (plain_loss(up, bench.batch) - plain_loss(down, bench.batch)) / (2 * kStep);
      EXPECT_NEAR((gradients[layer].*part)[i], slope, 1e-8) << "layer " << layer << ' ' << i;
      largest = std::max(largest, std::abs(slope));
    }
  };
  for (std::size_t layer = 0; layer < network.size(); ++layer) {
    check(layer, &PlainLayer::weight);
    check(layer, &PlainLayer::bias);
  }
  EXPECT_GT(largest, 1e-2);  // there was something to compare
}

// Nothing of a step stays but what its owner holds.
TEST_P(TrainingStep, meter_agrees_with_the_allocator_throughout) {
  Bench bench(place(), DType::f32);
  Allocator memory = place().memory();
  const MlpEstimate estimate = estimate_training(bench.shape);
  const auto agree = [&] { EXPECT_EQ(bench.meter.now().total(), memory.ledger().requested); };
  agree();
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(bench.training.forward(bench.input));
    agree();
    EXPECT_EQ(bench.meter.now()[Purpose::parameters], estimate.parameters);
    EXPECT_EQ(bench.meter.now()[Purpose::gradients], estimate.gradients);
    EXPECT_EQ(bench.meter.now()[Purpose::optimizer], estimate.optimizer);
    ASSERT_TRUE(bench.training.find_loss(bench.target));
    agree();
    ASSERT_TRUE(bench.training.backward());
    agree();
    EXPECT_EQ(bench.meter.now()[Purpose::activation_gradients], Bytes{});
    EXPECT_EQ(bench.meter.now()[Purpose::activations], Bytes{});  // the input was made by the test, unlabelled
    ASSERT_TRUE(bench.training.update({}));
    agree();
  }
}

}  // namespace
}  // namespace quarry::tools
