// SPDX-License-Identifier: Apache-2.0
// The inventories are those of go-nvml's mock servers. The expected labels are those of NVIDIA's GPU feature
// discovery 0.20.0 for them, without nvidia.com/gfd.timestamp.
#include "daemon/devices/labels.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

struct Model {
    const char* name;
    unsigned memory_mib;
    const char* compute_capability;
};
constexpr Model a100{"Mock NVIDIA A100-SXM4-40GB", 40960, "8.0"};
constexpr Model h100{"NVIDIA H100 80GB HBM3", 81920, "9.0"};
constexpr Model h200{"NVIDIA H200 141GB HBM3e", 144384, "9.0"};
constexpr Model b200{"NVIDIA B200 180GB HBM3e", 184320, "10.0"};
const Instance a100_1g{"", "1g.5gb", 0, 0, 0, {4864, 14, 1, 1, 1, 0, 0, 0, 0}};
const Instance h100_3g{"", "3g.40gb", 0, 0, 0, {40960, 48, 3, 3, 3, 2, 0, 0, 0}};
const Instance h100_1g{"", "1g.10gb+me", 0, 0, 0, {10240, 16, 1, 1, 1, 1, 0, 1, 1}};

Gpu gpu(const Model& model) {
    Gpu made;
    made.model = model.name;
    made.memory_mib = model.memory_mib;
    made.compute_capability = model.compute_capability;
    made.pci_class = "0x030200";
    made.mig_capable = true;
    return made;
}

Gpu split(const Model& model, std::vector<Instance> instances) {
    Gpu made = gpu(model);
    made.split = true;
    made.instances = std::move(instances);
    return made;
}

Offer offer(MigStrategy mig, std::vector<Gpu> gpus, HostFacts host = {"550.54.15", 12040, "x"}) {
    return {"", "site.example/gpu", mig, "", std::move(gpus), {}, std::move(host)};
}

std::vector<Gpu> eight(const Model& model) {
    return {8, gpu(model)};
}

/// Returns the labels as lines, without those of versions.
std::string lines(const Offer& offer) {
    Labels labels = labels_of(offer);
    std::erase_if(labels, [](const auto& one) { return one.first.rfind("nvidia.com/cuda.", 0) == 0; });
    return to_lines(labels);
}

std::string value(const Offer& offer, const char* name) {
    const Labels labels = labels_of(offer);
    const auto found = labels.find(std::string("nvidia.com/") + name);
    return found == labels.end() ? "no label" : found->second;
}

TEST(Labels, DescribeWholeGpus) {
    EXPECT_EQ(
        to_lines(labels_of(offer(MigStrategy::none, eight(a100), {"550.54.15", 12040, "DGXA100 920-23687"}))),
        R"(nvidia.com/cuda.driver-version.full=550.54.15
nvidia.com/cuda.driver-version.major=550
nvidia.com/cuda.driver-version.minor=54
nvidia.com/cuda.driver-version.revision=15
nvidia.com/cuda.driver.major=550
nvidia.com/cuda.driver.minor=54
nvidia.com/cuda.driver.rev=15
nvidia.com/cuda.runtime-version.full=12.4
nvidia.com/cuda.runtime-version.major=12
nvidia.com/cuda.runtime-version.minor=4
nvidia.com/cuda.runtime.major=12
nvidia.com/cuda.runtime.minor=4
nvidia.com/gpu.compute.major=8
nvidia.com/gpu.compute.minor=0
nvidia.com/gpu.count=8
nvidia.com/gpu.family=ampere
nvidia.com/gpu.machine=DGXA100-920-23687
nvidia.com/gpu.memory=40960
nvidia.com/gpu.mode=compute
nvidia.com/gpu.product=Mock-NVIDIA-A100-SXM4-40GB
nvidia.com/gpu.replicas=1
nvidia.com/gpu.sharing-strategy=none
nvidia.com/mig.capable=true
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)");
}

TEST(Labels, DescribeEachModel) {
    struct Row {
        const Model& model;
        const char* product;
        const char* memory;
        const char* family;
        const char* major;
    };
    for (const Row& row : {Row{h100, "NVIDIA-H100-80GB-HBM3", "81920", "hopper", "9"},
                           Row{h200, "NVIDIA-H200-141GB-HBM3e", "144384", "hopper", "9"},
                           Row{b200, "NVIDIA-B200-180GB-HBM3e", "184320", "blackwell", "10"}}) {
        const Offer made = offer(MigStrategy::none, eight(row.model), {"560.28.03", 12060, "x"});
        EXPECT_EQ(value(made, "gpu.product"), row.product);
        EXPECT_EQ(value(made, "gpu.memory"), row.memory);
        EXPECT_EQ(value(made, "gpu.family"), row.family);
        EXPECT_EQ(value(made, "gpu.compute.major"), row.major);
        EXPECT_EQ(value(made, "gpu.compute.minor"), "0");
        EXPECT_EQ(value(made, "cuda.driver-version.revision"), "03");
        EXPECT_EQ(value(made, "cuda.runtime-version.full"), "12.6");
    }
}

TEST(Labels, FamilyFollowsTheComputeCapability) {
    for (const auto& [capability, family] :
         std::initializer_list<std::pair<const char*, const char*>>{{"1.3", "tesla"},
                                                                    {"2.0", "fermi"},
                                                                    {"3.5", "kepler"},
                                                                    {"5.2", "maxwell"},
                                                                    {"6.1", "pascal"},
                                                                    {"7.0", "volta"},
                                                                    {"7.5", "turing"},
                                                                    {"8.6", "ampere"},
                                                                    {"8.9", "ada-lovelace"},
                                                                    {"9.0", "hopper"},
                                                                    {"12.0", "blackwell"},
                                                                    {"13.0", "rubin"},
                                                                    {"4.0", "undefined"},
                                                                    {"", "no label"},
                                                                    {"0.0", "no label"},
                                                                    {"9", "no label"}})
        EXPECT_EQ(value(offer(MigStrategy::none, {gpu({"A", 1, capability})}), "gpu.family"), family)
            << capability;
}

TEST(Labels, StrategyIsALabelWithoutSplitGpus) {
    EXPECT_EQ(value(offer(MigStrategy::none, eight(h100)), "mig.strategy"), "no label");
    for (const MigStrategy mig : {MigStrategy::single, MigStrategy::mixed}) {
        EXPECT_EQ(value(offer(mig, eight(h100)), "mig.strategy"), name_of(mig));
        EXPECT_EQ(value(offer(mig, eight(h100)), "gpu.count"), "8");
    }
}

TEST(Labels, SplitGpusHaveNoReplicas) {
    const Offer all = offer(MigStrategy::none, {split(a100, {a100_1g}), split(a100, {})});
    EXPECT_EQ(value(all, "gpu.count"), "2");
    EXPECT_EQ(value(all, "gpu.replicas"), "0");
    const Offer half = offer(MigStrategy::none, {split(a100, {a100_1g}), gpu(a100)});
    EXPECT_EQ(value(half, "gpu.count"), "2");
    EXPECT_EQ(value(half, "gpu.replicas"), "1");
}

TEST(Labels, SingleDescribesInstances) {
    EXPECT_EQ(
        lines(offer(MigStrategy::single, {split(a100, {a100_1g, a100_1g, a100_1g}), split(a100, {a100_1g})})),
        R"(nvidia.com/gpu.compute.major=8
nvidia.com/gpu.compute.minor=0
nvidia.com/gpu.count=4
nvidia.com/gpu.engines.copy=1
nvidia.com/gpu.engines.decoder=0
nvidia.com/gpu.engines.encoder=0
nvidia.com/gpu.engines.jpeg=0
nvidia.com/gpu.engines.ofa=0
nvidia.com/gpu.family=ampere
nvidia.com/gpu.machine=x
nvidia.com/gpu.memory=4864
nvidia.com/gpu.mode=compute
nvidia.com/gpu.multiprocessors=14
nvidia.com/gpu.product=Mock-NVIDIA-A100-SXM4-40GB-MIG-1g.5gb
nvidia.com/gpu.replicas=1
nvidia.com/gpu.sharing-strategy=none
nvidia.com/gpu.slices.ci=1
nvidia.com/gpu.slices.gi=1
nvidia.com/mig.capable=true
nvidia.com/mig.strategy=single
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)");
}

TEST(Labels, SingleIsInvalidForUnequalGpus) {
    for (const std::vector<Gpu>& gpus :
         std::vector<std::vector<Gpu>>{{split(h100, {h100_3g}), split(h100, {})},
                                       {gpu(h100), split(h100, {h100_3g})},
                                       {split(h100, {h100_3g, h100_1g})}})
        EXPECT_EQ(lines(offer(MigStrategy::single, gpus)), R"(nvidia.com/gpu.compute.major=9
nvidia.com/gpu.compute.minor=0
nvidia.com/gpu.count=0
nvidia.com/gpu.family=hopper
nvidia.com/gpu.machine=x
nvidia.com/gpu.memory=0
nvidia.com/gpu.mode=compute
nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3-MIG-INVALID
nvidia.com/gpu.replicas=0
nvidia.com/gpu.sharing-strategy=
nvidia.com/mig.capable=true
nvidia.com/mig.strategy=single
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)");
}

TEST(Labels, MixedDescribesGpusAndProfiles) {
    EXPECT_EQ(lines(offer(MigStrategy::mixed,
                          {gpu(h100), split(h100, {h100_3g, h100_1g, h100_1g}), split(h100, {})})),
              R"(nvidia.com/gpu.compute.major=9
nvidia.com/gpu.compute.minor=0
nvidia.com/gpu.count=3
nvidia.com/gpu.family=hopper
nvidia.com/gpu.machine=x
nvidia.com/gpu.memory=81920
nvidia.com/gpu.mode=compute
nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3
nvidia.com/gpu.replicas=1
nvidia.com/gpu.sharing-strategy=none
nvidia.com/mig-1g.10gb.me.count=2
nvidia.com/mig-1g.10gb.me.engines.copy=1
nvidia.com/mig-1g.10gb.me.engines.decoder=1
nvidia.com/mig-1g.10gb.me.engines.encoder=0
nvidia.com/mig-1g.10gb.me.engines.jpeg=1
nvidia.com/mig-1g.10gb.me.engines.ofa=1
nvidia.com/mig-1g.10gb.me.memory=10240
nvidia.com/mig-1g.10gb.me.multiprocessors=16
nvidia.com/mig-1g.10gb.me.product=NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me
nvidia.com/mig-1g.10gb.me.replicas=1
nvidia.com/mig-1g.10gb.me.sharing-strategy=none
nvidia.com/mig-1g.10gb.me.slices.ci=1
nvidia.com/mig-1g.10gb.me.slices.gi=1
nvidia.com/mig-3g.40gb.count=1
nvidia.com/mig-3g.40gb.engines.copy=3
nvidia.com/mig-3g.40gb.engines.decoder=2
nvidia.com/mig-3g.40gb.engines.encoder=0
nvidia.com/mig-3g.40gb.engines.jpeg=0
nvidia.com/mig-3g.40gb.engines.ofa=0
nvidia.com/mig-3g.40gb.memory=40960
nvidia.com/mig-3g.40gb.multiprocessors=48
nvidia.com/mig-3g.40gb.product=NVIDIA-H100-80GB-HBM3-MIG-3g.40gb
nvidia.com/mig-3g.40gb.replicas=1
nvidia.com/mig-3g.40gb.sharing-strategy=none
nvidia.com/mig-3g.40gb.slices.ci=3
nvidia.com/mig-3g.40gb.slices.gi=3
nvidia.com/mig.capable=true
nvidia.com/mig.strategy=mixed
nvidia.com/mps.capable=false
nvidia.com/vgpu.present=false
)");
}

TEST(Labels, CommonestModelDescribesTheHost) {
    const Offer made = offer(MigStrategy::none, {gpu(a100), gpu(h100), gpu(h100)});
    EXPECT_EQ(value(made, "gpu.product"), "NVIDIA-H100-80GB-HBM3");
    EXPECT_EQ(value(made, "gpu.count"), "2");
    const Offer equal = offer(MigStrategy::none, {gpu(b200), gpu(h100)});
    EXPECT_EQ(value(equal, "gpu.product"), "NVIDIA-B200-180GB-HBM3e") << "the first of equally common models";
}

TEST(Labels, ModeNeedsOnePciClass) {
    std::vector<Gpu> gpus = eight(h100);
    gpus[3].pci_class = "0x030000";
    EXPECT_EQ(value(offer(MigStrategy::none, gpus), "gpu.mode"), "unknown");
    for (Gpu& one : gpus)
        one.pci_class = "0x030000";
    EXPECT_EQ(value(offer(MigStrategy::none, gpus), "gpu.mode"), "graphics");
}

TEST(Labels, CliqueNeedsOneFabric) {
    std::vector<Gpu> gpus = eight(h100);
    gpus[0].fabric = gpus[1].fabric = "11111111-2222-3333-4444-555555555555.7";
    EXPECT_EQ(value(offer(MigStrategy::none, gpus), "gpu.clique"), gpus[0].fabric);
    gpus[1].fabric = "11111111-2222-3333-4444-555555555555.8";
    EXPECT_EQ(value(offer(MigStrategy::none, gpus), "gpu.clique"), "no label");
}

TEST(Labels, ValuesAreValidForKubernetes) {
    const Model odd{" (NVIDIA)  H100/80GB\tx @ ", 1, "9.0"};
    EXPECT_EQ(value(offer(MigStrategy::none, {gpu(odd)}), "gpu.product"), "NVIDIA-H10080GBx");
    const std::string longest = std::string(62, 'a') + "-b";
    EXPECT_EQ(value(offer(MigStrategy::none, {gpu(h100)}, {"550.54", 0, longest}), "gpu.machine"),
              std::string(62, 'a'));
}

TEST(Labels, UnknownFactsHaveNoLabels) {
    EXPECT_TRUE(labels_of(offer(MigStrategy::mixed, {})).empty());
    EXPECT_TRUE(labels_of(offer(MigStrategy::mixed, {gpu({"", 0, ""})})).empty());
    const Offer made = offer(MigStrategy::none, {gpu({"A", 0, ""})}, {"550.54", 0, ""});
    EXPECT_EQ(value(made, "gpu.memory"), "no label");
    EXPECT_EQ(value(made, "gpu.machine"), "unknown");
    EXPECT_EQ(value(made, "cuda.driver.rev"), "");
    EXPECT_EQ(value(made, "cuda.runtime.major"), "no label");
    EXPECT_EQ(value(offer(MigStrategy::none, {gpu(h100)}, {"next", 0, ""}), "cuda.driver.major"), "no label");
}

TEST(Labels, SharedGpusHaveReplicasAndASuffix) {
    Offer whole = offer(MigStrategy::none, eight(h200));
    whole.sharing = {{{"site.example/gpu", 4}}};
    EXPECT_EQ(value(whole, "gpu.count"), "8");
    EXPECT_EQ(value(whole, "gpu.replicas"), "4");
    EXPECT_EQ(value(whole, "gpu.sharing-strategy"), "time-slicing");
    EXPECT_EQ(value(whole, "gpu.product"), "NVIDIA-H200-141GB-HBM3e-SHARED");
    EXPECT_EQ(value(whole, "mps.capable"), "false");
    whole.sharing.renamed = true;
    EXPECT_EQ(value(whole, "gpu.product"), "NVIDIA-H200-141GB-HBM3e");
    EXPECT_EQ(value(whole, "gpu.replicas"), "4");
}

TEST(Labels, SharedInstancesHaveReplicasOfTheirProfile) {
    Offer mixed = offer(MigStrategy::mixed, {gpu(h100), split(h100, {h100_3g, h100_1g})});
    mixed.sharing = {{{"site.example/mig-1g.10gb.me", 3}}};
    EXPECT_EQ(value(mixed, "gpu.replicas"), "1");
    EXPECT_EQ(value(mixed, "mig-3g.40gb.sharing-strategy"), "none");
    EXPECT_EQ(value(mixed, "mig-1g.10gb.me.replicas"), "3");
    EXPECT_EQ(value(mixed, "mig-1g.10gb.me.product"), "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me-SHARED");
    Offer single = offer(MigStrategy::single, {split(a100, {a100_1g})});
    single.sharing = {{{"site.example/gpu", 2}}};
    EXPECT_EQ(value(single, "gpu.product"), "Mock-NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED");
    single.mig = MigStrategy::none;
    EXPECT_EQ(value(single, "gpu.product"), "Mock-NVIDIA-A100-SXM4-40GB") << "GPUs with MIG can't be shared";
    EXPECT_EQ(value(single, "gpu.replicas"), "0");
}

} // namespace
} // namespace gpuhost::devices
