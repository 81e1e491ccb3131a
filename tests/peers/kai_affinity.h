// Affinity and anti-affinity between the pods of a case, in our words. As in KAI's tests, a task has
// one set of labels, and its terms select exactly these labels.
//
//   anti-affinity        a limit of one in each domain; tasks with the labels and without the term count
//   affinity             the domains in which such tasks run; if none runs, the tasks of the job have to
//                        be in one domain of the key, which is then a level of a topology
//   a key that no node   no effect for anti-affinity; no node for affinity
//   has as a label
#pragma once

#include <string>

#include "queue/job.h"
#include "tests/peers/kai_case.h"

namespace tephra {

// Adds what the task's terms, and terms of other tasks that select it, mean for its pod.
void AddKaiAffinity(const KaiCase& one, const KaiTask& task, PodTemplate& pod);

// The key whose domain all tasks of the job have to share; empty: none.
std::string KaiSharedKey(const KaiCase& one, const KaiJob& job);

// Why an affinity of the case has no translation; empty: each has.
std::string KaiAffinityExcluded(const KaiCase& one);

}  // namespace tephra
