// Random option strings: none crashes the parser, an accepted one says the same after it was shown, and a refused one
// leaves one line of message. Seeded, so that a failure comes back.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <string_view>

#include <quarry/allocator/options.h>

namespace quarry {
namespace {

class Strings {
 public:
  explicit Strings(std::uint64_t seed) : random_(seed) {}

  // Keys of the table with values that mostly fit; a part of the strings then damaged.
  std::string options() {
    std::string text;
    for (std::size_t i = 0, n = below(4); i <= n; ++i) {
      const OptionInfo& row = option_table()[below(option_table().size())];
      text += (i > 0 ? "," : "") + std::string(row.key) + ":" + (below(10) > 0 ? fitting(row) : value());
    }
    if (below(4) == 0) damage(text);
    return text;
  }

  // Pieces of the grammar in any order.
  std::string pieces() {
    std::string text;
    for (std::size_t i = 0, n = below(12); i < n; ++i) {
      switch (below(3)) {
        case 0:
          text += key();
          break;
        case 1:
          text += value();
          break;
        default:
          text += pick(std::array<std::string_view, 9>{":", ",", "[", "]", ">", " ", "\n", "x", "-"});
      }
    }
    return text;
  }

  std::string bytes() {
    std::string text(below(40), '\0');
    for (char& c : text) c = static_cast<char>(below(256));
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  template <class Choices>
  std::string pick(const Choices& choices) {
    return std::string(choices[below(choices.size())]);
  }

  std::string key() { return std::string(option_table()[below(option_table().size())].key); }

  std::string fitting(const OptionInfo& row) {
    if (row.unit == "MiB") return std::to_string(20 + below(1000));
    if (row.unit == "bool") return below(2) == 0 ? "True" : "False";
    if (row.unit == "fraction") return std::to_string(static_cast<double>(below(1000)) / 999);
    if (row.key == "roundup_power2_divisions") return list();
    return row.show(Options{});
  }

  std::string value() {
    static constexpr std::array<std::string_view, 20> kValues = {
        "True",   "False",   "unlimited", "auto",    "off",
        "native", "pytorch", "address",   "segment", "0",
        "1",      "0.25",    "1e-3",      "64",      "1024",
        "32",     "[>:4]",   "[1:0]",     "",        "18446744073709551615"};
    return below(4) == 0 ? list() : pick(kValues);
  }

  std::string list() {
    std::string text = "[";
    for (std::size_t i = 0, n = below(4); i <= n; ++i) {
      const std::string interval = below(5) == 0 ? ">" : std::to_string(1ull << below(18));
      text += (i > 0 ? "," : "") + interval + ":" + std::to_string(below(2) << below(6));
    }
    return text + "]";
  }

  void damage(std::string& text) {
    const std::size_t at = below(text.size());
    if (below(2) == 0) {
      text.erase(at, 1 + below(3));
    } else {
      text.insert(at, pick(std::array<std::string_view, 6>{",", ":", "[", "]", "7", " "}));
    }
  }

  std::mt19937_64 random_;
};

std::string shown(const Options& options) {
  std::string text;
  for (const OptionInfo& row : option_table()) {
    if (!text.empty()) text += ',';
    text.append(row.key).append(":").append(row.show(options));
  }
  return text;
}

// True if the text was accepted.
bool check(const std::string& text) {
  const Result<Options> options = parse_options(text, Options{}, Origin::default_value);
  if (!options) {
    const std::string& message = options.error().message;
    EXPECT_FALSE(message.empty()) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos) << text;
    return false;
  }
  const Result<Options> again = parse_options(shown(*options), Options{}, Origin::default_value);
  EXPECT_TRUE(again) << text << " shows as " << shown(*options) << ": " << again.error().message;
  if (!again) return true;
  EXPECT_EQ(*again, *options) << text;
  return true;
}

TEST(OptionStrings, AcceptedOnesRoundTrip) {
  Strings strings(20240601);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) accepted += check(strings.options()) ? 1 : 0;
  EXPECT_GT(accepted, 1000);  // the generator must not only make junk
  EXPECT_LT(accepted, 3000);
}

TEST(OptionStrings, PiecesOfTheGrammarAreJudged) {
  Strings strings(7);
  for (int i = 0; i < 2000; ++i) check(strings.pieces());
}

TEST(OptionStrings, BytesAreJudged) {
  Strings strings(99);
  for (int i = 0; i < 2000; ++i) check(strings.bytes());
}

TEST(OptionStrings, HugeTextIsJudged) {
  std::string many;
  for (int i = 0; i < 20000; ++i) many += "max_split_size_mb:40,";
  EXPECT_FALSE(check(many));
  many.pop_back();
  EXPECT_TRUE(check(many));
  EXPECT_FALSE(check(std::string(1 << 20, '[')));
  EXPECT_FALSE(check("roundup_power2_divisions:[" + std::string(1 << 20, ',') + "]"));
}

}  // namespace
}  // namespace quarry
