"""The public data sets that claims compare with: where each comes from, under which licence, and how it is verified.

Each file has the SHA-256 of the result in the data folder. Where the public home serves this file as it is, that is the hash
of the original too. Otherwise the original is converted, and only the result is verified.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class File:
    path: str  # in the data folder
    size: int  # of the result, in bytes; of an archive: of what it holds
    sha256: str  # of the result; of an archive: of its names and contents
    url: str = ""  # the original; empty: it is made from other files, or has no public home
    convert: str = "as-is"  # the function of convert.py that makes the result of the original
    most: int = 0  # bytes that the original may have; 0: the size of the result


@dataclasses.dataclass(frozen=True)
class Set:
    name: str
    what: str
    source: str  # the page that a user can read about it
    licence: str
    files: tuple
    public: bool = True  # False: no public home has it in this form, so it comes from --from DIR alone


def _github(repository, commit, path):
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path.replace('%', '%25')}"


_OPENB = ("alibaba/clusterdata", {
    "openb_node_list_gpu_node": ("50a91c7c74abe3b658188dc78ac1dd302970d40c", 42353,
                                 "2beca64b4d3dfa342036a34b56a495c6cef9225db836c81f541282cb1df320b5"),
    "openb_pod_list_cpu250": ("0c9677bb156ded9c63ca40d9aa54cd31d3e75061", 663708,
                              "134c21ff96d57533df8a37b67632972884fec9396e77cd0898ddc370cc8e607d"),
    "openb_pod_list_default": ("50a91c7c74abe3b658188dc78ac1dd302970d40c", 575468,
                               "1ee7ed79c27a3b0861cda8ddba86a004c6aba904caafa329a76ae93ca63834a8"),
    "openb_pod_list_gpushare60": ("50a91c7c74abe3b658188dc78ac1dd302970d40c", 566361,
                                  "d31809628128a1f24491086eda4af3e23882b9213d3ef57a56ee2d1af69492fe"),
    "openb_pod_list_gpuspec20": ("50a91c7c74abe3b658188dc78ac1dd302970d40c", 582612,
                                 "6b9b89ab8913c1c074e994e98f548cf1a872fc5f76f2442ca8cd514a478b00a9"),
    "openb_pod_list_multigpu30": ("50a91c7c74abe3b658188dc78ac1dd302970d40c", 277920,
                                  "a5e479c6444b1d83eef848159cf00c3cfa13441b2d1e2c113c391b91f1cc5b11"),
})  # fmt: skip
_MURI = "7264b1aee900029236051058242e6de6f93e166d"
_TIRESIAS = "b0ef8449aaa1ad1a61b922de3ab65fd87a3dcf2e"
_ALEA = "84e2f3dfc3925ee14e28df89fd9883600c879ec3"
_ALEA_NAME = "Example4-load_100%-urgent_10%-instance_0.swf"
_KAI = {
    "README.md": (2418, "7b48672916c01091e28a8c1a6c468c933dfaa918d6be0ba931177c6040e5ee2a"),
    "allocate.json.xz": (7692, "d8326b88012896a6ea9398859673a91d853a50c2266354bf75fc6d4cb7d82561"),
    "consolidation.json.xz": (3432, "af1477cd8007d180c7d805c9398dcf61eade9604049224430b0cf40afd1c6430"),
    "integration_tests_allocate.json.xz": (3580, "7a730069184a677bec92db4911d850c18041910e1d5c54475223dce5c4e69954"),
    "integration_tests_consolidation.json.xz": (1828, "9c535e54eb3fbc3787649cc10d0d9279bcab2e79af8b957779cc9f378d999e01"),
    "integration_tests_consolidation_and_reclaim.json.xz":
        (1216, "da6a25dde0cf6c06cf6f42ef677b955a14cbc9fafb8a316ce8be9e4448bbf937"),
    "integration_tests_deletion_tests.json.xz": (1176, "dc3d5ffc447b0c8bb9d7459b79cba963ed3099acada5ae46845887ce36b75b0e"),
    "integration_tests_numa.json.xz": (1312, "c6d5f33ccfe905b97f84565571d99ed6892afbbb1674123544a6ccceee8be739"),
    "integration_tests_preempt.json.xz": (2752, "a4f7b3dfda6ffc54f79b5784d4db2ddf777f538e3cc37bbff560f8ae00e4223c"),
    "integration_tests_reclaim.json.xz": (4016, "d0732704034a3731b7f29b0ad9aa8d51361ab149c00ea78ecdac1ae974ca8a5c"),
    "preempt.json.xz": (3784, "866008af8e44ab9d0b9933c062cb73bd0b9a35e3d722e6189f980c585cc16eaf"),
    "reclaim.json.xz": (6220, "7478698e6711c2d8c2a3ca535ce357d7df0aa97602a022b86b9911e6eccfcdb8"),
    "stalegangeviction.json.xz": (1332, "7dca883db1946036044b07f33ae63fcf2fa6e54b7159b4329707a26bdbe53154"),
}  # fmt: skip

SETS = (
    Set("openb", "1,213 nodes and five lists of pods of the FGD experiment, its published curves and arrival orders",
        "https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2023",
        "lists: none stated; curves: Apache-2.0 (hkust-adsl/kubernetes-scheduler-simulator)", (
            *(File(f"openb/{name}.csv", size, sha256, _github(_OPENB[0], commit, f"cluster-trace-gpu-v2023/csv/{name}.csv"))
              for name, (commit, size, sha256) in _OPENB[1].items()),
            File("openb/published_allocation_curves.csv", 121596,
                 "b90904892813d17748a39fd55cde75a0998052273bc781451bb953e6a75ed7b4",
                 _github("hkust-adsl/kubernetes-scheduler-simulator", "1853fc0e79d74778719c8137d7ca31dd61729e4f",
                         "experiments/analysis/expected_results/analysis_allo_discrete.csv"), "curves", 4_000_000),
            File("openb/arrival_orders.tar.xz", 1974634,
                 "4e4591ad1a7624d543e676cfb3bf17d0ef5640696dac92600e345ccdac99bd10", "", "arrival_orders"),
        )),
    Set("muri", "two traces of Philly's virtual clusters with 64 GPUs, and the published averages of seven policies",
        "https://github.com/Rivendile/Muri", "Apache-2.0", (
            File("muri/trace3.csv", 63755, "fc8d59783486122d9f522b430c1d5a59fbee119b41feb67a3f67e0751340ce93",
                 _github("Rivendile/Muri", _MURI, "simulator/trace-data/trace3.csv")),
            File("muri/trace4.csv", 167691, "69754a0fc95b75de47923eb755d81b4cd7f8df37d82f007f870881e12470f0d1",
                 _github("Rivendile/Muri", _MURI, "simulator/trace-data/trace4.csv")),
            File("muri/published.csv", 665, "85e351624ec9a0dd6a64c9701f95bc2ea1a5cfb8f4519f43a8242b6635faaa2f",
                 _github("Rivendile/Muri", "66626473223a943be65e21f5792e166c7f49d00b", "simulator/draw_fig9-10.py"),
                 "muri_published", 100_000),
        )),
    Set("swf", "KTH-SP2: 28,476 jobs on 100 processors, with the users' estimates",
        "https://www.cs.huji.ac.il/labs/parallel/workload/l_kth_sp2/", "free, with acknowledgement of the archive", (
            File("swf/KTH-SP2-1996-2.1-cln.swf", 2620495, "fba36494c4e4257f72182e8b629ebb0bcb054b3b82851ef957445bd627adcc87",
                 "https://www.cs.huji.ac.il/labs/parallel/workload/l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz", "gunzip"),
        )),
    Set("alea", "4,015 made jobs with GPUs, users and groups, and queues with CPU quotas",
        "https://github.com/aleasimulator/SWF_Workload_Generator", "none stated", tuple(
            File(f"alea/{_ALEA_NAME}{ending}", size, sha256,
                 _github("aleasimulator/SWF_Workload_Generator", _ALEA, f"generated_workloads/{_ALEA_NAME}{ending}"))
            for ending, size, sha256 in (
                ("", 316889, "e4f0394fd24954b94a4ab2f0717537102bf322358e7fe2a3d9ddd691d0658ba6"),
                (".groups", 168, "a3379200c6e9c1f090e43c30b47983aaa5c1e866aab3fcf9ffee6b32dfbc7625"),
                (".machines", 227, "e299491fba9b813b675c6b1c16a758fca455de4ec99715d38ec33a48b3018b2b"),
                (".queues", 168, "1f4be89d731d0ebf012ecbcb6f7812f6d465a8c2f8405ecef6683e0a7dd190bd"),
                (".users", 230, "6960e2ea8770bf0ba24c46102fe532cafc35a92af4073cd1560ba1daeb5c5ea8")))),  # fmt: skip
    Set("tiresias", "60 jobs and a cluster of 32 nodes with 4 GPUs each",
        "https://github.com/SymbioticLab/Tiresias", "Apache-2.0", (
            File("tiresias/60_job.csv", 1871, "17575949a6e570960db42bc5576739de9c334ed4c664859841c4f01ede38bd1b",
                 _github("SymbioticLab/Tiresias", _TIRESIAS, "simulator/60_job.csv")),
            File("tiresias/n32g4.csv", 83, "ca71313259ebdaad478afbe118b0dc92d5c1c59b2463f8500aa540dd92e77144",
                 _github("SymbioticLab/Tiresias", _TIRESIAS, "simulator/n32g4.csv")),
        )),
    Set("lingjun", "the switches above 847 hosts of a real cluster",
        "https://github.com/alibaba/alibaba-lingjun-dataset-2023", "Apache-2.0", (
            File("lingjun/topo.csv", 64002, "95b67f62c4ecb25fd1be816a96c5b10808c4604a83effd4a79d13461a05a3af6",
                 _github("alibaba/alibaba-lingjun-dataset-2023", "2ad3fd1e2fd16222cc018827fb84f3a3ff220bb9", "data/topo.csv")),
        )),
    Set("philly", "68,503 jobs of 11 virtual clusters, selected from Microsoft's Philly traces, and a reference run",
        "https://github.com/msr-fiddle/philly-traces", "CC-BY-4.0", (
            File("philly/README.md", 968, "13aba9b62cccf7c315f84356c1202f947b6644e04121d9f67d19253f1fdf4f3e"),
            File("philly/philly_oct_nov_11vc.csv", 1852035, "60d065a680ea5c5e156d0deeee61d195432427613a47601148658281594e27b4"),
            File("philly/reference.csv", 2869, "679c3601ef9a4a564492506376143a590cd8ecce7995d77da15cf42677eb009b"),
        ), public=False),
    Set("volcano", "cases of Volcano's own tests, as JSON",
        "https://github.com/volcano-sh/volcano", "Apache-2.0", (
            File("volcano-vectors.tar.xz", 18500, "bfcf5716ed6f915f4c8dd482f8071ec0a4c04d294edced87896551e8f514873b"),
        ), public=False),
    Set("kai", "206 cases of KAI-Scheduler's own tests, as JSON",
        "https://github.com/kai-scheduler/KAI-Scheduler/tree/d5bc503", "Apache-2.0", tuple(
            File(f"kai-vectors/{name}", size, sha256) for name, (size, sha256) in _KAI.items()), public=False),
)  # fmt: skip


def is_public(path):
    """Whether hack/data.sh can get this file or folder of the data folder from its public home."""
    return any(data.public and any(f.path == path or f.path.startswith(f"{path}/") for f in data.files) for data in SETS)
