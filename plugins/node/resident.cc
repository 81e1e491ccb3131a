#include "plugins/node/resident.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace tephra::node {
namespace {

struct Range {
  std::uintptr_t begin = 0, end = 0;
};

// Read-only mappings of files of which this process has no page of its own: dropping their pages
// changes nothing that it could see (proc(5), /proc/pid/smaps).
std::vector<Range> PagesOnDisk() {
  std::vector<Range> ranges;
  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  Range range;
  bool on_disk = false;
  while (std::getline(smaps, line)) {
    unsigned long begin = 0, end = 0, inode = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &begin, &end, rights, &inode) == 4) {
      range = {begin, end};
      on_disk = inode != 0 && rights[1] == '-' && rights[3] == 'p';
      continue;
    }
    long kib = 0;
    if (on_disk && std::sscanf(line.c_str(), "Anonymous: %ld", &kib) == 1 && kib == 0) {
      ranges.push_back(range);
    }
  }
  return ranges;
}

}  // namespace

void KeepMemorySmall() {
  // A burst of starts has a thread each; without this each would keep memory of its own.
  mallopt(M_ARENA_MAX, 2);
  // Texts of a whole node go back to the system when they are done with.
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
}

void GiveBackMemory() {
  malloc_trim(0);
  for (const Range& range : PagesOnDisk()) {
    madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin, MADV_DONTNEED);
  }
}

}  // namespace tephra::node
