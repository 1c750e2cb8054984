// A dict of a snapshot opened up by key, and the typed reading of its values.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <quarry/stats/formats/grow_buffer.h>
#include <quarry/stats/formats/snapshot_keys.h>
#include <quarry/stats/formats/value.h>
#include <quarry/stats/trace.h>

namespace quarry::stats::formats {

// A rule that a record broke.
struct Fault {
  std::uint64_t offset;
  const char* record;  // "trace entry"
  const char* rule;    // "is not a whole number"
  Key key;
};

// What does not fit into a Value. One table of each for a whole file.
struct Values {
  GrowBuffer<std::uint64_t> words;
  GrowBuffer<PoolId> pairs;
  GrowBuffer<Fault> faults;

  Value unsigned_integer(std::uint64_t value);
  Value signed_integer(std::int64_t value);
  Value real(double value);
  Value pair(Value first, Value second);  // opaque unless both are whole numbers

  // False if `value` is no whole number in the range of the result.
  bool to_unsigned(Value value, std::uint64_t& result) const;
  bool to_signed(Value value, std::int64_t& result) const;
  // Any whole number, as its 64 bits.
  bool to_bits(Value value, std::uint64_t& result) const;

 private:
  Value word(Tag tag, std::uint64_t bits);
};

// The values of one dict by key.
class Fields {
 public:
  // False if a known key stands there twice. Unknown keys are left to skipped().
  bool load(std::span<const Value> pairs);

  bool has(Key key) const { return (seen_ & key_set(key)) != 0; }
  Value operator[](Key key) const { return values_[static_cast<std::size_t>(key)]; }
  KeySet seen() const { return seen_; }
  bool other_keys() const { return other_keys_; }
  // Key that stood there twice, after load() failed.
  Key twice() const { return twice_; }

 private:
  std::array<Value, kKeyNames.size()> values_;
  KeySet seen_ = 0;
  bool other_keys_ = false;
  Key twice_{};
};

// Reads the fields of one record. After the first broken rule everything answers 0 and fault() says why.
class FieldReader {
 public:
  FieldReader(const Fields& fields, const Values& values, const char* record)
      : fields_(fields), values_(values), record_(record) {}

  std::uint64_t required_count(Key key);  // a whole number >= 0
  std::uint64_t count(Key key, std::uint64_t otherwise = 0);
  std::int64_t integer(Key key, std::int64_t otherwise);
  std::uint64_t bits(Key key);  // a handle: any whole number, 0 if absent
  bool boolean(Key key);
  double real(Key key);
  StringId text(Key key, bool required = false);
  StackId stack(Key key);
  // `address + size` must not pass the end of the address space.
  void fits(Key size_key, Address address, Bytes size);
  void fail(Key key, const char* rule);

  bool failed() const { return failed_; }
  Fault fault(std::uint64_t offset) const { return {offset, record_, rule_, key_}; }

 private:
  const Fields& fields_;
  const Values& values_;
  const char* record_;
  bool failed_ = false;
  const char* rule_ = "";
  Key key_{};
};

// "key 'size' of a trace entry is missing"
std::string fault_text(const Fault& fault);

}  // namespace quarry::stats::formats
