#include "tools/demo/estimation.h"

#include <algorithm>
#include <set>

#include "tools/demo/training.h"

namespace quarry::tools {
namespace {

// Storages of tensors, each counted once.
class StorageSum {
 public:
  void add(const Tensor& tensor) {
    if (seen_.insert(tensor.storage().get()).second) bytes_ += tensor.storage()->size();
  }
  void add(const std::vector<LinearTensors>& layers) {
    for (const LinearTensors& layer : layers) {
      add(layer.weight);
      add(layer.bias);
    }
  }
  Bytes bytes() const { return bytes_; }

 private:
  std::set<const Storage*> seen_;
  Bytes bytes_;
};

std::vector<EstimatedTerm> find_terms(const MlpEstimate& estimate, const ByteRow& now, const Training& training) {
  StorageSum parameters;
  StorageSum gradients;
  StorageSum optimizer;
  StorageSum activations;
  parameters.add(training.parameters());
  gradients.add(training.gradients());
  optimizer.add(training.first_moments());
  optimizer.add(training.second_moments());
  for (const Tensor& tensor : training.activations()) activations.add(tensor);
  const auto term = [&](Purpose purpose, Bytes expected, const StorageSum& sum) {
    return EstimatedTerm{std::string(kPurposeNames.at(static_cast<std::size_t>(purpose))), expected, now[purpose],
                         sum.bytes()};
  };
  return {term(Purpose::parameters, estimate.parameters, parameters),
          term(Purpose::gradients, estimate.gradients, gradients),
          term(Purpose::optimizer, estimate.optimizer, optimizer),
          term(Purpose::activations, estimate.activations, activations)};
}

// Runs one step and writes down what is there at each instant.
class MeasuredStep {
 public:
  MeasuredStep(const Place& place, const MlpShape& shape)
      : place_(place), memory_(place.memory()), meter_(place.memory()) {
    demo_.shape = shape;
    demo_.estimate = estimate_training(shape);
  }

  Result<EstimationDemo> run();

 private:
  Result<Tensor> sample(Purpose purpose, std::int64_t width);
  Status step(Training& training, const Tensor& input, const Tensor& target);
  Result<double> loss_of(Training& training, const Tensor& input, const Tensor& target);
  void now(const std::string& name) { demo_.instants.push_back({name, meter_.now()}); }
  void largest(const std::string& name) { demo_.instants.push_back({name, meter_.peak()}); }

  Place place_;
  Allocator memory_;
  ByteMeter meter_;
  Generator generator_{42};
  EstimationDemo demo_;
};

Result<Tensor> MeasuredStep::sample(Purpose purpose, std::int64_t width) {
  const ByteMeter::Scope scope(meter_, purpose);
  return rand(place_, {demo_.shape.batch, width}, generator_, demo_.shape.dtype);
}

Result<EstimationDemo> MeasuredStep::run() {
  Result<Training> training = Training::create(place_, demo_.shape, meter_, generator_);
  if (!training) return training.error();
  now("network made");
  if (Status done = training->prepare(); !done) return done.error();
  now("gradients and optimizer state made");
  const Result<Tensor> input = sample(Purpose::activations, demo_.shape.widths.front());
  if (!input) return input.error();
  const Result<Tensor> target = sample(Purpose::target, demo_.shape.widths.back());
  if (!target) return target.error();
  if (Status done = step(*training, *input, *target); !done) return done.error();
  demo_.end = memory_.ledger();
  const auto by_total = [](const TrainingInstant& a, const TrainingInstant& b) {
    return a.rows.total() < b.rows.total();
  };
  demo_.peak = *std::max_element(demo_.instants.begin(), demo_.instants.end(), by_total);
  const Result<double> loss = loss_of(*training, *input, *target);
  if (!loss) return loss.error();
  demo_.loss_after = *loss;
  return demo_;
}

Status MeasuredStep::step(Training& training, const Tensor& input, const Tensor& target) {
  if (Status done = training.forward(input); !done) return done;
  now("end of forward");
  demo_.forward = memory_.ledger();
  demo_.terms = find_terms(demo_.estimate, meter_.now(), training);
  meter_.start_window();
  const Result<double> loss = training.find_loss(target);
  if (!loss) return loss.error();
  demo_.loss_before = *loss;
  largest("loss peak");
  meter_.start_window();
  if (Status done = training.backward(); !done) return done;
  largest("backward peak");
  meter_.start_window();
  if (Status done = training.update({}); !done) return done;
  largest("Adam peak");
  now("end of step");
  return Done{};
}

Result<double> MeasuredStep::loss_of(Training& training, const Tensor& input, const Tensor& target) {
  if (Status done = training.forward(input); !done) return done.error();
  return training.find_loss(target);
}

}  // namespace

Result<EstimationDemo> run_estimation_demo(const DemoDevice& device) {
  return run_estimation_demo(device, {{1000, 2000, 1000, 100}, 32, DType::f32});
}

Result<EstimationDemo> run_estimation_demo(const DemoDevice& device, const MlpShape& shape) {
  const Result<Place> place = open_demo_place(device);
  if (!place) return place.error();
  return MeasuredStep(*place, shape).run();
}

}  // namespace quarry::tools
