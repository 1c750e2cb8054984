// Writes JSON for SnapshotEmitter.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <quarry/stats/trace.h>
#include <nlohmann/json.hpp>

namespace quarry::stats::formats {

class JsonSink {
 public:
  void begin_dict() { open('{'); }
  void end_dict() { close('}'); }
  void begin_list() { open('['); }
  void end_list() { close(']'); }
  void key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    first_ = true;  // of the value: no comma
  }
  void text(std::string_view text) {
    separate();
    quote(text);
  }
  void number(std::uint64_t value) { put(fmt::to_string(value)); }
  void integer(std::int64_t value) { put(fmt::to_string(value)); }
  void real(double value) { put(fmt::to_string(value)); }
  void boolean(bool value) { put(value ? "true" : "false"); }
  void pair(std::uint64_t a, std::uint64_t b) { put(fmt::format("[{},{}]", a, b)); }
  // JSON cannot refer to what was written before.
  bool shared(StackId) { return false; }
  void share(StackId) {}

  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void open(char bracket) {
    separate();
    out_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    first_ = false;
  }
  void quote(std::string_view text) {  // bytes that are no UTF-8 become U+FFFD
    out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void put(const std::string& text) {
    separate();
    out_ += text;
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace quarry::stats::formats
