// A probe sees how long the engine computes one thing, and does not wait for it.
#include "sidecar/owner_thread.h"

#include <future>
#include <thread>

#include <catch2/catch.hpp>

namespace tephra {
namespace {

using namespace std::chrono_literals;

TEST_CASE("OwnerThread: the age of the work under way is known while it runs, and 0 afterwards") {
  OwnerThread owner;
  CHECK(owner.BusyFor() == 0s);
  std::promise<void> began, end;
  owner.Post([&] {
    began.set_value();
    end.get_future().wait();
  });
  began.get_future().wait();
  std::this_thread::sleep_for(20ms);
  const auto first = owner.BusyFor();
  CHECK(first >= 20ms);
  std::this_thread::sleep_for(20ms);
  CHECK(owner.BusyFor() >= first + 20ms);
  end.set_value();
  owner.Run([&] { CHECK(owner.BusyFor() < first); });  // this work is young
  // The thread may not have noted yet that the last work has ended.
  for (int i = 0; i < 1000 && owner.BusyFor() != 0s; ++i) std::this_thread::sleep_for(1ms);
  CHECK(owner.BusyFor() == 0s);
}

}  // namespace
}  // namespace tephra
