#include "support/pickle_builder.h"

#include <bit>

namespace quarry::test {
namespace {

class Encoder {
 public:
  explicit Encoder(const PickleStyle& style) : style_(style), out_(style.protocol) {}

  std::string encode(const Json& document) {
    value(document, "");
    const std::string body = out_.stop().substr(2);
    if (!style_.frame) return out_.stop();
    return PickleBuilder(style_.protocol).op(0x95).little(body.size(), 8).raw(body).bytes();
  }

 private:
  void value(const Json& v, std::string_view key) {
    switch (v.type()) {
      case Json::value_t::object:
        return dict(v);
      case Json::value_t::array:
        return key.ends_with("pool_id") && style_.tuples ? tuple(v) : list(v);
      case Json::value_t::string:
        return text(v.get_ref<const std::string&>());
      case Json::value_t::boolean:
        out_.op(v.get<bool>() ? 0x88 : 0x89);
        return;
      case Json::value_t::number_unsigned:
        return number(v.get<std::uint64_t>(), false);
      case Json::value_t::number_integer:
        return number(static_cast<std::uint64_t>(v.get<std::int64_t>()), true);
      case Json::value_t::number_float:
        return real(v.get<double>());
      default:
        out_.op('N');
        return;
    }
  }

  void memoize() {
    if (style_.memo == PickleStyle::Memo::memoize) out_.op(0x94);
    if (style_.memo == PickleStyle::Memo::put && memo_ < 256) out_.op('q').byte(static_cast<int>(memo_));
    if (style_.memo == PickleStyle::Memo::put && memo_ >= 256) out_.op('r').little(memo_, 4);
    ++memo_;
  }

  void text(const std::string& text) {
    const auto known = strings_.find(text);
    if (known != strings_.end() && style_.memo != PickleStyle::Memo::none) {
      known->second < 256 ? out_.op('h').little(known->second, 1) : out_.op('j').little(known->second, 4);
      return;
    }
    if (style_.protocol < 4) {
      out_.op('X').little(text.size(), 4).raw(text);
    } else {
      out_.text(text);
    }
    strings_.emplace(text, memo_);
    memoize();
  }

  void number(std::uint64_t bits, bool negative_possible) {
    const bool negative = negative_possible && static_cast<std::int64_t>(bits) < 0;
    if (style_.nine_byte && !negative) {
      out_.op(0x8a).byte(9).little(bits, 8).byte(0);
    } else if (style_.long4) {
      out_.op(0x8b).little(negative ? 8 : 9, 4).little(bits, 8);
      if (!negative) out_.byte(0);
    } else if (!negative && bits >> 63 != 0) {
      out_.op(0x8a).byte(9).little(bits, 8).byte(0);
    } else {
      out_.number(static_cast<std::int64_t>(bits));
    }
  }

  void real(double value) {
    out_.op('G');
    for (int shift = 56; shift >= 0; shift -= 8) out_.little(std::bit_cast<std::uint64_t>(value) >> shift & 0xff, 1);
  }

  void tuple(const Json& items) {
    const bool mark = style_.mark_containers || items.size() != 2;
    if (mark) out_.op('(');
    for (const Json& item : items) value(item, "");
    out_.op(mark ? 't' : 0x86);
    memoize();
  }

  // Items one at a time, with the opcodes for one and for many.
  template <class Items, class Each>
  void batches(const Items& items, unsigned single, unsigned many, const Each& each) {
    const std::size_t batch = style_.batch == 0 ? items.size() : style_.batch;
    std::size_t at = 0;
    for (const auto& item : items) {
      if (batch > 1 && at % batch == 0) out_.op('(');
      each(item);
      ++at;
      if (batch == 1) {
        out_.op(single);
      } else if (at % batch == 0 || at == items.size()) {
        out_.op(many);
      }
    }
  }

  void list(const Json& v) {
    const auto each = [&](const Json& item) { value(item, ""); };
    if (style_.mark_containers) {
      out_.op('(');
      for (const Json& item : v) each(item);
      out_.op('l');
      return memoize();
    }
    out_.op(']');
    memoize();
    batches(v.get_ref<const Json::array_t&>(), 'a', 'e', each);
  }

  void dict(const Json& v) {
    const auto& pairs = v.get_ref<const Json::object_t&>();
    const auto each = [&](const auto& pair) {
      text(pair.first);
      value(pair.second, pair.first);
    };
    if (style_.mark_containers) {
      out_.op('(');
      for (const auto& pair : pairs) each(pair);
      out_.op('d');
      return memoize();
    }
    out_.op('}');
    memoize();
    batches(pairs, 's', 'u', each);
  }

  const PickleStyle& style_;
  PickleBuilder out_;
  std::size_t memo_ = 0;
  std::map<std::string, std::size_t> strings_;
};

}  // namespace

PickleBuilder& PickleBuilder::little(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) byte(static_cast<int>(value >> 8 * i & 0xff));
  return *this;
}

PickleBuilder& PickleBuilder::text(std::string_view text) {
  text.size() < 256 ? op(0x8c).little(text.size(), 1) : op('X').little(text.size(), 4);
  return raw(text);
}

PickleBuilder& PickleBuilder::number(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value < 256) return op('K').little(bits, 1);
  if (value >= 0 && value < 65536) return op('M').little(bits, 2);
  if (value == static_cast<std::int32_t>(value)) return op('J').little(bits, 4);
  return op(0x8a).byte(8).little(bits, 8);
}

std::string to_pickle(const Json& document, const PickleStyle& style) { return Encoder(style).encode(document); }

}  // namespace quarry::test
