// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/generate.hpp"
#include "daemon/runtime/cdi/modes.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using Texts = std::vector<std::string>;

SpecNode node(const std::string& path, std::int64_t major, std::int64_t minor) {
    SpecNode made;
    made.path = path;
    made.major = major;
    made.minor = minor;
    made.file_mode = 0666;
    made.permissions = "rwm";
    return made;
}

/// Returns two GPUs, the first of them with graphics files.
CdiFacts facts() {
    CdiFacts made;
    made.driver.version = "550.163.01";
    made.driver.library_directories = {"/usr/lib64", "/usr/lib64/other"};
    made.driver.libraries = {
        {"/d/libcuda.so.550.163.01", "/usr/lib64/libcuda.so.550.163.01"},
        {"/d/libnvidia-ml.so.550.163.01", "/usr/lib64/libnvidia-ml.so.550.163.01"},
        {"/d/libvdpau_nvidia.so.550.163.01", "/usr/lib64/vdpau/libvdpau_nvidia.so.550.163.01"}};
    made.driver.links = {{"libcuda.so.1", "/usr/lib64/libcuda.so"}};
    made.driver.graphics = {{"/d/10_nvidia.json", "/usr/share/glvnd/egl_vendor.d/10_nvidia.json"}};
    made.driver.graphics_links = {{"../libnvidia-allocator.so.1", "/usr/lib64/gbm/nvidia-drm_gbm.so"}};
    made.driver.programs = {{"/d/nvidia-smi", "/usr/bin/nvidia-smi"}};
    made.driver.sockets = {{"/run/nvidia-persistenced/socket", "/run/nvidia-persistenced/socket"}};
    SpecNode card = node("/dev/dri/card1", 226, 1);
    card.file_mode = 0660;
    card.gid = 44;
    made.gpus = {{{"0000:06:00.0", "GPU-b", 1, {"card1"}},
                  {node("/dev/nvidia1", 195, 1), card},
                  {{"../card1", "/dev/dri/by-path/pci-0000:06:00.0-card"}},
                  std::nullopt},
                 {{"0000:07:00.0", "", 0, {}}, {node("/dev/nvidia0", 195, 0)}, {}, std::nullopt}};
    made.control = {node("/dev/nvidiactl", 195, 255)};
    made.all = {node("/dev/nvidia-caps/nvidia-cap1", 240, 1), node("/dev/nvidiactl", 195, 255)};
    made.hook = "/usr/libexec/gpuhost/gpuhost-cdi-hook";
    return made;
}

Texts names(const Spec& spec) {
    Texts all;
    for (const SpecDevice& device : spec.devices)
        all.push_back(device.name);
    return all;
}

Texts paths(const SpecEdits& edits) {
    Texts all;
    for (const SpecNode& one : edits.nodes)
        all.push_back(one.path);
    return all;
}

std::vector<Texts> hooks(const SpecEdits& edits) {
    std::vector<Texts> all;
    for (const SpecHook& hook : edits.hooks) {
        EXPECT_EQ(hook.name, "createContainer");
        EXPECT_EQ(hook.path, "/usr/libexec/gpuhost/gpuhost-cdi-hook");
        all.push_back(hook.args);
    }
    return all;
}

TEST(CdiGenerate, GpuIsNamedByIndexUuidAndAll) {
    const Spec spec = gpu_spec(facts());
    EXPECT_EQ(spec.kind, "nvidia.com/gpu");
    EXPECT_EQ(names(spec), (Texts{"0", "1", "GPU-b", "all"}));
    EXPECT_EQ(paths(spec.devices[0].edits), (Texts{"/dev/nvidia1", "/dev/dri/card1"}));
    EXPECT_EQ(spec.devices[0].edits, spec.devices[2].edits);
    EXPECT_EQ(paths(spec.devices[1].edits), Texts{"/dev/nvidia0"});
    EXPECT_EQ(paths(spec.devices[3].edits), (Texts{"/dev/nvidia0", "/dev/nvidia1", "/dev/dri/card1"}));
    EXPECT_EQ(paths(spec.edits), Texts{"/dev/nvidiactl"});
}

TEST(CdiGenerate, MigInstancesReplaceTheirGpu) {
    CdiFacts split = facts();
    const std::vector<SpecNode> nodes{node("/dev/nvidia1", 195, 1),
                                      node("/dev/nvidia-caps/nvidia-cap12", 240, 12),
                                      node("/dev/nvidia-caps/nvidia-cap13", 240, 13)};
    split.gpus[0].instances = {{0, "MIG-a", nodes, {}}, {3, "MIG-b", nodes, {}}};
    const Spec spec = gpu_spec(split);
    EXPECT_EQ(names(spec), (Texts{"0:0", "0:3", "1", "MIG-a", "MIG-b", "all"})) << "GPU-b is replaced";
    EXPECT_EQ(paths(spec.devices[1].edits),
              (Texts{"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"}));
    EXPECT_EQ(spec.devices[1].edits, spec.devices[4].edits);
    EXPECT_TRUE(spec.devices[1].edits.hooks.empty()) << "an instance has no graphics";
    EXPECT_EQ(paths(spec.devices[5].edits).size(), 4U);
    EXPECT_EQ(spec_problems(spec), Texts());
    split.gpus[0].instances->clear();
    EXPECT_EQ(names(gpu_spec(split)), (Texts{"1", "all"}));
}

TEST(CdiGenerate, GroupsOfDeviceNodesAreAdded) {
    const Spec spec = gpu_spec(facts());
    EXPECT_EQ(spec.devices[0].edits.additional_gids, std::vector<std::uint32_t>{44});
    EXPECT_TRUE(spec.devices[1].edits.additional_gids.empty());
    EXPECT_EQ(spec.devices[3].edits.additional_gids, std::vector<std::uint32_t>{44});
    EXPECT_EQ(spec.version, "0.7.0");
    CdiFacts open = facts();
    open.gpus[0].nodes[1].file_mode = 0666;
    EXPECT_EQ(gpu_spec(open).version, "0.5.0");
    CdiFacts ungrouped = facts();
    ungrouped.groups = false;
    EXPECT_EQ(gpu_spec(ungrouped).version, "0.5.0") << "for runtimes that do not support groups";
    EXPECT_TRUE(gpu_spec(ungrouped).devices[0].edits.additional_gids.empty());
}

TEST(CdiGenerate, HooksAreInTheOrderOfTheirDependencies) {
    const Spec spec = gpu_spec(facts());
    const std::string program = "gpuhost-cdi-hook";
    EXPECT_EQ(hooks(spec.edits),
              (std::vector<Texts>{
                  {program, "create-symlinks", "--link",
                   "../libnvidia-allocator.so.1::/usr/lib64/gbm/nvidia-drm_gbm.so"},
                  {program, "create-symlinks", "--link", "libcuda.so.1::/usr/lib64/libcuda.so"},
                  {program, "enable-cuda-compat", "--host-driver-version=550.163.01"},
                  {program, "update-ldcache", "--folder", "/usr/lib64", "--folder", "/usr/lib64/vdpau"},
                  {program, "disable-device-node-modification"}}));
    EXPECT_EQ(hooks(spec.devices[0].edits),
              (std::vector<Texts>{{program, "create-symlinks", "--link",
                                   "../card1::/dev/dri/by-path/pci-0000:06:00.0-card"}}));
    EXPECT_TRUE(spec.devices[1].edits.hooks.empty());
}

TEST(CdiGenerate, FilesAreReadOnlyAndSocketsNoexec) {
    const Spec spec = gpu_spec(facts());
    ASSERT_EQ(spec.edits.mounts.size(), 6U);
    EXPECT_EQ(spec.edits.mounts[0], (SpecMount{"/run/nvidia-persistenced/socket",
                                               "/run/nvidia-persistenced/socket",
                                               {"nosuid", "nodev", "rbind", "rprivate", "noexec"},
                                               ""}));
    EXPECT_EQ(spec.edits.mounts[2], (SpecMount{"/d/libcuda.so.550.163.01",
                                               "/usr/lib64/libcuda.so.550.163.01",
                                               {"ro", "nosuid", "nodev", "rbind", "rprivate"},
                                               ""}));
    EXPECT_EQ(spec.edits.env,
              (Texts{"NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64:/usr/lib64/other", "NVIDIA_VISIBLE_DEVICES=void"}));
}

TEST(CdiGenerate, ManagementSpecHasAllNodesWithoutGraphics) {
    const Spec spec = management_spec(facts());
    EXPECT_EQ(spec.kind, "management.nvidia.com/gpu");
    EXPECT_EQ(names(spec), Texts{"all"});
    EXPECT_EQ(paths(spec.devices[0].edits), (Texts{"/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap1"}));
    EXPECT_EQ(spec.edits.mounts.size(), 5U);
    // It may create nodes: its nvidia-smi enables MIG.
    EXPECT_EQ(hooks(spec.edits).back().at(1), "update-ldcache");
    EXPECT_EQ(spec.version, "0.3.0");
}

TEST(CdiGenerate, GeneratedSpecsAreValid) {
    EXPECT_EQ(spec_problems(gpu_spec(facts())), Texts());
    EXPECT_EQ(spec_problems(management_spec(facts())), Texts());
    CdiFacts bare = facts();
    bare.driver = {"550.163.01", {"/usr/lib64"}, {}, {}, {}, {}, {}, {}, {}};
    EXPECT_EQ(spec_problems(gpu_spec(bare)), Texts());
}

TEST(CdiGenerate, ServiceIsOneDeviceWithNodesAndFiles) {
    SpecNode disk = node("/dev/nvidia-fs0", 237, 0);
    disk.file_mode = 0660;
    disk.gid = 6;
    const std::vector<DriverFile> files{{"/d/run/udev", "/run/udev"}};
    const Spec spec = service_spec("gds", {node("/dev/nvidia-fs1", 237, 1), disk}, files, true);
    EXPECT_EQ(spec.kind, "nvidia.com/gds");
    EXPECT_EQ(names(spec), Texts{"all"});
    EXPECT_EQ(paths(spec.devices[0].edits), (Texts{"/dev/nvidia-fs0", "/dev/nvidia-fs1"}));
    EXPECT_EQ(spec.devices[0].edits.additional_gids, std::vector<std::uint32_t>{6});
    ASSERT_EQ(spec.devices[0].edits.mounts.size(), 1U);
    EXPECT_EQ(spec.devices[0].edits.mounts[0],
              (SpecMount{"/d/run/udev", "/run/udev", {"ro", "nosuid", "nodev", "rbind", "rprivate"}, ""}));
    EXPECT_EQ(spec.edits.env, Texts{"NVIDIA_VISIBLE_DEVICES=void"});
    EXPECT_TRUE(spec.edits.mounts.empty() && spec.edits.hooks.empty()) << "the service needs no driver files";
    EXPECT_EQ(service_spec("gds", {disk}, files, false).version, "0.3.0");
    EXPECT_EQ(spec_problems(spec), Texts());
}

TEST(CdiGenerate, ImexChannelIsNamedByItsNumber) {
    SpecNode first;
    first.path = first.host_path = "/dev/nvidia-caps-imex-channels/channel0";
    SpecNode other;
    other.path = other.host_path = "/dev/nvidia-caps-imex-channels/channel2047";
    const Spec spec = imex_spec({{2047, other}, {0, first}});
    EXPECT_EQ(spec.kind, "nvidia.com/imex-channel");
    EXPECT_EQ(names(spec), (Texts{"0", "2047", "all"}));
    EXPECT_EQ(spec.devices[1].edits.nodes, std::vector<SpecNode>{other});
    EXPECT_EQ(paths(spec.devices[2].edits), (Texts{first.path, other.path}));
    EXPECT_EQ(spec.version, "0.5.0");
    EXPECT_EQ(spec_problems(spec), Texts());
}

/// Without root, a tree cannot have device nodes; /dev/null is used instead.
TEST(CdiFacts, MissingDriverGpuOrNodeIsNamed) {
    const tests::TempDir host;
    const base::Root root = host.root();
    const auto message = [&] {
        const auto spec = make_gpu_spec(root, {});
        return spec ? "made" : spec.error().message;
    };
    EXPECT_EQ(message(), "no NVIDIA driver found below '" + root.directory() + "'");
    host.write("usr/lib64/libcuda.so.550.163.01", tests::library_image("libcuda.so.1"));
    EXPECT_EQ(message(), "the driver serves no GPU");
    host.write("proc/driver/nvidia/gpus/0000:06:00.0/information", "GPU UUID: GPU-a\nDevice Minor: 3\n");
    EXPECT_EQ(message(), "/dev/nvidia3 of GPU 0000:06:00.0 is missing");
    host.write("dev/nvidia3", "");
    EXPECT_EQ(message(), "/dev/nvidia3 of GPU 0000:06:00.0 is missing");
    const auto management = make_management_spec(root, {});
    ASSERT_FALSE(management);
    EXPECT_EQ(management.error().message, "the driver's device nodes are missing");
    EXPECT_EQ(management.error().code, base::Errc::NotFound);
    host.write("dev/gdrdrv", "");
    for (const CdiMode& mode : cdi_modes()) {
        const auto spec = mode.make(root, {});
        ASSERT_FALSE(spec) << mode.name;
        EXPECT_EQ(spec.error().code, base::Errc::NotFound) << mode.name;
        EXPECT_EQ(mode.optional,
                  spec.error().message == "no device node found for " + std::string(mode.name));
    }
}

} // namespace
} // namespace gpuhost::runtime
