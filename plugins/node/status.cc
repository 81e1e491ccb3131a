#include "plugins/node/status.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

using nlohmann::ordered_json;

constexpr int kWriteMs = 2000;

// In microseconds, of the last calls; 0 where there were none.
std::int64_t Percentile(std::vector<std::int64_t> figures, int percent) {
  if (figures.empty()) return 0;
  const std::size_t place = (figures.size() - 1) * static_cast<std::size_t>(percent) / 100;
  std::nth_element(figures.begin(), figures.begin() + static_cast<std::ptrdiff_t>(place),
                   figures.end());
  return figures[place];
}

void Send(int to, std::string_view text) {
  while (!text.empty()) {
    pollfd ready = {to, POLLOUT, 0};
    if (poll(&ready, 1, kWriteMs) <= 0) return;
    const ssize_t sent = send(to, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace

std::string FormatStatus(const StatusFacts& facts) {
  ordered_json out = {{"registered", facts.registered},
                      {"registrations", facts.registrations},
                      {"watchers", facts.watchers},
                      {"pods", facts.pods},
                      {"lists", facts.lists},
                      {"apiFault", facts.api_fault},
                      {"allocate",
                       {{"calls", facts.calls.allocate_us.size()},
                        {"p50Us", Percentile(facts.calls.allocate_us, 50)},
                        {"p99Us", Percentile(facts.calls.allocate_us, 99)}}},
                      {"preStart",
                       {{"calls", facts.calls.pre_start_us.size()},
                        {"p50Us", Percentile(facts.calls.pre_start_us, 50)},
                        {"p99Us", Percentile(facts.calls.pre_start_us, 99)},
                        {"refused", facts.calls.refused}}},
                      {"gpus", ordered_json::array()},
                      {"holdings", ordered_json::array()},
                      {"problems", ordered_json::array()}};
  for (const Problem& problem : facts.problems) {
    out["problems"].push_back(
        {{"kind", problem.kind}, {"subject", problem.subject}, {"text", problem.text}});
  }
  for (const Gpu& gpu : facts.gpus.devices) {
    out["gpus"].push_back({{"uuid", gpu.hardware.uuid},
                           {"model", gpu.hardware.model},
                           {"memoryMiB", gpu.hardware.memory_mib},
                           {"reserved", gpu.reserved},
                           {"unhealthy", gpu.unhealthy}});
  }
  for (const auto& [nonce, holding] : facts.holdings) {
    const Holder& holder = holding.grant.holder;
    ordered_json one = {{"nonce", nonce},
                        {"podUID", holder.pod_uid},
                        {"pod", holder.pod_namespace + "/" + holder.pod_name},
                        {"container", holder.container},
                        {"bound", holding.bound},
                        {"orphan", facts.orphans.count(nonce) > 0},
                        {"slices", ordered_json::array()}};
    for (const GrantedSlice& slice : holding.grant.slices) {
      one["slices"].push_back({{"gpu", slice.gpu},
                               {"mode", ModeWord(slice.mode)},
                               {"compute", slice.compute},
                               {"memoryMiB", slice.memory_mib}});
    }
    out["holdings"].push_back(std::move(one));
  }
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::string> StatusText(const std::string& json) {
  const auto from = ordered_json::parse(json, nullptr, false);
  try {
    std::string text = std::string(from.at("registered") ? "registered" : "not registered") +
                       " with the kubelet; " + std::to_string(from.at("pods").get<int>()) +
                       " pods on this node\n";
    const auto fault = from.at("apiFault").get<std::string>();
    if (!fault.empty()) text += "API server: " + fault + "\n";
    for (const auto& problem : from.at("problems")) {
      text += "problem: " + problem.at("subject").get<std::string>() + ": " +
              problem.at("text").get<std::string>() + "\n";
    }
    for (std::size_t i = 0; i < from.at("gpus").size(); ++i) {
      const auto& gpu = from["gpus"][i];
      const auto unhealthy = gpu.at("unhealthy").get<std::string>();
      text += "GPU " + std::to_string(i) + "  " + gpu.at("uuid").get<std::string>() + "  " +
              gpu.at("model").get<std::string>() + "  " +
              std::to_string(gpu.at("memoryMiB").get<int>()) + " MiB  " +
              (unhealthy.empty() ? "healthy" : "unhealthy: " + unhealthy) +
              (gpu.at("reserved") ? "  reserved for pods of other schedulers" : "") + "\n";
      for (const auto& holding : from.at("holdings")) {
        for (const auto& slice : holding.at("slices")) {
          if (slice.at("gpu") != i) continue;
          text += "  " + holding.at("pod").get<std::string>() + "  " +
                  holding.at("container").get<std::string>() + "  " +
                  slice.at("mode").get<std::string>() + "  compute " +
                  std::to_string(slice.at("compute").get<int>()) + "  " +
                  std::to_string(slice.at("memoryMiB").get<int>()) + " MiB" +
                  (holding.at("bound") ? "" : "  (not bound)") +
                  (holding.at("orphan") ? "  (outlived its pod)" : "") + "\n";
        }
      }
    }
    return text;
  } catch (const ordered_json::exception& error) {
    return absl::DataLossError(std::string("the status is not as expected, is tephra-node of another version? ") + error.what());
  }
}

absl::StatusOr<std::unique_ptr<StatusServer>> StatusServer::Start(
    const std::string& path, std::function<std::string()> say) {
  TEPHRA_ASSIGN_OR_RETURN(std::unique_ptr<Socket> socket, Socket::Listen(path));
  return std::unique_ptr<StatusServer>(new StatusServer(std::move(socket), std::move(say)));
}

StatusServer::StatusServer(std::unique_ptr<Socket> socket, std::function<std::string()> say)
    : socket_(std::move(socket)), thread_([socket = socket_.get(), say = std::move(say)] {
        while (true) {
          const Descriptor peer = socket->Accept();
          if (!peer.valid()) return;
          Send(peer.get(), say());
        }
      }) {}

StatusServer::~StatusServer() {
  socket_->Close();
  thread_.join();
}

absl::StatusOr<std::string> ReadStatus(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(path + ": the path is too long for a socket");
  }
  path.copy(address.sun_path, path.size());
  const Descriptor peer(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(peer.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return absl::UnavailableError(path + ": tephra-node does not answer, is it running? " + std::strerror(errno));
  }
  std::string text;
  char part[16384];
  ssize_t got = 0;
  while ((got = read(peer.get(), part, sizeof part)) > 0) {
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace tephra::node
