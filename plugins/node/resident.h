// What this process keeps of memory while it has nothing to do.
#pragma once

namespace tephra::node {

// To be called first, before there are threads.
void KeepMemorySmall();

// Gives back to the system what a burst of work left: free memory of the heap, and pages of
// programs and libraries as they are on disk, most of which were read once, to link them. What is
// needed again is read again from the page cache.
void GiveBackMemory();

}  // namespace tephra::node
