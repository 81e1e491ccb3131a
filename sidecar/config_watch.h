// ConfigWatch: says when the configuration file may have changed. It watches the file's folder,
// because a mounted ConfigMap changes by a symbolic link that is swapped there. One owner thread.
#pragma once

#include <string>

#include "sidecar/descriptor.h"

namespace tephra {

class ConfigWatch {
 public:
  // A folder that cannot be watched leaves SIGHUP; the log says so.
  explicit ConfigWatch(const std::string& path);

  // Becomes readable when something happened in the folder; -1 where it is not watched.
  int descriptor() const { return watch_.get(); }
  // Takes note of what happened.
  void Drain();

 private:
  Descriptor watch_;
};

}  // namespace tephra
