#include "topology/resources.h"

#include <catch2/catch.hpp>

#include "topology/base/hash.h"

namespace tephra {
namespace {

TEST_CASE("ResourceKinds: a name keeps its number, and the seventeenth is refused by name") {
  ResourceKinds kinds;
  CHECK(*kinds.Intern("cpu") == kCpu);
  CHECK(*kinds.Intern("gpu-memory") == kGpuMemory);
  for (int k = kFirstExtendedKind; k < kMaxKinds; ++k) {
    CHECK(*kinds.Intern("x/" + std::to_string(k)) == k);
  }
  CHECK(*kinds.Intern("x/7") == 7);
  CHECK(kinds.Name(7) == "x/7");
  const auto status = kinds.Intern("one/more").status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(std::string(status.message()).find("one/more") != std::string::npos);
}

TEST_CASE("ResourceKinds: a GPU model's kind is known by its name, and needs a model") {
  ResourceKinds kinds;
  const Kind nic = *kinds.Intern("example.com/nic"), h100 = *kinds.Intern("gpu.H100");
  CHECK(*kinds.Intern("gpu.H100") == h100);
  CHECK(kinds.models() == ModelKinds{{"H100", h100}});
  CHECK(kinds.model_kinds() == KindSet{1} << h100);
  CHECK(kinds.CountsModel(h100));
  CHECK_FALSE(kinds.CountsModel(nic));
  CHECK_FALSE(kinds.CountsModel(kGpu));
  CHECK_FALSE(kinds.CountsModel(kGpuMemory));
  CHECK(kinds.Intern("gpu.").status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Resources: adding and taking away are exact opposites") {
  Resources a;
  for (int k = 0; k < kMaxKinds; ++k) a.amount[k] = static_cast<std::int64_t>(Mix(k) >> 4);
  Resources b = a;
  b.Add(a, 3).Add(a, -3);
  CHECK(b == a);
  b.AddKinds(a, 2, a.NonZero()).AddKinds(a, -2, a.NonZero());
  CHECK(b == a);
}

TEST_CASE("Resources: NonZero names exactly the kinds with an amount") {
  Resources a;
  CHECK(a.NonZero() == 0);
  a[kCpu] = 1;
  a[15] = -1;
  CHECK(a.NonZero() == (1u << kCpu | 1u << 15));
}

TEST_CASE("Resources: Max takes the larger of each kind") {
  Resources a, b;
  a[kCpu] = 3, b[kCpu] = 2, a[kMemory] = 1, b[kMemory] = 5;
  const Resources most = Resources::Max(a, b);
  CHECK(most[kCpu] == 3);
  CHECK(most[kMemory] == 5);
}

TEST_CASE("AmountText: amounts read as a person writes them") {
  ResourceKinds kinds;
  const Kind nic = *kinds.Intern("example.com/nic");
  CHECK(AmountText(kinds, kCpu, 1500) == "1.5 CPUs");
  CHECK(AmountText(kinds, kCpu, 0) == "0 CPUs");
  CHECK(AmountText(kinds, kCpu, -2000) == "-2 CPUs");
  CHECK(AmountText(kinds, kMemory, std::int64_t{3} << 30) == "3 GiB memory");
  CHECK(AmountText(kinds, kMemory, 512) == "512 B memory");
  CHECK(AmountText(kinds, kMemory, (std::int64_t{1} << 30) + (std::int64_t{1} << 29)) ==
        "1.5 GiB memory");
  CHECK(AmountText(kinds, kPods, 1) == "1 pod");
  CHECK(AmountText(kinds, kPods, 2) == "2 pods");
  CHECK(AmountText(kinds, kGpu, 250) == "0.25 GPU");
  CHECK(AmountText(kinds, kGpu, 8000) == "8 GPUs");
  CHECK(AmountText(kinds, kGpuMemory, 81920) == "80 GiB GPU memory");
  CHECK(AmountText(kinds, nic, 2) == "2 example.com/nic");
  CHECK(AmountText(kinds, *kinds.Intern("gpu.A100"), 1500) == "1.5 A100 GPUs");
  CHECK(AmountText(kinds, kCpu, 1000) == "1 CPU");
  CHECK(AmountText(kinds, kGpu, 1000) == "1 GPU");
  CHECK(AmountText(kinds, kGpu, 0) == "0 GPUs");
  CHECK(PartText(kinds, kGpu, 1500, 8000) == "1.5 of 8 GPUs");
  CHECK(PartText(kinds, kGpuMemory, 512, 81920) == "512 MiB of 80 GiB GPU memory");
  CHECK(PartText(kinds, nic, 1, 2) == "1 of 2 example.com/nic");
}

TEST_CASE("HashOf: the same text gives the same number on every machine") {
  CHECK(HashOf("") == Mix(0xcbf29ce484222325ull));
  CHECK(HashOf("a") != HashOf("b"));
  CHECK(Mix(0) == 0xe220a8397b1dcdafull);  // the first output of SplitMix64 for seed 0
  CHECK(Mix(1, 2) != Mix(2, 1));
}

}  // namespace
}  // namespace tephra
