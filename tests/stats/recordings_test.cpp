// The recordings of real runs hold what an independent reader found in them: Python's own unpickler, restricted to
// plain data. Sums are modulo 2^64.
#include <quarry/stats/read.h>

#include <filesystem>
#include <ostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "support/shared_folder.h"

namespace quarry::test {
namespace {

namespace fs = std::filesystem;

struct Recording {
  const char* file;
  std::uint64_t entries;
  std::uint64_t allocs;
  std::uint64_t segments;
  std::uint64_t blocks;
  std::uint64_t live_blocks;
  std::uint64_t stacks;
  std::uint64_t entry_bytes;   // sum of size
  std::uint64_t entry_places;  // sum of addr
  std::uint64_t requested;     // sum over blocks
  std::uint64_t annotations;

  bool operator==(const Recording&) const = default;
};
void PrintTo(const Recording& r, std::ostream* out) {
  *out << r.file << ": " << r.entries << " entries, " << r.allocs << " allocs, " << r.segments << " segments, "
       << r.blocks << " blocks, " << r.live_blocks << " live, " << r.stacks << " stacks, sums " << r.entry_bytes << ' '
       << r.entry_places << ' ' << r.requested << ", " << r.annotations << " annotations";
}

constexpr Recording kPublic[] = {
    {"attention-segments-only.pickle", 0, 0, 370, 3019, 2799, 3, 0u, 0u, 7901914871u, 0},
    {"inconsistent-fixture.pickle", 1040, 520, 5, 17, 17, 1040, 50703933040u, 532849358440729162u, 466u, 6},
    {"kv-cache-segments-only.pickle", 1, 0, 259, 868, 839, 17, 8u, 139937209607680u, 16841979448u, 0},
    {"opt-federated-from-empty.pickle", 23105, 7946, 61, 468, 397, 205, 45862170864u, 1101984379225600u, 1920281068u,
     8},
    {"opt13b-old-schema.pickle", 1, 0, 266, 791, 715, 34, 8896512u, 139686137346048u, 5454372912u, 0},
    {"opt13b-oom-old-schema.pickle", 1, 0, 176, 463, 460, 3, 11840159744u, 0u, 11840159744u, 0},
    {"rl-private-pools-pending-free.pickle", 0, 0, 127, 638, 534, 31, 0u, 0u, 25847542384u, 0},
    {"tiny-36-allocs.pickle", 97, 36, 9, 20, 10, 42, 27993309980u, 13558614913062912u, 3791912968u, 0},
    {"transformer-compiled-forward.pickle", 6486, 2162, 96, 550, 447, 142, 35042910744u, 823534907519299584u,
     4209087236u, 2},
    {"transformer-medium-ctx1024-train.pickle", 22331, 7591, 234, 1031, 885, 188, 496016003469u, 885003719554560u,
     20452638724u, 2},
    {"transformer-medium-ctx512-infer.pickle", 4998, 1666, 101, 233, 223, 106, 49577730192u, 151992981909504u,
     1907634176u, 0},
    {"transformer-small-forward.pickle", 2043, 681, 29, 164, 137, 105, 3317885952u, 286002710769417216u, 563167232u, 2},
    {"transformer-train-13g.pickle", 5163, 1721, 216, 455, 229, 54, 176670901821u, 274689604375040u, 13020829728u, 0},
    {"transformer-train-22g.pickle", 19464, 6488, 999, 1987, 1313, 180, 134488820295u, 2734876527351597568u,
     23241644041u, 4},
};

constexpr Recording kOwn[] = {
    {"cuda_graphs.pickle.gz", 544, 190, 12, 33, 27, 19, 3178774528u, 28710558296473600u, 438517760u, 0},
    {"gpt2_bf16.pickle.gz", 16157, 5638, 133, 593, 445, 52, 273771099516u, 852741187941782016u, 7202075656u, 16},
    {"gpt2_checkpoint.pickle.gz", 15518, 5456, 40, 493, 445, 66, 433758497877u, 819028143390217728u, 11537695748u, 12},
    {"gpt2_fp32.pickle.gz", 9734, 3497, 133, 581, 445, 50, 246445225789u, 513751947038252032u, 10190034948u, 12},
    {"gpt2_lora.pickle.gz", 13379, 4626, 87, 384, 293, 57, 121096352512u, 706117216582227968u, 3637879812u, 16},
    {"kv_cache.pickle.gz", 166323, 55444, 41, 67, 25, 24, 180271396352u, 8778005617374681088u, 845719168u, 0},
    {"mlp_adam.pickle.gz", 501, 181, 8, 36, 25, 15, 814523640u, 26441075023415808u, 115992832u, 24},
    {"oom_growing_batch.pickle.gz", 25170, 8637, 106, 552, 445, 86, 608611394422u, 1328400295324407296u, 11956888580u,
     26},
    {"optimizer_midrun.pickle.gz", 11574, 3998, 38, 272, 229, 87, 84529345248u, 610841669251456000u, 1920230404u, 24},
    {"prefetch_streams.pickle.gz", 1405, 476, 28, 46, 19, 17, 46048930208u, 74151757458453504u, 2266619332u, 48},
    {"resnet.pickle.gz", 6264, 2375, 103, 580, 482, 49, 75722444276u, 330601723773997568u, 2986073736u, 12},
    {"varlen.pickle.gz", 26488, 9000, 90, 401, 301, 52, 214336298245u, 1397980861717915648u, 4386864046u, 40},
    {"varlen_expandable.pickle.gz", 26482, 9000, 2, 318, 301, 52, 214283869445u, 1864766050478982656u, 1230705348u, 40},
    {"varlen_gc.pickle.gz", 25760, 8766, 60, 373, 301, 52, 113973582432u, 1359544243194778624u, 2687899762u, 40},
    {"varlen_max_split.pickle.gz", 26555, 9000, 157, 462, 301, 52, 227313474821u, 1401530285497631232u, 19720991988u,
     40},
    {"varlen_roundup.pickle.gz", 26488, 9000, 90, 399, 301, 52, 214806060293u, 1397981044900243456u, 4296515090u, 40},
};

Recording contents(const char* file, const stats::Trace& trace) {
  Recording found{file, 0, 0, 0, 0, 0, 0, 0, 0, 0, trace.external_annotations};
  std::set<stats::StackId> stacks;
  for (const stats::DeviceTrace& device : trace.devices) {
    found.entries += device.entries.size();
    found.segments += device.segments.size();
    for (const stats::TraceEntry& entry : device.entries) {
      found.allocs += entry.action == stats::TraceAction::alloc;
      found.entry_bytes += entry.size.count;
      found.entry_places += entry.address.value;
      stacks.insert(entry.stack);
    }
    for (const stats::TraceSegment& segment : device.segments) {
      stacks.insert(segment.stack);
      found.blocks += segment.blocks.size();
      for (const stats::TraceBlock& block : segment.blocks) {
        found.live_blocks += block.state == BlockState::live;
        found.requested += block.requested.count;
        stacks.insert(block.stack);
      }
    }
  }
  stacks.erase(stats::StackId{});
  found.stacks = stacks.size();
  return found;
}

void expect_contents(const fs::path& folder, const Recording& expected) {
  const auto trace = stats::read_snapshot((folder / expected.file).string());
  ASSERT_TRUE(trace) << trace.error().message;
  Recording found = contents(expected.file, *trace);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(trace->skipped_keys, 0u);
  EXPECT_EQ(trace->skipped_actions, 0u);
}

// The public recordings are not part of the repository.
fs::path public_folder() { return shared_folder() / "traces" / "public"; }

class PublicRecordings : public ::testing::TestWithParam<Recording> {};

TEST_P(PublicRecordings, HoldWhatTheIndependentReaderFound) {
  if (!fs::exists(public_folder())) {
    GTEST_SKIP() << "no public recordings in " << public_folder() << "; set QUARRY_SHARED";
  }
  expect_contents(public_folder(), GetParam());
}

class OwnRecordings : public ::testing::TestWithParam<Recording> {};

TEST_P(OwnRecordings, HoldWhatTheIndependentReaderFound) {
  expect_contents(fs::path(QUARRY_TEST_DATA) / "traces", GetParam());
}

std::string test_name(const ::testing::TestParamInfo<Recording>& test) {
  std::string name;
  for (const char c : fs::path(test.param.file).stem().stem().string()) name += c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, PublicRecordings, ::testing::ValuesIn(kPublic), test_name);
INSTANTIATE_TEST_SUITE_P(Files, OwnRecordings, ::testing::ValuesIn(kOwn), test_name);

TEST(OtherPublicFiles, OtherFormatsAreToldApart) {
  if (!fs::exists(public_folder())) {
    GTEST_SKIP() << "no public recordings in " << public_folder() << "; set QUARRY_SHARED";
  }
  const std::pair<const char*, stats::FileKind> files[] = {
      {"profiler-memory-events.json.gz", stats::FileKind::profiler_json},
      {"profiler-resnet50.json.gz", stats::FileKind::profiler_json},
      {"memory-timeline.raw.gz", stats::FileKind::memory_timeline},
      {"bfc-dump.log", stats::FileKind::bfc_log},
      {"rmm-documented-rows.csv", stats::FileKind::rmm_csv},
      {"../packing/A.1048576.csv", stats::FileKind::packing_csv},
      {"../../conformance/split.json", stats::FileKind::case_json},
      {"../../conformance/stress_default.json.gz", stats::FileKind::case_json},
      {"tiny-36-allocs.pickle", stats::FileKind::pytorch_pickle},
  };
  for (const auto& [file, kind] : files) {
    const auto found = stats::detect_kind((public_folder() / file).string());
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(stats::kind_name(*found), stats::kind_name(kind)) << file;
  }
}

TEST(OtherPublicFiles, PoolsAndOldSchema) {
  if (!fs::exists(public_folder())) {
    GTEST_SKIP() << "no public recordings in " << public_folder() << "; set QUARRY_SHARED";
  }
  const auto pools = stats::read_snapshot((public_folder() / "rl-private-pools-pending-free.pickle").string());
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(pools->pools.size(), 3u);
  EXPECT_FALSE(pools->block_addresses_derived);
  const auto old = stats::read_snapshot((public_folder() / "opt13b-old-schema.pickle").string());
  ASSERT_TRUE(old) << old.error().message;
  EXPECT_TRUE(old->block_addresses_derived);
}

}  // namespace
}  // namespace quarry::test
