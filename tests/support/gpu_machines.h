// Machines as `nvidia-smi topo -m` shows them: canonical link matrices.
#pragma once

#include <string_view>

namespace tephra {

struct GpuMachine {
  std::string_view name;
  std::string_view model;  // of its GPUs
  std::string_view topo;
};

// NVIDIA DGX-1 with V100: the hybrid cube mesh, six NVLinks a GPU (DGX-1 system architecture white
// paper, 2017). The driver of its time printed no NUMA nodes.
inline constexpr std::string_view kDgx1Topo =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	mlx5_0	mlx5_1	CPU Affinity
GPU0	 X 	NV1	NV1	NV2	NV2	SYS	SYS	SYS	PIX	SYS	0-19,40-59
GPU1	NV1	 X 	NV2	NV1	SYS	NV2	SYS	SYS	PIX	SYS	0-19,40-59
GPU2	NV1	NV2	 X 	NV2	SYS	SYS	NV1	SYS	PHB	SYS	0-19,40-59
GPU3	NV2	NV1	NV2	 X 	SYS	SYS	SYS	NV1	PHB	SYS	0-19,40-59
GPU4	NV2	SYS	SYS	SYS	 X 	NV1	NV1	NV2	SYS	PIX	20-39,60-79
GPU5	SYS	NV2	SYS	SYS	NV1	 X 	NV2	NV1	SYS	PIX	20-39,60-79
GPU6	SYS	SYS	NV1	SYS	NV1	NV2	 X 	NV2	SYS	PHB	20-39,60-79
GPU7	SYS	SYS	SYS	NV1	NV2	NV1	NV2	 X 	SYS	PHB	20-39,60-79
mlx5_0	PIX	PIX	PHB	PHB	SYS	SYS	SYS	SYS	 X 	SYS
mlx5_1	SYS	SYS	SYS	SYS	PIX	PIX	PHB	PHB	SYS	 X 

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
)";

// NVIDIA DGX A100: twelve NVLinks of every GPU into NVSwitches; eight NUMA nodes, four with GPUs.
inline constexpr std::string_view kDgxA100Topo =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	mlx5_0	mlx5_1	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	NV12	NV12	NV12	NV12	NV12	NV12	PXB	SYS	48-63,176-191	3
GPU1	NV12	 X 	NV12	NV12	NV12	NV12	NV12	NV12	PXB	SYS	48-63,176-191	3
GPU2	NV12	NV12	 X 	NV12	NV12	NV12	NV12	NV12	SYS	PXB	16-31,144-159	1
GPU3	NV12	NV12	NV12	 X 	NV12	NV12	NV12	NV12	SYS	PXB	16-31,144-159	1
GPU4	NV12	NV12	NV12	NV12	 X 	NV12	NV12	NV12	SYS	SYS	112-127,240-255	7
GPU5	NV12	NV12	NV12	NV12	NV12	 X 	NV12	NV12	SYS	SYS	112-127,240-255	7
GPU6	NV12	NV12	NV12	NV12	NV12	NV12	 X 	NV12	SYS	SYS	80-95,208-223	5
GPU7	NV12	NV12	NV12	NV12	NV12	NV12	NV12	 X 	SYS	SYS	80-95,208-223	5
mlx5_0	PXB	PXB	SYS	SYS	SYS	SYS	SYS	SYS	 X 	SYS
mlx5_1	SYS	SYS	PXB	PXB	SYS	SYS	SYS	SYS	SYS	 X 

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
)";

// HGX H100: eighteen NVLinks of every GPU into NVSwitches.
inline constexpr std::string_view kHgxH100Topo =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	NV18	NV18	NV18	NV18	NV18	NV18	NV18	0-55,112-167	0		N/A
GPU1	NV18	 X 	NV18	NV18	NV18	NV18	NV18	NV18	0-55,112-167	0		N/A
GPU2	NV18	NV18	 X 	NV18	NV18	NV18	NV18	NV18	0-55,112-167	0		N/A
GPU3	NV18	NV18	NV18	 X 	NV18	NV18	NV18	NV18	0-55,112-167	0		N/A
GPU4	NV18	NV18	NV18	NV18	 X 	NV18	NV18	NV18	56-111,168-223	1		N/A
GPU5	NV18	NV18	NV18	NV18	NV18	 X 	NV18	NV18	56-111,168-223	1		N/A
GPU6	NV18	NV18	NV18	NV18	NV18	NV18	 X 	NV18	56-111,168-223	1		N/A
GPU7	NV18	NV18	NV18	NV18	NV18	NV18	NV18	 X 	56-111,168-223	1		N/A

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
)";

// Two sockets, GPUs by twos under PCIe switches; the host bridges of one socket are one, those of
// the other are two.
inline constexpr std::string_view kPcieBoxTopo =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	PIX	PHB	PHB	SYS	SYS	SYS	SYS	0-31	0		N/A
GPU1	PIX	 X 	PHB	PHB	SYS	SYS	SYS	SYS	0-31	0		N/A
GPU2	PHB	PHB	 X 	PIX	SYS	SYS	SYS	SYS	0-31	0		N/A
GPU3	PHB	PHB	PIX	 X 	SYS	SYS	SYS	SYS	0-31	0		N/A
GPU4	SYS	SYS	SYS	SYS	 X 	PIX	NODE	NODE	32-63	1		N/A
GPU5	SYS	SYS	SYS	SYS	PIX	 X 	NODE	NODE	32-63	1		N/A
GPU6	SYS	SYS	SYS	SYS	NODE	NODE	 X 	PIX	32-63	1		N/A
GPU7	SYS	SYS	SYS	SYS	NODE	NODE	PIX	 X 	32-63	1		N/A

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
)";

inline constexpr GpuMachine kGpuMachines[] = {
    {"DGX-1", "Tesla V100-SXM2-16GB", kDgx1Topo},
    {"DGX A100", "NVIDIA A100-SXM4-40GB", kDgxA100Topo},
    {"HGX H100", "NVIDIA H100 80GB HBM3", kHgxH100Topo},
    {"PCIe box", "NVIDIA L40S", kPcieBoxTopo},
};

}  // namespace tephra
