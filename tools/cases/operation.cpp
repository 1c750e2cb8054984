// One table: first word of an operation -> how many arguments it takes and how they are read.
#include "tools/cases/operation.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "tools/cases/text.h"

namespace quarry::tools {
namespace {

using Words = std::span<const std::string_view>;  // arguments, without the first word

// Reads arguments one after the other and keeps the first broken rule.
class Arguments {
 public:
  explicit Arguments(Words words) : words_(words) {}

  bool more() const { return next_ < words_.size(); }
  std::string name() { return std::string(words_[next_++]); }
  Bytes size() {
    auto size = parse_size(words_[next_++]);
    if (size) return *size;
    note(size.error().message);
    return {};
  }
  CaseStream stream() { return static_cast<CaseStream>(number("a stream", std::numeric_limits<CaseStream>::max())); }
  CasePool pool() { return number("a pool", std::numeric_limits<std::int64_t>::max()); }
  std::uint64_t number(std::string_view what, std::uint64_t limit) {
    const std::string_view word = words_[next_++];
    const auto value = parse_unsigned(word);
    if (value && *value <= limit) return *value;
    note(fmt::format("{} is not {} (a number up to {})", quoted(word), what, limit));
    return 0;
  }
  double real() {
    const std::string_view word = words_[next_++];
    double value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code == std::errc{} && end == word.data() + word.size()) return value;
    note(fmt::format("{} is not a number", quoted(word)));
    return 0;
  }
  void note(std::string rule) {
    if (broken_.empty()) broken_ = std::move(rule);
  }
  const std::string& broken() const { return broken_; }

 private:
  Words words_;
  std::size_t next_ = 0;
  std::string broken_;
};

Operation alloc(Arguments& a) {
  op::Alloc alloc{a.name(), a.size(), 0};
  if (a.more()) alloc.stream = a.stream();
  return alloc;
}
Operation fail(Arguments& a) {
  constexpr std::array<std::string_view, 9> kCalls = {"cudaMalloc",  "cudaFree",     "cuMemAddressReserve",
                                                      "cuMemCreate", "cuMemMap",     "cuMemSetAccess",
                                                      "cuMemUnmap",  "cuMemRelease", "cuMemAddressFree"};
  op::Fail fail{a.name(), a.number("a count of calls", std::numeric_limits<std::uint32_t>::max())};
  if (std::ranges::find(kCalls, fail.call) == kCalls.end())
    a.note(fmt::format("{} is not a driver call", quoted(fail.call)));
  if (fail.nth == 0) a.note("the next call is number 1");
  return fail;
}
Operation host_alloc(Arguments& a) {
  op::Host host{op::HostVerb::alloc, a.name(), a.size(), 0};
  return host;
}
Operation host_use(Arguments& a) {
  op::Host host{op::HostVerb::use, a.name(), {}, a.stream()};
  return host;
}
template <op::StreamVerb verb>
Operation stream_control(Arguments& a) {
  return op::StreamControl{verb, a.stream()};
}
template <op::PoolVerb verb>
Operation pool(Arguments& a) {
  return op::Pool{verb, a.pool()};
}
template <op::CaptureVerb verb>
Operation capture(Arguments& a) {
  return op::Capture{verb, a.stream()};
}
template <class Plain>
Operation plain(Arguments&) {
  return Plain{};
}

struct Form {
  std::string_view word;
  std::size_t least;  // arguments
  std::size_t most;
  Operation (*read)(Arguments&);
};

constexpr auto kForms = std::to_array<Form>({
    {"alloc", 2, 3, alloc},
    {"allocate", 2, 2,
     [](Arguments& a) -> Operation {
       return op::Allocate{a.name(), a.size()};
     }},
    {"free", 1, 1, [](Arguments& a) -> Operation { return op::Free{a.name()}; }},
    {"view", 2, 2,
     [](Arguments& a) -> Operation {
       return op::View{a.name(), a.name()};
     }},
    {"record", 2, 2,
     [](Arguments& a) -> Operation {
       return op::Record{a.name(), a.stream()};
     }},
    {"hold", 1, 1, stream_control<op::StreamVerb::hold>},
    {"complete", 1, 1, stream_control<op::StreamVerb::complete>},
    {"unhold", 1, 1, stream_control<op::StreamVerb::unhold>},
    {"sync", 1, 1, stream_control<op::StreamVerb::sync>},
    {"empty_cache", 0, 0, plain<op::EmptyCache>},
    {"empty_pool", 1, 1, [](Arguments& a) -> Operation { return op::EmptyPool{a.pool()}; }},
    {"reset_peak", 0, 0, plain<op::ResetPeak>},
    {"reset_accumulated", 0, 0, plain<op::ResetAccumulated>},
    {"set_fraction", 1, 1, [](Arguments& a) -> Operation { return op::SetFraction{a.real()}; }},
    {"get_fraction", 0, 0, plain<op::GetFraction>},
    {"pool_create", 1, 1, pool<op::PoolVerb::create>},
    {"pool_begin", 1, 1, pool<op::PoolVerb::begin>},
    {"pool_end", 1, 1, pool<op::PoolVerb::end>},
    {"pool_release", 1, 1, pool<op::PoolVerb::release>},
    {"pool_use_count", 1, 1, pool<op::PoolVerb::use_count>},
    {"pool_use_on_oom", 1, 1, pool<op::PoolVerb::use_on_oom>},
    {"pool_no_split", 1, 1, pool<op::PoolVerb::no_split>},
    {"capture_begin", 1, 1, capture<op::CaptureVerb::begin>},
    {"capture_end", 1, 1, capture<op::CaptureVerb::end>},
    {"capture_join", 1, 1, capture<op::CaptureVerb::join>},
    {"capture_leave", 1, 1, capture<op::CaptureVerb::leave>},
    {"current", 1, 1, capture<op::CaptureVerb::current>},
    {"checkpoint", 2, 2, [](Arguments& a) -> Operation { return op::Checkpoint{a.name(), a.pool()}; }},
    {"restore", 1, 1, [](Arguments& a) -> Operation { return op::Restore{a.name()}; }},
    {"cap", 1, 1, [](Arguments& a) -> Operation { return op::SetCapacity{a.size()}; }},
    {"context", 1, 1, [](Arguments& a) -> Operation { return op::SetContext{a.size()}; }},
    {"fail", 2, 2, fail},
    {"largest", 0, 0, plain<op::Largest>},
    {"base", 1, 1, [](Arguments& a) -> Operation { return op::Base{a.name()}; }},
    {"check", 0, 0, plain<op::Check>},
    {"halloc", 2, 2, host_alloc},
    {"hfree", 1, 1, [](Arguments& a) -> Operation { return op::Host{op::HostVerb::free, a.name(), {}, 0}; }},
    {"use", 2, 2, host_use},
    {"empty", 0, 0, [](Arguments&) -> Operation { return op::Host{op::HostVerb::empty, {}, {}, 0}; }},
});

void read_expect_word(std::string_view word, op::Expect& into, Arguments& errors) {
  if (word == "ok" || word == "oom") {
    if (into.ok) errors.note("more than one of ok and oom");
    into.ok = word == "ok";
    return;
  }
  const std::size_t equals = word.find('=');
  const auto name = std::ranges::find(op::kExpectKeyNames, word.substr(0, equals));
  if (equals == std::string_view::npos || name == op::kExpectKeyNames.end()) {
    errors.note(fmt::format("{} is not ok, oom or one of {}", quoted(word), fmt::join(op::kExpectKeyNames, ", ")));
    return;
  }
  const auto value = parse_size(word.substr(equals + 1));
  if (!value) return errors.note(value.error().message);
  into.values.emplace_back(static_cast<op::ExpectKey>(name - op::kExpectKeyNames.begin()), value->count);
}

// `policy` is what follows the word expect: nothing, @pytorch or @paged.
Result<Operation> parse_expect(std::string_view policy, Words words) {
  op::Expect expect;
  Arguments errors(words);
  if (policy == "@pytorch") {
    expect.policy = op::ExpectPolicy::pytorch;
  } else if (policy == "@paged") {
    expect.policy = op::ExpectPolicy::paged;
  } else if (!policy.empty()) {
    errors.note(fmt::format("{} is not @pytorch or @paged", quoted(policy)));
  }
  if (words.empty()) errors.note("expect needs ok, oom or key=value");
  for (const std::string_view word : words) read_expect_word(word, expect, errors);
  if (!errors.broken().empty()) return invalid(errors.broken());
  return Operation(std::move(expect));
}

}  // namespace

Result<Operation> parse_operation(std::string_view text) {
  const auto words = split_words(text);
  if (words.empty()) return invalid("no operation");
  const std::string_view first = words.front();
  const Words rest = Words(words).subspan(1);
  if (first.starts_with("expect")) return parse_expect(first.substr(6), rest);
  if (first == "settings") {  // the string is the rest of the line: it may hold blanks
    const std::string_view value = trim(text.substr(static_cast<std::size_t>(first.end() - text.begin())));
    if (value.empty()) return invalid("settings needs a string (- for the empty one)");
    return Operation(op::Settings{value == "-" ? std::string() : std::string(value)});
  }
  const auto form = std::ranges::find(kForms, first, &Form::word);
  if (form == kForms.end()) return invalid(fmt::format("{} is not an operation", quoted(first)));
  if (rest.size() < form->least || rest.size() > form->most) {
    const std::string count =
        form->least == form->most ? fmt::format("{}", form->least) : fmt::format("{} or {}", form->least, form->most);
    return invalid(
        fmt::format("{} takes {} argument{}, not {}", first, count, form->most == 1 ? "" : "s", rest.size()));
  }
  Arguments arguments(rest);
  Operation operation = form->read(arguments);
  if (!arguments.broken().empty()) return invalid(arguments.broken());
  return operation;
}

}  // namespace quarry::tools
