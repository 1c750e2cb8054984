#include "host/recorded_held.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "host/host_bench.h"

namespace quarry::test {
namespace {

using nlohmann::json;

// Operations of one case on our pinned memory over a simulated device.
class Play {
 public:
  explicit Play(const Options& options) : bench_(options) {}

  void step(const std::string& text) {
    std::istringstream words(text);
    std::string verb;
    std::string name;
    std::uint64_t number = 0;
    words >> verb >> name >> number;
    if (verb == "halloc") {
      blocks_[name] = *bench_.pinned.allocate(number);
      live_ += Bytes{number};
      most_live_ = std::max(most_live_, live_);
    } else if (verb == "hfree") {
      live_ -= Bytes{blocks_[name].size()};
      blocks_.erase(name);
    } else if (verb == "use") {
      Allocation& block = blocks_[name];
      bench_.device->work(handle(number), 1, {{block.address(), {block.size()}}});
      block.used_on(bench_.pinned.stream(handle(number)));
      bench_.device->advance(1);
    } else if (verb == "empty") {
      bench_.pinned.empty_cache();
    } else {
      order(verb, std::stoull("0" + name));
    }
  }

  Bytes most_live() const { return most_live_; }
  Bytes held_most() const { return peak_held(bench_.pinned); }
  const PinnedBench& bench() const { return bench_; }

 private:
  static void* handle(std::uint64_t stream) { return reinterpret_cast<void*>(0x1000 * stream); }
  void order(const std::string& verb, std::uint64_t stream) {
    if (verb == "hold") {
      bench_.device->hold(handle(stream));
    } else if (verb == "complete") {
      bench_.device->complete(handle(stream));
    } else if (verb == "unhold") {
      bench_.device->unhold(handle(stream));
    } else if (!verb.starts_with("reset_")) {  // which changes no byte
      ADD_FAILURE() << "unknown operation " << verb;
    }
  }

  PinnedBench bench_;
  std::map<std::string, Allocation> blocks_;
  Bytes live_;
  Bytes most_live_;
};

// Bytes the recorded allocator has from the driver.
class RecordedCalls {
 public:
  void step(const json& operation) {
    for (const json& call : operation.value("calls", json::array())) {
      const std::string name = call.at(0);
      if (name == "cudaHostAlloc" || name == "cudaHostRegister") {
        if (call.at(2) == "ok") held_ += Bytes{call.at(1)};
      } else if (name == "cudaFreeHost" || name == "cudaHostUnregister") {
        held_ -= Bytes{call.at(1)};
      }
    }
    most_ = std::max(most_, held_);
  }
  Bytes most() const { return most_; }

 private:
  Bytes held_;
  Bytes most_;
};

HeldRow row(const std::string& name, const Options& options, const json& operations) {
  Play play(options);
  RecordedCalls recorded;
  for (const json& operation : operations) {
    play.step(operation.at("op"));
    recorded.step(operation);
  }
  for (const sim::Hazard& hazard : play.bench().device->hazards()) ADD_FAILURE() << describe(hazard);
  return {name, play.most_live(), recorded.most(), play.held_most()};
}

Options options_of(const json& one) {
  const std::string text = one.at("config");
  const Result<Options> options = parse_options(text, Options{}, Origin::api);
  if (options) return *options;
  ADD_FAILURE() << options.error().message;
  return {};
}

}  // namespace

std::vector<HeldRow> held_rows(const json& recorded) {
  std::vector<HeldRow> rows;
  for (const json& one : recorded.at("cases")) {
    const std::string name = one.at("name");
    const Options options = options_of(one);
    const json& operations = one.at("ops");
    if (name != "rounding") {
      rows.push_back(row(name, options, operations));
      continue;
    }
    for (std::size_t i = 0; i + 2 < operations.size(); i += 3) {
      rows.push_back(row("one request", options, json{operations[i], operations[i + 1], operations[i + 2]}));
    }
  }
  return rows;
}

std::string held_table(const std::vector<HeldRow>& rows) {
  std::string text = "| case | requested at the peak | held by PyTorch | held by quarry |\n|---|---:|---:|---:|\n";
  for (const HeldRow& row : rows) {
    text += "| " + row.name + " | " + std::to_string(row.requested.count) + " | " + std::to_string(row.pytorch.count) +
            " | " + std::to_string(row.quarry.count) + " |\n";
  }
  return text;
}

}  // namespace quarry::test
