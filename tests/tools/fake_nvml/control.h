// FakeControl: what goes wrong on the fake machine, and what runs on it, as a JSON file says that
// is read again whenever it changes. Replace it by rename, or a reader may see half of it.
//
//   {"gpus": {"0": {"lost": true}, "1": {"eccErrors": 2, "busy": true, "resets": 1,
//                                        "computePercent": 80, "usedMiB": 4000}},
//    "processes": [{"gpu": 1, "pid": 4711, "memoryMiB": 512, "computePercent": 30, "gi": 1, "ci":
//    0}], "events": [{"gpu": 1, "xid": 79, "gi": 1, "ci": 0}, {"gpu": 0, "ecc": true}], "faults":
//    [{"function": "nvmlGpuInstanceDestroy", "call": 3, "error": 19, "after": true},
//               {"function": "nvmlDeviceSetMigMode", "call": 1, "abort": true}]}
//
// `busy`: a change of MIG mode stays pending. `resets`: how often the GPU has been reset so far;
// one more empties it of instances and makes pending modes real. `events`: an event set sees the
// events that are appended after it began. `faults`: at that call of the function, counted over all
// processes since the file changed, it fails with `error` (default: 999) or ends the process, with
// `after` once it has done its work; with `hang` it does its work only after the next change of the
// file. Each fault strikes once.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/tools/fake_nvml/machine.h"

namespace tephra::node {

struct FakeControl {
  struct Gpu {
    bool lost = false, busy = false;
    unsigned resets = 0;
    std::int64_t ecc_errors = 0, used_mib = 0;
    unsigned compute_percent = 0;
  };
  struct Process {
    std::size_t gpu = 0;
    unsigned pid = 0;
    std::int64_t memory_mib = 0;
    std::optional<unsigned> gi, ci;
    unsigned compute_percent = 0;
  };
  struct Event {
    std::size_t gpu = 0;
    unsigned long long xid = 0;  // 0: a double bit ECC error
    std::optional<unsigned> gi, ci;
  };
  struct Fault {
    std::string function;
    unsigned call = 0;
    int error = 0;
    bool abort = false, after = false, hang = false;
  };
  std::array<Gpu, kMostFakeGpus> gpus{};
  std::vector<Process> processes;
  std::vector<Event> events;
  std::vector<Fault> faults;
};

constexpr std::size_t kMostFakeFaults = 32;

// The file as it is now. One owner thread at a time.
class FakeControlFile {
 public:
  // Empty: there is no file, and nothing goes wrong.
  explicit FakeControlFile(std::string path) : path_(std::move(path)) {}

  // Reads it again if it is another one than last time. A file that cannot be read says so on the
  // standard error, and what was read before stays.
  const FakeControl& Now();
  // Another number for another content.
  std::uint64_t identity() const { return identity_; }

 private:
  std::string path_;
  FakeControl control_;
  std::uint64_t identity_ = 0;
  ino_t inode_ = 0;
  off_t size_ = -1;
  std::int64_t changed_ns_ = 0;
};

}  // namespace tephra::node
