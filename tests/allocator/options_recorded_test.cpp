// Configuration strings that were given to PyTorch 2.14.1, and what it said (config.json of the conformance corpus,
// cases run_time_strings, sticky_options and garbage_after_value).
#include <gtest/gtest.h>

#include <ostream>
#include <string_view>

#include <quarry/allocator/options.h>

namespace quarry {
namespace {

enum class Answer {
  accepted,  // by PyTorch and here
  refused,   // by PyTorch and here
  lax,       // PyTorch's parser lets it pass; refused here
};

struct Recorded {
  std::string_view text;
  Answer pytorch;
};

void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.text; }

class RecordedString : public ::testing::TestWithParam<Recorded> {};

TEST_P(RecordedString, IsJudgedAsRecorded) {
  const Result<Options> options = reconfigure(GetParam().text, Options{}, Origin::api);
  EXPECT_EQ(static_cast<bool>(options), GetParam().pytorch == Answer::accepted)
      << (options ? "accepted" : options.error().message);
}

constexpr Answer kYes = Answer::accepted;
constexpr Answer kNo = Answer::refused;

INSTANTIATE_TEST_SUITE_P(
    Options, RecordedString,
    ::testing::Values(
        Recorded{"foo:1", kNo}, Recorded{"garbage_collection_threshold:1.2", kNo},
        Recorded{"garbage_collection_threshold:0", kNo}, Recorded{"garbage_collection_threshold:1.0", kNo},
        Recorded{"max_split_size_mb:2", kNo}, Recorded{"max_split_size_mb:19", kNo},
        Recorded{"max_split_size_mb:20", kYes}, Recorded{"max_non_split_rounding_mb:10", kNo},
        Recorded{"max_non_split_rounding_mb:20", kYes}, Recorded{"max_non_split_rounding_mb:21", kYes},
        Recorded{"roundup_power2_divisions:3", kNo}, Recorded{"roundup_power2_divisions:0", kNo},
        Recorded{"roundup_power2_divisions:[3:8]", kNo}, Recorded{"roundup_power2_divisions:[64:3]", kNo},
        Recorded{"roundup_power2_divisions:[64:8", kNo}, Recorded{"expandable_segments:true", kNo},
        Recorded{"expandable_segments:1", kNo}, Recorded{"release_lock_on_cudamalloc:yes", kNo},
        Recorded{"pinned_num_register_threads:1024", kNo}, Recorded{"pinned_num_register_threads:3", kNo},
        Recorded{"pinned_use_cuda_host_register:none", kNo}, Recorded{"max_split_size_mb", kNo},
        Recorded{"max_split_size_mb:", kNo}, Recorded{"max_split_size_mb;100", kNo},
        Recorded{"max_split_size_mb:40abc", Answer::lax}, Recorded{"max_split_size_mb:abc", kNo},
        Recorded{"backend:foo", kNo}, Recorded{"backend:cudaMallocAsync", kNo},
        Recorded{"per_process_memory_fraction:1.5", kNo}, Recorded{"per_process_memory_fraction:-1", kNo},
        Recorded{"large_segment_size_mb:1", kNo}, Recorded{"large_segment_size_mb:0", kNo},
        Recorded{"large_segment_size_mb:2", kNo}, Recorded{"expandable_segments_handle_type:posix_fd", kNo},
        Recorded{"expandable_segments_reserve:0", kNo}, Recorded{"expandable_segments_reserve:abc", kNo},
        Recorded{"max_split_size_mb:100garbage_collection_threshold:0.5", kNo},
        Recorded{"throw_on_cudamalloc_oom:1", kNo}, Recorded{"pinned_reserve_segment_size_mb:0", kNo},
        Recorded{"pinned_max_round_threshold_mb:abc", kNo}, Recorded{"pinned_max_cached_size_mb:32", kYes},
        Recorded{"expandable_segments:True", kYes}, Recorded{"pinned_free_catch_all:True", kYes},
        Recorded{"pinned_free_catch_all:1", kNo}, Recorded{"graph_capture_record_stream_reuse:maybe", kNo},
        Recorded{"roundup_power2_divisions:[100:4]", kNo}, Recorded{"roundup_power2_divisions:[]", Answer::lax},
        Recorded{"roundup_power2_divisions:[>:3]", kNo},
        Recorded{"garbage_collection_threshold:0.5,,max_split_size_mb:30", kNo}, Recorded{",", kNo}, Recorded{"", kYes},
        Recorded{"large_segment_size_mb:40,roundup_power2_divisions:2", kYes}));

}  // namespace
}  // namespace quarry
