// Problems: what is wrong on this node now and needs an operator, by kind and by subject. The log
// gets a line when a problem appears and when it is over; `tephra-node status` and the metric
// tephra_node_problems show the problems of the moment.
//
// Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tephra::node {

struct Problem {
  std::string kind;     // a ProblemKind
  std::string subject;  // what it is about: a folder, a pod, a GPU
  std::string text;     // what is wrong, and what to do
};

namespace problem_kind {
constexpr const char* kDriver = "driver_not_answering";
constexpr const char* kFolder = "folder_not_removed";
constexpr const char* kPod = "pod_not_readable";
constexpr const char* kSlice = "slice_not_released";
}  // namespace problem_kind

class Problems {
 public:
  // Every kind, so that each has a series in the metrics.
  static std::vector<std::string> Kinds();

  void Set(const std::string& kind, const std::string& subject, const std::string& text);
  void Clear(const std::string& kind, const std::string& subject);
  // Sorted by kind and subject.
  std::vector<Problem> All() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::string> problems_;
};

}  // namespace tephra::node
