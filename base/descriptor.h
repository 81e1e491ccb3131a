// Descriptor: a file descriptor that closes itself.
#pragma once

#include <unistd.h>

namespace tephra {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      if (valid()) close(fd_);
      fd_ = other.Release();
    }
    return *this;
  }
  ~Descriptor() {
    if (valid()) close(fd_);
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

}  // namespace tephra
