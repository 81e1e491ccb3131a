// What may stand beside what on one GPU.
#include "plugins/node/binding/books.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

Holding Of(const std::string& pod, const std::string& container, GrantedSlice slice,
           bool init = false) {
  Holding holding;
  holding.grant = {{pod + container, pod, "team", pod, container}, {slice}};
  holding.init = init;
  return holding;
}

GrantedSlice Part(std::size_t gpu, int compute, int memory) {
  return {gpu, SliceMode::kFraction, compute, memory, "", 0};
}
const GrantedSlice kAllOf0{0, SliceMode::kWhole, 1000, 10'000, "", 0};

Books Holds(const std::vector<Holding>& holdings) {
  Books books;
  for (const Holding& holding : holdings) books.Put(holding);
  return books;
}

TEST_CASE("A GPU that one pod has whole is refused to another pod, and the reason names the holder") {
  const Books books = Holds({Of("a", "main", kAllOf0)});
  const absl::Status refused = books.Fits(Of("b", "main", Part(0, 1, 1)), SomeGpus(2));
  CHECK(absl::IsUnavailable(refused));
  CHECK(refused.message() == "GPU 0 (GPU-0) is held by pod team/a (a), container main");
  CHECK(books.Fits(Of("b", "main", Part(1, 1, 1)), SomeGpus(2)).ok());
  CHECK(books.Fits(Of("a", "other", kAllOf0), SomeGpus(2)).ok());
}

TEST_CASE("A GPU with a fraction cannot be had whole, nor in another mode") {
  const Books books = Holds({Of("a", "main", Part(0, 100, 100))});
  CHECK_FALSE(books.Fits(Of("b", "main", kAllOf0), SomeGpus(1)).ok());
  CHECK_FALSE(books.Fits(Of("b", "main", {0, SliceMode::kMps, 10, 10, "", 0}), SomeGpus(1)).ok());
}

TEST_CASE("Fractions stay within the memory and the compute of the device") {
  const Books books = Holds({Of("a", "main", Part(0, 600, 6000))});
  CHECK(books.Fits(Of("b", "main", Part(0, 400, 4000)), SomeGpus(1)).ok());
  CHECK_FALSE(books.Fits(Of("b", "main", Part(0, 401, 4000)), SomeGpus(1)).ok());
  CHECK_FALSE(books.Fits(Of("b", "main", Part(0, 400, 4001)), SomeGpus(1)).ok());
  Gpus twice = SomeGpus(1);
  twice.devices[0].hardware.memory_factor = 2000;
  CHECK(books.Fits(Of("b", "main", Part(0, 400, 14'000)), twice).ok());
  Gpus one = SomeGpus(1);
  one.devices[0].hardware.split_count = 1;
  CHECK_FALSE(books.Fits(Of("b", "main", Part(0, 1, 1)), one).ok());
}

TEST_CASE("A pod's init containers do not run beside its other containers") {
  const Books books = Holds({Of("a", "init", Part(0, 900, 9000), true)});
  CHECK(books.Fits(Of("a", "main", Part(0, 800, 8000)), SomeGpus(1)).ok());
  CHECK_FALSE(books.Fits(Of("b", "main", Part(0, 200, 2000)), SomeGpus(1)).ok());
}

TEST_CASE("MIG instances of two pods do not overlap") {
  Gpus gpus = SomeGpus(1, 40'000);
  gpus.devices[0].hardware.mig_model = "A100-40GB";
  const Books books = Holds({Of("a", "main", {0, SliceMode::kMig, 1, 1, "3g.20gb", 0})});
  CHECK(books.Fits(Of("b", "main", {0, SliceMode::kMig, 1, 1, "3g.20gb", 4}), gpus).ok());
  CHECK_FALSE(books.Fits(Of("b", "main", {0, SliceMode::kMig, 1, 1, "1g.5gb", 2}), gpus).ok());
}

TEST_CASE("The same container may ask again") {
  const Books books = Holds({Of("a", "main", kAllOf0)});
  CHECK(books.Fits(Of("a", "main", kAllOf0), SomeGpus(1)).ok());
}

}  // namespace
}  // namespace tephra::node
