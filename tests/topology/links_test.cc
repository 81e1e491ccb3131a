#include "topology/links.h"

#include <string>

#include <catch2/catch.hpp>

#include "tests/support/gpu_machines.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

NodeLinks Read(std::string_view text, std::string_view model = "") {
  const absl::StatusOr<NodeLinks> links = ParseLinks(text, model);
  INFO(links.status().message());
  REQUIRE(links.ok());
  return *links;
}

std::string Refusal(std::string_view text) {
  const absl::StatusOr<NodeLinks> links = ParseLinks(text, "");
  REQUIRE_FALSE(links.ok());
  return std::string(links.status().message());
}

TEST_CASE("Links: a nearer path is a faster one, and any NVLink beats them all") {
  Link last{};
  for (const LinkType type :
       {LinkType::kSys, LinkType::kNode, LinkType::kPhb, LinkType::kPxb, LinkType::kPix}) {
    CHECK(last < PcieLink(type));
    last = PcieLink(type);
  }
  CHECK(last < NvLink(1, "P100"));
  CHECK(NvLink(1, "V100") < NvLink(2, "V100"));
}

TEST_CASE("Links: an NVLink is as fast as its generation") {
  CHECK(NvLink(18, "NVIDIA H100 80GB HBM3").mb_per_s == 370800);
  CHECK(NvLink(12, "NVIDIA A100-SXM4-40GB").mb_per_s == 240000);
  CHECK(NvLink(18, "NVIDIA GB200").mb_per_s == 721800);
  CHECK(NvLink(4, "NVIDIA RTX A6000").mb_per_s == 48000);
  CHECK(NvLink(2, "V100M32").mb_per_s == 40000);
  CHECK(NvLink(2, "").mb_per_s == 40000);
}

TEST_CASE("Links: the DGX-1 is the hybrid cube mesh") {
  const NodeLinks links = Read(kDgx1Topo, "V100");
  REQUIRE(links.gpus() == 8);
  for (int a = 0; a < 8; ++a) {
    int nvlinks = 0;
    for (int b = 0; b < 8; ++b) {
      if (a != b) nvlinks += links.at(a, b).nvlinks;
    }
    CHECK(nvlinks == 6);
    CHECK(links.numa(a) == NodeLinks::kNoNuma);
  }
  CHECK(LinkName(links.at(0, 3)) == "NV2");
  CHECK(LinkName(links.at(3, 7)) == "NV1");
  CHECK(LinkName(links.at(7, 0)) == "SYS");
}

TEST_CASE("Links: NUMA nodes are read where the matrix names them") {
  CHECK(Read(kDgxA100Topo).numa(0) == 3);
  CHECK(Read(kDgxA100Topo).numa(7) == 5);
  CHECK(Read(kHgxH100Topo).numa(3) == 0);
  CHECK(Read(kHgxH100Topo).numa(4) == 1);
  CHECK(LinkName(Read(kPcieBoxTopo).at(2, 0)) == "PHB");
  CHECK(LinkName(Read(kPcieBoxTopo).at(4, 6)) == "NODE");
}

TEST_CASE("Links: the prompt, the escapes of the header and blank cells do no harm") {
  const NodeLinks links = Read(
      "$ nvidia-smi topo -m\r\n"
      "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\r\n"
      "GPU0\t X \tPIX\tPH0-115\t0-3\t\tN/A\r\n"
      "GPU1\tPIX\t X \tPHB\t0-115\t2\t\tN/A\r\n"
      "NIC0\tPHB\tPHB\t X \t\t\t\r\n");
  CHECK(LinkName(links.at(0, 1)) == "PIX");
  CHECK(links.numa(0) == NodeLinks::kNoNuma);
  CHECK(links.numa(1) == 2);
}

TEST_CASE("Links: of two rows that differ the slower link counts") {
  const NodeLinks links = Read("GPU0 GPU1\nGPU0 X NV18\nGPU1 NV16 X\n", "H100");
  CHECK(LinkName(links.at(0, 1)) == "NV16");
  CHECK(LinkName(links.at(1, 0)) == "NV16");
}

TEST_CASE("Links: one GPU alone, and the old name of SYS, are read") {
  CHECK(Read("GPU0 CPU Affinity NUMA Affinity\nGPU0 X 0-7 0\n").gpus() == 1);
  CHECK(LinkName(Read("GPU0 GPU1\nGPU0 X SOC\nGPU1 SOC X").at(0, 1)) == "SYS");
}

TEST_CASE("Links: a refusal names line, column and value") {
  CHECK(Refusal("") == "no line has the header GPU0 GPU1 ...");
  CHECK(Refusal("GPU0 X NV1\nGPU1 NV1 X\n") == "no line has the header GPU0 GPU1 ...");
  CHECK(Refusal("GPU0 GPU1\nGPU0 X NV0\n") ==
        "line 2, column GPU1: \"NV0\", expected NV1 and so on, PIX, PXB, PHB, NODE or SYS");
  CHECK(Refusal("\nGPU0 GPU1\nGPU0 PIX PIX\n") == "line 3, column GPU0: \"PIX\", expected X");
  CHECK(Refusal("GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX\n") ==
        "line 3, column GPU1: \"\", expected a link");
  CHECK(Refusal("GPU0 GPU2\n") ==
        "line 1, column 2: \"GPU2\", expected GPUs in order from GPU0 on");
  CHECK(Refusal("GPU0 GPU1\nGPU0 X PIX\nLegend:\n") ==
        "line 3, column 1: \"Legend:\", expected a device of the header");
  CHECK(Refusal("GPU0 GPU1\nGPU0 X PIX\n") ==
        "line 2, column GPU1: \"\", expected a row of this GPU");
  CHECK(Refusal("GPU0 GPU1\nGPU0 X PIX\nGPU0 X PIX\n") ==
        "line 3, column 1: \"GPU0\", expected one row of each GPU");
  CHECK(Refusal("GPU0 CPU Affinity\nGPU0 X 0-7 0\n") ==
        "line 2, column after the last: \"0\", expected no more cells");
  CHECK(Refusal("GPU0 NUMA Affinity\nGPU0 X zero\n") ==
        "line 2, column NUMA Affinity: \"zero\", expected NUMA nodes or N/A");
  CHECK(Refusal("GPU0 CPU Load\n") == "line 1, column 2: \"CPU\", expected no such column");
  std::string wide = "GPU0";
  for (int gpu = 1; gpu < 17; ++gpu) wide += " GPU" + std::to_string(gpu);
  CHECK(Refusal(wide) == "line 1, column GPU16: \"GPU16\", expected at most 16 GPUs");
}

}  // namespace
}  // namespace tephra
