// The front end for recorded JSON: answers of PyTorch's own allocator, step by step.
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/cases/case.h"
#include "tools/cases/json_node.h"
#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

// Every key an answer may have. Another one could be something that must be equal, so it is refused.
constexpr auto kAnswerKeys =
    std::to_array<std::string_view>({"op", "at", "null", "skip", "value", "error", "message", "calls", "events",
                                     "layout", "stats", "s", "freed", "allocated", "block"});

// Of a file; together with what the parser takes they keep a hostile one inside 64 MiB and seconds.
constexpr std::size_t kMaxSteps = 50'000;

PoolId read_pool(const JsonNode& node) {
  node.array_size(2, 2);
  return {node.element(0).count(), node.element(1).count()};
}

std::uint32_t read_stream(const JsonNode& node) { return static_cast<std::uint32_t>(node.count(UINT32_MAX)); }

Place read_place(const JsonNode& node) {
  const std::size_t size = node.array_size(2, 3);
  Place place{node.element(0).count(), node.element(1).count(), std::nullopt};
  if (size == 3) place.size = node.element(2).count();
  return place;
}

// `[name, arguments...]` as text with blanks between.
std::string read_call(const JsonNode& node) {
  const std::size_t size = node.array_size(1, 8);
  std::string call = node.element(0).string();
  for (std::size_t i = 1; i < size && !node.failed(); ++i) {
    const JsonNode argument = node.element(i);
    call += argument.is_string() ? ' ' + argument.string() : fmt::format(" {}", argument.count());
  }
  return call;
}

RecordedEvent read_event(const JsonNode& node) {
  const std::size_t size = node.array_size(5, 6);
  RecordedEvent event{
      node.element(0).string(), std::nullopt, node.element(3).count(), read_stream(node.element(4)), {}};
  if (!node.element(1).is_null()) event.place = Place{node.element(1).count(), node.element(2).count(), std::nullopt};
  if (size == 6) event.pool = read_pool(node.element(5));
  return event;
}

RecordedBlock read_block(const JsonNode& node) {
  node.array_size(4, 4);
  const std::string state = node.element(3).string();
  if (state != "A" && state != "P" && state != "F") node.element(3).note("must be A, P or F");
  return {node.element(0).count(), node.element(1).count(), node.element(2).count(), state.empty() ? 'F' : state[0]};
}

RecordedSegment read_segment(const JsonNode& node) {
  node.array_size(8, 8);
  RecordedSegment segment{
      node.element(0).count(),  node.element(1).count(),   node.element(2).count(),    read_stream(node.element(3)),
      node.element(4).string(), node.element(5).boolean(), read_pool(node.element(6)), {}};
  const JsonNode blocks = node.element(7);
  const std::size_t count = blocks.array_size();
  for (std::size_t i = 0; i < count && !node.failed(); ++i) segment.blocks.push_back(read_block(blocks.element(i)));
  return segment;
}

StatTable read_stats(const JsonNode& node) {
  StatTable table;
  for (const auto& [name, unused] : node.object()) {
    const JsonNode value = node.member(name);
    if (!value.is_array()) {
      table.emplace(name, value.integer());
      continue;
    }
    value.array_size(4, 4);
    std::array<std::int64_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = value.element(i).integer();
    table.emplace(name, numbers);
  }
  return table;
}

void read_lists(const JsonNode& node, Answer& answer) {
  if (node.has("calls")) {
    const JsonNode calls = node.member("calls");
    const std::size_t count = calls.array_size();
    for (std::size_t i = 0; i < count && !node.failed(); ++i) {
      std::string call = read_call(calls.element(i));
      if (call != "cudaMemGetInfo") answer.calls.push_back(std::move(call));
    }
  }
  if (node.has("events")) {
    const JsonNode events = node.member("events");
    const std::size_t count = events.array_size();
    for (std::size_t i = 0; i < count && !node.failed(); ++i) answer.events.push_back(read_event(events.element(i)));
  }
  if (node.has("layout")) {
    const JsonNode layout = node.member("layout");
    const std::size_t count = layout.array_size();
    answer.layout.emplace();
    for (std::size_t i = 0; i < count && !node.failed(); ++i) answer.layout->push_back(read_segment(layout.element(i)));
  }
}

std::unique_ptr<const Answer> read_answer(const JsonNode& node) {
  auto answer = std::make_unique<Answer>();
  for (const auto& [key, unused] : node.object()) {
    if (std::ranges::find(kAnswerKeys, key) == kAnswerKeys.end()) node.member(key).note("is not a key of an answer");
  }
  if (node.has("null")) answer->null = node.member("null").boolean();
  if (node.has("skip")) answer->skip = node.member("skip").boolean();
  if (node.has("error")) answer->error = node.member("error").string();
  if (node.has("at")) answer->at = read_place(node.member("at"));
  if (node.has("value")) answer->value = node.member("value").number();
  read_lists(node, *answer);
  if (node.has("stats")) answer->stats = read_stats(node.member("stats"));
  if (node.has("s")) {
    const JsonNode sums = node.member("s");
    sums.array_size(5, 5);
    answer->sums.emplace();
    for (std::size_t i = 0; i < answer->sums->size(); ++i) (*answer->sums)[i] = sums.element(i).integer();
  }
  return answer;
}

Step read_step(const JsonNode& node) {
  const JsonNode text = node.member("op");
  Step step{op::Check{}, text.string(), 0, read_answer(node)};
  if (node.failed()) return step;
  auto operation = parse_operation(step.text);
  if (operation) {
    step.operation = *std::move(operation);
  } else {
    text.note(operation.error().message);
  }
  return step;
}

// `steps_left` is what the file may still have.
Case read_case(const JsonNode& node, const std::string& file, std::size_t& steps_left) {
  Case one;
  one.file = file_stem(file);
  one.name = node.member("name").string();
  if (node.has("shows")) one.shows = node.member("shows").string();
  if (node.has("config")) one.config = node.member("config").string();
  if (node.has("capacity")) one.capacity = {node.member("capacity").count()};
  if (node.has("context")) one.context = {node.member("context").count()};
  if (node.has("start_stats")) one.start_stats = read_stats(node.member("start_stats"));
  one.has_start_stats = node.has("start_stats");
  one.refused_at_load = node.has("refused_at_load");
  const JsonNode steps = node.member("ops");
  const std::size_t count = steps.array_size();
  if (count > steps_left) {
    steps.note(fmt::format("more than {} operations in a file", kMaxSteps));
    return one;
  }
  steps_left -= count;
  one.steps.reserve(count);
  for (std::size_t i = 0; i < count && !node.failed(); ++i) one.steps.push_back(read_step(steps.element(i)));
  return one;
}

}  // namespace

Result<std::vector<Case>> parse_recording(std::string_view text, const std::string& file) {
  const auto document = parse_json(text);
  if (!document) return invalid(fmt::format("{}: {}", file, document.error().message));
  JsonNode::Errors errors;
  const JsonNode root(*document, errors);
  const JsonNode list = root.member("cases");
  std::vector<Case> cases;
  const std::size_t count = list.array_size();
  std::size_t steps_left = kMaxSteps;
  for (std::size_t i = 0; i < count && !errors; ++i) cases.push_back(read_case(list.element(i), file, steps_left));
  if (errors) return invalid(fmt::format("{}: {}", file, *errors));
  return cases;
}

}  // namespace quarry::tools
