// Placements by model, as `nvidia-smi mig -lgipp` lists them. They are properties of the hardware,
// so they are compiled in.
//
// Names and counts: NVIDIA MIG User Guide, "Supported MIG Profiles". Placements: published listings
// of `nvidia-smi mig -lgipp` for models marked `listed`; `inferred` placements follow the pattern
// of their generation. mig_profiles.json has the source of each figure, and
// tests/claims/topology-mig compares the table with it if the data is present.
//
// RTX PRO 6000: +me.all probably leaves no media engines to other profiles, but the sources only
// say that there is at most one.
#include "topology/mig.h"

namespace tephra {
namespace {

// First slices: all of the first n slices, or every second or fourth of them.
constexpr std::uint8_t k0To6 = 0b0111'1111, k0To3 = 0b1111;
constexpr std::uint8_t k0246 = 0b0101'0101, k024 = 0b0001'0101, k02 = 0b101;
constexpr std::uint8_t k04 = 0b0001'0001, k0 = 0b1;

// Limits of a model.
constexpr std::int8_t kMedia = 0, kAllMedia1g = 1, kAllMedia2g = 2;

}  // namespace

const std::vector<MigModel>& MigModels() {
  static const std::vector<MigModel> models = {
      // listed
      {"A100-40GB",
       7,
       8,
       {{"1g.5gb", 1, 1, k0To6},
        {"1g.5gb+me", 1, 1, k0To6, kMedia},
        {"1g.10gb", 1, 2, k0246},
        {"2g.10gb", 2, 2, k024},
        {"3g.20gb", 3, 4, k04},
        {"4g.20gb", 4, 4, k0},
        {"7g.40gb", 7, 8, k0}}},
      // listed
      {"A100-80GB",
       7,
       8,
       {{"1g.10gb", 1, 1, k0To6},
        {"1g.10gb+me", 1, 1, k0To6, kMedia},
        {"1g.20gb", 1, 2, k0246},
        {"2g.20gb", 2, 2, k024},
        {"3g.40gb", 3, 4, k04},
        {"4g.40gb", 4, 4, k0},
        {"7g.80gb", 7, 8, k0}}},
      // listed
      {"A30-24GB",
       4,
       4,
       {{"1g.6gb", 1, 1, k0To3},
        {"1g.6gb+me", 1, 1, k0To3, kMedia},
        {"2g.12gb", 2, 2, k02},
        {"2g.12gb+me", 2, 2, k02, kMedia},
        {"4g.24gb", 4, 4, k0}}},
      // listed
      {"H100-80GB",
       7,
       8,
       {{"1g.10gb", 1, 1, k0To6},
        {"1g.10gb+me", 1, 1, k0To6, kMedia},
        {"1g.20gb", 1, 2, k0246},
        {"2g.20gb", 2, 2, k024},
        {"3g.40gb", 3, 4, k04},
        {"4g.40gb", 4, 4, k0},
        {"7g.80gb", 7, 8, k0}}},
      // listed
      {"H100-NVL-94GB",
       7,
       8,
       {{"1g.12gb", 1, 1, k0To6},
        {"1g.12gb+me", 1, 1, k0To6, kMedia},
        {"1g.24gb", 1, 2, k0246},
        {"2g.24gb", 2, 2, k024},
        {"3g.47gb", 3, 4, k04},
        {"4g.47gb", 4, 4, k0},
        {"7g.94gb", 7, 8, k0}}},
      // inferred
      {"H100-96GB",
       7,
       8,
       {{"1g.12gb", 1, 1, k0To6},
        {"1g.12gb+me", 1, 1, k0To6, kMedia},
        {"1g.24gb", 1, 2, k0246},
        {"2g.24gb", 2, 2, k024},
        {"3g.48gb", 3, 4, k04},
        {"4g.48gb", 4, 4, k0},
        {"7g.96gb", 7, 8, k0}}},
      // inferred
      {"H200-141GB",
       7,
       8,
       {{"1g.18gb", 1, 1, k0To6},
        {"1g.18gb+me", 1, 1, k0To6, kMedia},
        {"1g.35gb", 1, 2, k0246},
        {"2g.35gb", 2, 2, k024},
        {"3g.71gb", 3, 4, k04},
        {"4g.71gb", 4, 4, k0},
        {"7g.141gb", 7, 8, k0}}},
      // inferred
      {"GH200-144GB",
       7,
       8,
       {{"1g.18gb", 1, 1, k0To6},
        {"1g.18gb+me", 1, 1, k0To6, kMedia},
        {"1g.36gb", 1, 2, k0246},
        {"2g.36gb", 2, 2, k024},
        {"3g.72gb", 3, 4, k04},
        {"4g.72gb", 4, 4, k0},
        {"7g.144gb", 7, 8, k0}}},
      // inferred
      {"B200-180GB",
       7,
       8,
       {{"1g.23gb", 1, 1, k0To6},
        {"1g.23gb+me", 1, 1, k0To6, kMedia},
        {"1g.45gb", 1, 2, k0246},
        {"2g.45gb", 2, 2, k024},
        {"3g.90gb", 3, 4, k04},
        {"4g.90gb", 4, 4, k0},
        {"7g.180gb", 7, 8, k0}}},
      // inferred
      {"GB200-186GB",
       7,
       8,
       {{"1g.23gb", 1, 1, k0To6},
        {"1g.23gb+me", 1, 1, k0To6, kMedia},
        {"1g.47gb", 1, 2, k0246},
        {"2g.47gb", 2, 2, k024},
        {"3g.93gb", 3, 4, k04},
        {"4g.93gb", 4, 4, k0},
        {"7g.186gb", 7, 8, k0}}},
      // inferred
      {"B300-269GB",
       7,
       8,
       {{"1g.34gb", 1, 1, k0To6},
        {"1g.34gb+me", 1, 1, k0To6, kMedia},
        {"1g.67gb", 1, 2, k0246},
        {"2g.67gb", 2, 2, k024},
        {"3g.135gb", 3, 4, k04},
        {"4g.135gb", 4, 4, k0},
        {"7g.269gb", 7, 8, k0}}},
      // inferred
      {"GB300",
       7,
       8,
       {{"1g.35gb", 1, 1, k0To6},
        {"1g.35gb+me", 1, 1, k0To6, kMedia},
        {"1g.70gb", 1, 2, k0246},
        {"2g.70gb", 2, 2, k024},
        {"3g.139gb", 3, 4, k04},
        {"4g.139gb", 4, 4, k0},
        {"7g.278gb", 7, 8, k0}}},
      // inferred
      {"RTX-PRO-6000-96GB",
       4,
       4,
       {{"1g.24gb", 1, 1, k0To3},
        {"1g.24gb+me", 1, 1, k0To3, kMedia},
        {"1g.24gb+gfx", 1, 1, k0To3},
        {"1g.24gb+me.all", 1, 1, k0To3, kAllMedia1g},
        {"1g.24gb-me", 1, 1, k0To3},
        {"2g.48gb", 2, 2, k02},
        {"2g.48gb+gfx", 2, 2, k02},
        {"2g.48gb+me.all", 2, 2, k02, kAllMedia2g},
        {"2g.48gb-me", 2, 2, k02},
        {"4g.96gb", 4, 4, k0},
        {"4g.96gb+gfx", 4, 4, k0}}},
  };
  return models;
}

}  // namespace tephra
