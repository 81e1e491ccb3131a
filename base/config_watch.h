// ConfigWatch reports when the configuration file may have changed. It watches the file's folder,
// because Kubernetes updates a mounted ConfigMap by swapping a symbolic link there. One owner thread.
#pragma once

#include <string>

#include "base/descriptor.h"

namespace tephra {

class ConfigWatch {
 public:
  // If the folder cannot be watched, only SIGHUP is left, and the log says so.
  explicit ConfigWatch(const std::string& path);

  // Becomes readable when something happened in the folder; -1 where it is not watched.
  int descriptor() const { return watch_.get(); }
  // Takes note of what happened.
  void Drain();

 private:
  Descriptor watch_;
};

}  // namespace tephra
