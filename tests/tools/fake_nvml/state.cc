#include "tests/tools/fake_nvml/state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tephra::node {
namespace {

constexpr std::uint64_t kMagic = 0x7e9f'0001ULL << 32 | sizeof(FakeStateData);

absl::Status SystemError(const std::string& path) {
  return absl::InternalError("fake NVML: " + path + ": " + std::strerror(errno));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FakeState>> FakeState::Open(const std::string& path,
                                                           const FakeMachine& machine) {
  std::unique_ptr<FakeState> state(new FakeState);
  int flags = MAP_SHARED;
  if (path.empty()) {
    flags |= MAP_ANONYMOUS;
  } else {
    state->file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (state->file_ < 0) return SystemError(path);
    if (ftruncate(state->file_, sizeof(FakeStateData)) != 0) return SystemError(path);
  }
  void* memory =
      mmap(nullptr, sizeof(FakeStateData), PROT_READ | PROT_WRITE, flags, state->file_, 0);
  if (memory == MAP_FAILED) return SystemError(path);
  state->data_ = static_cast<FakeStateData*>(memory);
  const Lock lock(*state);
  FakeStateData& data = *state->data_;
  if (data.magic == kMagic && data.gpus_known == machine.gpus.size()) return state;
  data = FakeStateData{};
  data.magic = kMagic;
  data.gpus_known = static_cast<std::uint32_t>(machine.gpus.size());
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    data.gpu[i].mig = data.gpu[i].mig_pending = machine.gpus[i].mig_at_start;
  }
  return state;
}

FakeState::~FakeState() {
  if (data_ != nullptr) munmap(data_, sizeof(FakeStateData));
  if (file_ >= 0) close(file_);
}

FakeState::Lock::Lock(FakeState& state) : file_(state.file_) {
  while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

FakeState::Lock::~Lock() {
  if (file_ >= 0) flock(file_, LOCK_UN);
}

}  // namespace tephra::node
