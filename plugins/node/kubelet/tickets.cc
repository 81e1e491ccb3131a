#include "plugins/node/kubelet/tickets.h"

#include <algorithm>
#include <cstdlib>

namespace tephra::node {
namespace {

bool UsesUnhealthy(const std::set<std::size_t>& used, const Gpus& gpus) {
  return std::any_of(used.begin(), used.end(), [&](std::size_t gpu) {
    return gpu < gpus.devices.size() && !gpus.devices[gpu].hardware.healthy;
  });
}

}  // namespace

std::vector<Ticket> MakeTickets(const Gpus& gpus, int per_gpu, const TicketGpus& held) {
  if (per_gpu < 1 || per_gpu > kMaxTicketsPerGpu) std::abort();
  std::vector<Ticket> tickets;
  int to_take = 0;
  for (std::size_t gpu = 0; gpu < gpus.devices.size(); ++gpu) {
    const Gpu& device = gpus.devices[gpu];
    if (!device.hardware.healthy) to_take += per_gpu;
    for (int n = 0; n < per_gpu; ++n) {
      tickets.push_back({std::to_string(gpu) + "-" + std::to_string(n), static_cast<int>(gpu),
                         device.numa, true});
    }
  }
  for (Ticket& ticket : tickets) {
    const auto used = held.find(ticket.id);
    if (used == held.end() || !UsesUnhealthy(used->second, gpus)) continue;
    ticket.healthy = false;
    --to_take;
  }
  const auto take_free = [&](bool own) {
    for (auto ticket = tickets.rbegin(); ticket != tickets.rend() && to_take > 0; ++ticket) {
      const bool of_unhealthy =
          !gpus.devices[static_cast<std::size_t>(ticket->gpu)].hardware.healthy;
      if (!ticket->healthy || of_unhealthy != own || held.count(ticket->id) > 0) continue;
      ticket->healthy = false;
      --to_take;
    }
  };
  take_free(true);
  take_free(false);
  return tickets;
}

std::vector<std::string> PreferTickets(const std::vector<Ticket>& tickets,
                                       const std::vector<std::string>& available,
                                       const std::vector<std::string>& must, int size) {
  const std::set<std::string> free(available.begin(), available.end());
  const std::set<std::string> wanted(must.begin(), must.end());
  std::vector<const Ticket*> chosen, rest;
  std::map<int, int> free_on, wanted_on;
  for (const Ticket& ticket : tickets) {
    if (wanted.count(ticket.id) > 0) {
      chosen.push_back(&ticket);
      ++wanted_on[ticket.numa];
    } else if (free.count(ticket.id) > 0) {
      rest.push_back(&ticket);
      ++free_on[ticket.numa];
    }
  }
  const int lacking = size - static_cast<int>(chosen.size());
  // The best node: where what must be is already, then where all of the rest fits, then where the
  // fewest are left over.
  const auto rank = [&](const Ticket* ticket) {
    const int there = free_on[ticket->numa];
    const bool fits = there >= lacking;
    return std::make_tuple(-wanted_on[ticket->numa], !fits, fits ? there : -there, ticket->numa);
  };
  std::stable_sort(rest.begin(), rest.end(),
                   [&](const Ticket* a, const Ticket* b) { return rank(a) < rank(b); });
  std::vector<std::string> ids;
  for (const Ticket* ticket : chosen) ids.push_back(ticket->id);
  for (const Ticket* ticket : rest) {
    if (static_cast<int>(ids.size()) >= size) break;
    ids.push_back(ticket->id);
  }
  return ids;
}

}  // namespace tephra::node
