// The demonstrations' engines: every number that adds up does.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tools/demo/estimation.h"
#include "tools/demo/process_memory.h"

namespace quarry::tools {
namespace {

const DemoDevice kSim{"sim", "for the test"};
const DemoDevice kHost{"host", "for the test"};

void expect_adds_up(const EstimationDemo& demo) {
  Bytes estimate;
  for (const EstimatedTerm& term : demo.terms) {
    EXPECT_EQ(term.estimate, term.requested) << term.name;
    EXPECT_EQ(term.estimate, term.storages) << term.name;
    estimate += term.estimate;
  }
  EXPECT_EQ(estimate, demo.estimate.total());
  const ByteRow& forward = demo.instants.at(2).rows;
  EXPECT_EQ(demo.forward.requested, forward.total());
  EXPECT_EQ(demo.forward.requested, estimate + forward[Purpose::target]);
  EXPECT_EQ(demo.forward.requested + demo.forward.rounding(), demo.forward.allocated);
  EXPECT_EQ(demo.forward.active() + demo.forward.releasable + demo.forward.stranded, demo.forward.reserved);
  // The allocator's own peak, found without labels.
  EXPECT_EQ(demo.end.peak_requested, demo.peak.rows.total());
  EXPECT_EQ(demo.end.requested, demo.instants.back().rows.total());
  EXPECT_LT(demo.loss_after, demo.loss_before);
}

TEST(EstimationDemo, is_the_tutorials_known_answer) {
  const Result<EstimationDemo> demo = run_estimation_demo(kSim);
  ASSERT_TRUE(demo) << demo.error().message;
  expect_adds_up(*demo);
  EXPECT_EQ(demo->estimate.parameter_count, 4'103'100);  // reference/estimator.md, case 1
  EXPECT_EQ(demo->estimate.parameters.count, 16'412'400u);
  EXPECT_EQ(demo->estimate.optimizer.count, 32'824'800u);
  EXPECT_EQ(demo->estimate.activations.count, 524'800u);
  EXPECT_EQ(demo->estimate.total().count, 66'174'400u);
  // The largest temporary of Adam is as large as the largest weight.
  EXPECT_EQ(demo->peak.rows[Purpose::temporaries].count, 2000u * 1000u * 4u);
}

TEST(EstimationDemo, holds_for_other_networks_too) {
  for (const MlpShape& shape : {MlpShape{{3, 4}, 1, DType::f32}, MlpShape{{10, 200, 30, 40, 5}, 64, DType::f64}}) {
    for (const DemoDevice& device : {kSim, kHost}) {
      const Result<EstimationDemo> demo = run_estimation_demo(device, shape);
      ASSERT_TRUE(demo) << demo.error().message;
      expect_adds_up(*demo);
    }
  }
}

// Doubling the batch doubles the activations exactly and nothing else.
TEST(EstimateTraining, is_linear_in_the_batch) {
  const MlpEstimate one = estimate_training({{7, 11, 2}, 5, DType::f64});
  const MlpEstimate two = estimate_training({{7, 11, 2}, 10, DType::f64});
  EXPECT_EQ(two.activations, one.activations * 2);
  EXPECT_EQ(two.parameters, one.parameters);
  EXPECT_EQ(one.parameter_count, 7 * 11 + 11 + 11 * 2 + 2);
  EXPECT_EQ(one.activations.count, 5u * (7 + 11 + 2) * 8);
}

TEST(ProcessMemory, counts_what_is_touched) {
  const Result<ProcessMemory> before = read_process_memory();
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_GE(before->resident, before->proportional);
  EXPECT_GE(before->proportional, before->unique);
  const std::string touched(64 << 20, 'x');
  const Result<ProcessMemory> after = read_process_memory();
  ASSERT_TRUE(after);
  EXPECT_GE((after->unique - before->unique).count, touched.size() * 9 / 10);
}

}  // namespace
}  // namespace quarry::tools
