// CdiSpec: the one file by which the container runtime learns what each container may see. One
// device a nonce, all of a node in one file: containerd reads every file of the folder again when
// one changes, and with many of them misses some for a moment.
//
// Format: Container Device Interface 0.6.0
// (https://github.com/cncf-tags/container-device-interface).
#pragma once

#include <map>
#include <string>

#include "plugins/node/partition/partitioner.h"

namespace tephra::node {

// "tephra.sh/slice": vendor and class of the devices.
constexpr const char* kCdiKind = "tephra.sh/slice";
// CDI takes a file by its ending; its name is free.
constexpr const char* kCdiFile = "tephra.sh-slice.json";

// "tephra.sh/slice=<nonce>".
std::string CdiName(const std::string& nonce);

// The file's text: a device for each nonce, sorted; device nodes are taken from below
// `device_root`,
// "" for the host's own. Each has one environment variable of its own,
// TEPHRA_NONCE, at least: CDI refuses a device without edits. Empty where there is no nonce, for
// CDI refuses a file without devices too.
std::string FormatCdiSpec(const std::map<std::string, Edits>& by_nonce,
                          const std::string& device_root);

}  // namespace tephra::node
