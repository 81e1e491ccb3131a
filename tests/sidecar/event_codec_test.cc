#include "sidecar/wire/event_codec.h"

#include <set>

#include <catch2/catch.hpp>

#include "sidecar/wire/job_codec.h"
#include "tephra/v1/event.pb.h"
#include "tephra/v1/journal.pb.h"
#include "tephra/v1/plan.pb.h"
#include "tests/sidecar/any_event.h"

namespace tephra {
namespace {

constexpr std::uint64_t kSeed = 20240601;

std::string Bytes(const Event& event) {
  v1::Event wire;
  REQUIRE(EncodeEvent(event, &wire).ok());
  return wire.SerializeAsString();
}

// What decoding says of the message that `spoil` has changed.
template <class Spoil>
std::string Complaint(const Event& event, Spoil spoil) {
  v1::Event wire;
  REQUIRE(EncodeEvent(event, &wire).ok());
  spoil(wire);
  const absl::StatusOr<Event> back = DecodeEvent(wire);
  CHECK(absl::IsInvalidArgument(back.status()));
  return std::string(back.status().message());
}

JobUpserted AJobOfOneRole() {
  JobUpserted fact;
  fact.job.uid = "j";
  fact.job.gang.roles.emplace_back();
  fact.job.gang.roles[0].pod.containers.emplace_back();
  return fact;
}

TEST_CASE("Event codec: every event comes back the same, and equal events are equal bytes") {
  Dice dice(kSeed);
  INFO("seed " << kSeed);
  for (int i = 0; i < 300 * kEventVariants; ++i) {
    INFO("event " << i);
    const Event event = AnyEvent(dice, i % kEventVariants);
    REQUIRE(event.index() == static_cast<std::size_t>(i % kEventVariants));
    const std::string bytes = Bytes(event);
    v1::Event wire;
    REQUIRE(wire.ParseFromString(bytes));
    const absl::StatusOr<Event> back = DecodeEvent(wire);
    REQUIRE(back.status() == absl::OkStatus());
    REQUIRE(Same(event, *back));
    REQUIRE(Bytes(*back) == bytes);
  }
}

TEST_CASE("Event codec: a default event of each variant comes back the same") {
  for (const Event& event : std::vector<Event>{
           KindsDeclared{}, NodeUpserted{}, NodeRemoved{}, QueueUpserted{}, QueueRemoved{},
           JobUpserted{}, JobRemoved{}, TaskUpserted{}, TaskRemoved{}, PlacementRefused{},
           ConfigChanged{}, MaskUpserted{}, MaskRemoved{}, PlanStale{}, BindFailed{}}) {
    INFO("variant " << event.index());
    v1::Event wire;
    REQUIRE(wire.ParseFromString(Bytes(event)));
    const absl::StatusOr<Event> back = DecodeEvent(wire);
    REQUIRE(back.status() == absl::OkStatus());
    CHECK(Same(event, *back));
  }
}

TEST_CASE("Event codec: roles with equal pods share a template on the wire") {
  JobUpserted fact = AJobOfOneRole();
  fact.job.gang.roles.resize(5000, fact.job.gang.roles[0]);
  for (std::size_t r = 0; r < fact.job.gang.roles.size(); ++r) {
    RoleSpec& role = fact.job.gang.roles[r];
    role.name = "r" + std::to_string(r);
    role.pod.containers[0].name = std::string(2000, r == 2500 ? 'y' : 'x');
  }
  v1::Event wire;
  REQUIRE(EncodeEvent(fact, &wire).ok());
  CHECK(wire.ByteSizeLong() < 100000);
  CHECK(wire.job_upserted().job().gang().templates_size() == 2);
  const absl::StatusOr<Event> back = DecodeEvent(wire);
  REQUIRE(back.status() == absl::OkStatus());
  CHECK(Same(fact, *back));
}

TEST_CASE("Event codec: shared templates are bounded before they are copied") {
  const std::string why = Complaint(AJobOfOneRole(), [](v1::Event& e) {
    v1::Gang* gang = e.mutable_job_upserted()->mutable_job()->mutable_gang();
    gang->add_templates()->add_containers()->set_name(std::string(1000, 'x'));
    for (int i = 0; i < 70000; ++i) gang->add_roles()->set_template_number(1);
  });
  CHECK(why.find("templates: 70") != std::string::npos);
  CHECK(why.find("at most 67108864 bytes") != std::string::npos);
  CHECK(Complaint(AJobOfOneRole(), [](v1::Event& e) {
          e.mutable_job_upserted()->mutable_job()->mutable_gang()->mutable_roles(0)->set_template_number(2);
        }) == "job_upserted.job.gang.roles[0].template_number: 2, expected 0 to 0, the number of templates");
}

TEST_CASE("Event codec: no fact, or one of a later version, is refused") {
  v1::Event wire;
  CHECK(DecodeEvent(wire).status().message() ==
        "event: fact: missing, or one that this version does not know");
  REQUIRE(wire.ParseFromString(std::string("\xa2\x06\x00", 3)));  // field 100, empty
  CHECK_FALSE(DecodeEvent(wire).ok());
}

TEST_CASE("Event codec: a missing part is named") {
  for (const auto& [make, expected] : std::vector<std::pair<void (*)(v1::Event&), std::string>>{
           {[](v1::Event& e) { e.mutable_node_upserted(); }, "node_upserted.node: missing"},
           {[](v1::Event& e) { e.mutable_queue_upserted(); }, "queue_upserted.queue: missing"},
           {[](v1::Event& e) { e.mutable_job_upserted(); }, "job_upserted.job: missing"},
           {[](v1::Event& e) { e.mutable_job_upserted()->mutable_job(); },
            "job_upserted.job.gang: missing"},
           {[](v1::Event& e) {
              e.mutable_job_upserted()->mutable_job()->mutable_gang()->add_roles();
            },
            "job_upserted.job.gang.roles[0].pod: missing"},
           {[](v1::Event& e) { e.mutable_task_upserted(); }, "task_upserted.task: missing"},
           {[](v1::Event& e) { e.mutable_config_changed(); }, "config_changed.config: missing"},
       }) {
    v1::Event wire;
    make(wire);
    CHECK(DecodeEvent(wire).status() == absl::InvalidArgumentError(expected));
  }
}

TEST_CASE("Event codec: an enum value that is unspecified or unknown is named with its field") {
  TaskUpserted task;
  task.task.slices.emplace_back();
  CHECK(Complaint(task, [](v1::Event& e) {
          e.mutable_task_upserted()->mutable_task()->clear_phase();
        }) == "task_upserted.task.phase: 0, expected 1 to 8");
  CHECK(Complaint(task, [](v1::Event& e) {
          e.mutable_task_upserted()->mutable_task()->set_phase(static_cast<v1::TaskPhase>(9));
        }) == "task_upserted.task.phase: 9, expected 1 to 8");
  CHECK(Complaint(task, [](v1::Event& e) {
          e.mutable_task_upserted()->mutable_task()->mutable_slices(0)->set_mode(
              static_cast<v1::SliceMode>(-1));
        }) == "task_upserted.task.slices[0].mode: -1, expected 1 to 5");
  NodeUpserted node;
  node.node.taints.emplace_back();
  CHECK(Complaint(node, [](v1::Event& e) {
          e.mutable_node_upserted()->mutable_node()->mutable_taints(0)->clear_effect();
        }) == "node_upserted.node.taints[0].effect: 0, expected 1 to 3");
}

TEST_CASE("Event codec: a link without a speed has the speed of its type and model") {
  v1::Event wire;
  v1::Node* node = wire.mutable_node_upserted()->mutable_node();
  node->set_name("n");
  for (int i = 0; i < 3; ++i) {
    node->add_devices()->set_model("H100");
    node->mutable_gpu_links()->add_numa_nodes(-1);
  }
  v1::GpuLink* fast = node->mutable_gpu_links()->add_pairs();
  fast->set_type(v1::GPU_LINK_TYPE_NVLINK);
  fast->set_nvlinks(18);
  node->mutable_gpu_links()->add_pairs()->set_type(v1::GPU_LINK_TYPE_PIX);
  v1::GpuLink* given = node->mutable_gpu_links()->add_pairs();
  given->set_type(v1::GPU_LINK_TYPE_SYS);
  given->set_mb_per_s(1234);
  const auto event = DecodeEvent(wire);
  REQUIRE(event.ok());
  const NodeLinks& links = std::get<NodeUpserted>(*event).node.gpu_links;
  CHECK(links.at(1, 0) == NvLink(18, "H100"));
  CHECK(links.at(2, 0) == PcieLink(LinkType::kPix));
  CHECK(links.at(2, 1) == Link{1234, LinkType::kSys, 0});
}

TEST_CASE("Event codec: a number that the domain has no room for is named with its field") {
  TaskUpserted task;
  task.task.slices.resize(2);
  CHECK(Complaint(task, [](v1::Event& e) {
          e.mutable_task_upserted()->mutable_task()->mutable_slices(1)->set_device(65536);
        }) == "task_upserted.task.slices[1].device: 65536, expected at most 65535");

  NodeUpserted linked;
  linked.node.gpu_links = NodeLinks(3);
  const auto links_of = [](v1::Event& e) {
    return e.mutable_node_upserted()->mutable_node()->mutable_gpu_links();
  };
  CHECK(Complaint(linked, [&](v1::Event& e) { links_of(e)->mutable_pairs()->RemoveLast(); }) ==
        "node_upserted.node.gpu_links.pairs: 2, expected one for each pair of numa_nodes");
  CHECK(Complaint(linked, [&](v1::Event& e) { links_of(e)->mutable_pairs(1)->set_type({}); }) ==
        "node_upserted.node.gpu_links.pairs[1].type: 0, expected 1 to 6");
  CHECK(Complaint(linked, [&](v1::Event& e) { links_of(e)->set_numa_nodes(2, 1 << 15); }) ==
        "node_upserted.node.gpu_links.numa_nodes[2]: 32768, expected at most 32767");
  CHECK(Complaint(linked, [&](v1::Event& e) {
          for (int i = 0; i < 14; ++i) links_of(e)->add_numa_nodes(0);
        }) == "node_upserted.node.gpu_links.numa_nodes: 17, expected at most 16");
  CHECK(Complaint(linked, [&](v1::Event& e) {
          links_of(e)->mutable_pairs(2)->set_type(v1::GPU_LINK_TYPE_NVLINK);
          links_of(e)->mutable_pairs(2)->set_mb_per_s(0);
        }) == "node_upserted.node.gpu_links.pairs[2].nvlinks: 0, expected at least 1");

  const auto with_kind = [](std::uint32_t first, std::uint32_t second) {
    return Complaint(AJobOfOneRole(), [=](v1::Event& e) {
      auto* container = e.mutable_job_upserted()
                            ->mutable_job()
                            ->mutable_gang()
                            ->mutable_roles(0)
                            ->mutable_pod()
                            ->mutable_containers(0);
      container->add_requests()->set_kind(first);
      container->add_requests()->set_kind(second);
    });
  };
  const std::string at = "job_upserted.job.gang.roles[0].pod.containers[0].requests";
  CHECK(with_kind(16, 1) == at + "[0].kind: 16, expected below 16");
  CHECK(with_kind(1, 1) == at + "[1].kind: 1, expected each kind at most once");

  CHECK(Complaint(QueueUpserted{}, [](v1::Event& e) {
          e.mutable_queue_upserted()->mutable_queue()->add_limited_kinds(99);
        }) == "queue_upserted.queue.limited_kinds[0]: 99, expected below 16");
}

TEST_CASE("Event codec: a label that is given twice is named") {
  CHECK(Complaint(NodeUpserted{}, [](v1::Event& e) {
          for (int i = 0; i < 2; ++i) {
            e.mutable_node_upserted()->mutable_node()->add_labels()->set_key("zone");
          }
        }) == "node_upserted.node.labels[1].key: \"zone\" is given twice");
}

TEST_CASE("Event codec: text that is not UTF-8 is refused before it is written") {
  for (const char* bad :
       {"\xff", "a\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"}) {
    JobUpserted fact = AJobOfOneRole();
    fact.job.gang.roles[0].pod.containers[0].name = bad;
    v1::Event wire;
    const std::string size = std::to_string(std::string(bad).size());
    CHECK(EncodeEvent(fact, &wire) ==
          absl::InvalidArgumentError("job_upserted.job.gang.roles[0].pod.containers[0].name: " +
                                     size + " bytes, expected UTF-8"));
  }
}

TEST_CASE("Event codec: a config without backfill has the defaults of backfill") {
  v1::Event wire;
  wire.mutable_config_changed()->mutable_config()->set_ties(v1::TIES_FIRST_NAME);
  absl::StatusOr<Event> back = DecodeEvent(wire);
  REQUIRE(back.ok());
  CHECK(std::get<ConfigChanged>(*back).config.reservations == ReservationSettings{});
  wire.mutable_config_changed()->mutable_config()->mutable_backfill();
  back = DecodeEvent(wire);
  REQUIRE(back.ok());
  CHECK(std::get<ConfigChanged>(*back).config.reservations == ReservationSettings{});
}

TEST_CASE("Event codec: a number that a config lacks is the engine's default") {
  v1::Event wire;
  wire.mutable_config_changed()->mutable_config()->set_ties(v1::TIES_FIRST_NAME);
  const absl::StatusOr<Event> event = DecodeEvent(wire);
  REQUIRE(event.ok());
  const EngineConfig& config = std::get<ConfigChanged>(*event).config;
  CHECK(config.search_budget == EngineConfig{}.search_budget);
  CHECK(config.assume_timeout_ms == EngineConfig{}.assume_timeout_ms);
  CHECK(config.full_verify_every == EngineConfig{}.full_verify_every);
}

void CheckNoMaps(const google::protobuf::Descriptor* message, std::set<std::string>& seen) {
  if (!seen.insert(message->full_name()).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    INFO(message->field(i)->full_name());
    CHECK_FALSE(message->field(i)->is_map());
    if (message->field(i)->message_type() != nullptr) {
      CheckNoMaps(message->field(i)->message_type(), seen);
    }
  }
}

TEST_CASE("Wire: no message has a map, whose order in bytes is not defined") {
  std::set<std::string> seen;
  CheckNoMaps(v1::JournalRecord::descriptor(), seen);
  CheckNoMaps(v1::Plan::descriptor(), seen);
  CHECK(seen.size() > 30);
}

}  // namespace
}  // namespace tephra
