// DLPack between our own two sides, and what a foreign side may do wrong. dlpack_numpy.py does it with NumPy.
#include "tensor/sim_places.h"

#include <quarry/tensor/dlpack.h>

namespace quarry::tensor_tests {
namespace {

class Dlpack : public testing::Test {
 protected:
  void TearDown() override { places_.expect_clean(); }
  SimPlaces places_;
};

TEST_F(Dlpack, ThereAndBackSharesTheMemory) {
  std::optional<Tensor> x = must(must(arange(places_.host, 12)).view({3, 4}));
  const Tensor view = must(must(x->transpose(0, 1)).slice(0, 1, 4, 2));
  dlpack::ManagedVersioned* const exported = must(to_dlpack(view));
  EXPECT_EQ(exported->version.major, 1u);
  EXPECT_EQ(exported->flags, 0u);
  EXPECT_EQ(exported->array.byte_offset, 4u);
  const Tensor back = must(from_dlpack(exported, places_.host));
  EXPECT_EQ(back.data(), view.data());
  EXPECT_EQ(values<float>(back), values<float>(view));
  must(back.fill_(-1));
  EXPECT_EQ(values<float>(*x), (std::vector<float>{0, -1, 2, -1, 4, -1, 6, -1, 8, -1, 10, -1}));
}

TEST_F(Dlpack, TheExportKeepsTheStorage) {
  std::optional<Tensor> x = must(ones(places_.host, {1000}));
  dlpack::Managed* const exported = must(to_dlpack_unversioned(*x));
  x.reset();
  EXPECT_EQ(places_.host.memory().ledger().live_blocks, 1u);
  exported->deleter(exported);
  EXPECT_EQ(places_.host.memory().ledger().live_blocks, 0u);
}

TEST_F(Dlpack, EveryDtype) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const Tensor x = must(zeros(places_.host, {2}, static_cast<DType>(i)));
    EXPECT_EQ(must(from_dlpack(must(to_dlpack_unversioned(x)), places_.host)).dtype(), x.dtype());
  }
}

TEST_F(Dlpack, NoElementsAndNoDimensions) {
  const Tensor none = must(from_dlpack(must(to_dlpack(must(zeros(places_.host, {0, 3})))), places_.host));
  EXPECT_EQ(none.sizes(), (Dims{0, 3}));
  const Tensor one = must(from_dlpack(must(to_dlpack(must(full(places_.host, {}, 7)))), places_.host));
  EXPECT_EQ(must(one.item()), 7);
}

TEST_F(Dlpack, TheSimulatedDeviceHasNoNumber) {
  EXPECT_FALSE(to_dlpack(must(zeros(places_.device, {2}))));
  const Tensor pinned = must(ones(places_.pinned, {2}));
  EXPECT_EQ(values<float>(must(from_dlpack(must(to_dlpack(pinned)), places_.host))), std::vector<float>(2, 1));
}

// An array of someone else; counts the calls of its deleter.
struct Foreign {
  std::array<float, 8> data{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::int64_t, 2> shape{2, 3};
  std::array<std::int64_t, 2> strides{-4, 1};
  int deleted = 0;
  dlpack::ManagedVersioned managed{
      {1, 3},
      this,
      [](dlpack::ManagedVersioned* self) { ++static_cast<Foreign*>(self->context)->deleted; },
      0,
      {data.data(), {1, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), strides.data(), 16}};
};

TEST_F(Dlpack, NegativeStrides) {
  Foreign foreign;
  {
    const Tensor x = must(from_dlpack(&foreign.managed, places_.host));
    EXPECT_EQ(values<float>(x), (std::vector<float>{4, 5, 6, 0, 1, 2}));
    const Tensor copy = must(x.clone());
    EXPECT_EQ(values<float>(copy), values<float>(x));
    must(x.copy_(must(x.select(0, 1))));
    EXPECT_EQ(values<float>(x), (std::vector<float>{0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(Dlpack, WithoutStridesItIsDense) {
  Foreign foreign;
  foreign.managed.array.strides = nullptr;
  EXPECT_EQ(values<float>(must(must(from_dlpack(&foreign.managed, places_.host)).select(1, 0))),
            (std::vector<float>{4, 7}));
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(Dlpack, WhatIsWrongIsLetGoOnce) {
  using Change = void (*)(Foreign&);
  const std::vector<std::pair<Change, const char*>> wrong = {
      {[](Foreign& f) { f.managed.version.major = 2; }, "from_dlpack: version 2 of DLPack, not 1"},
      {[](Foreign& f) { f.managed.flags = dlpack::kReadOnly; }, "from_dlpack: read-only memory, copy it first"},
      {[](Foreign& f) { f.managed.array.device.type = 2; },
       "from_dlpack: the memory is of device 2:0, the place is 1:0"},
      {[](Foreign& f) { f.managed.array.dtype.lanes = 4; }, "from_dlpack: elements of code 2, 32 bits, 4 lanes"},
      {[](Foreign& f) { f.managed.array.ndim = -1; }, "from_dlpack: -1 dimensions"},
      {[](Foreign& f) { f.managed.array.ndim = 9; }, "from_dlpack: 9 dimensions"},
      {[](Foreign& f) { f.managed.array.shape = nullptr; }, "from_dlpack: no shape"},
      {[](Foreign& f) { f.shape[1] = -3; }, "from_dlpack: sizes [2, -3]: a size is negative"},
      {[](Foreign& f) { f.strides[0] = std::int64_t{1} << 62; }, "from_dlpack: strides out of range"},
      {[](Foreign& f) { f.managed.array.data = nullptr; }, "from_dlpack: no data"},
      {[](Foreign& f) { f.managed.array.byte_offset = 2; }, "from_dlpack: data that is not aligned to its elements"},
  };
  for (const auto& [change, message] : wrong) {
    Foreign foreign;
    change(foreign);
    const Result<Tensor> tensor = from_dlpack(&foreign.managed, places_.host);
    ASSERT_FALSE(tensor) << message;
    EXPECT_EQ(tensor.error().message, message);
    EXPECT_EQ(foreign.deleted, 1) << message;
  }
}

}  // namespace
}  // namespace quarry::tensor_tests
