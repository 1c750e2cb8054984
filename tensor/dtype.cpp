#include <quarry/tensor/dtype.h>

#include <array>

namespace quarry {

namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Row, kDTypes> kRows = {{{"bool", 1},
                                             {"u8", 1},
                                             {"i8", 1},
                                             {"i16", 2},
                                             {"i32", 4},
                                             {"i64", 8},
                                             {"f16", 2},
                                             {"bf16", 2},
                                             {"f32", 4},
                                             {"f64", 8},
                                             {"complex64", 8},
                                             {"complex128", 16},
                                             {"f8_e4m3", 1},
                                             {"f8_e5m2", 1}}};

static_assert(sizeof(bool) == 1 && sizeof(F16) == 2 && sizeof(BF16) == 2);

}  // namespace

std::string_view name(DType dtype) { return kRows.at(static_cast<std::size_t>(dtype)).name; }
std::size_t element_size(DType dtype) { return kRows.at(static_cast<std::size_t>(dtype)).size; }

}  // namespace quarry
