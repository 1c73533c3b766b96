// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/cdi/driver_root.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/tmpdir.hpp"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::runtime {
namespace {

const std::string version = "550.163.01";
const std::string triplet = "/usr/lib/x86_64-linux-gnu";

using Files = std::vector<DriverFile>;
using Links = std::vector<DriverLink>;

/// A host with a driver below `at`, as a distribution installs it.
class DriverTree {
  public:
    explicit DriverTree(std::string at = "") : at_(std::move(at)) {}

    void library(const std::string& path, const std::string& soname) const {
        host_.write((at_ + path).substr(1), tests::library_image(soname));
    }
    void file(const std::string& path) const { host_.write((at_ + path).substr(1), "content"); }
    void link(const std::string& target, const std::string& path) const {
        const std::string place = host_.path((at_ + path).substr(1));
        std::filesystem::create_directories(std::filesystem::path(place).parent_path());
        std::filesystem::create_symlink(target, place);
    }
    void program(const std::string& path) const {
        file(path);
        std::filesystem::permissions(host_.path((at_ + path).substr(1)), std::filesystem::perms(0755));
    }
    /// Writes libcuda and NVML with the links that ldconfig makes.
    void add_driver(const std::string& directory) const {
        library(directory + "/libcuda.so." + version, "libcuda.so.1");
        library(directory + "/libnvidia-ml.so." + version, "libnvidia-ml.so.1");
        link("libcuda.so." + version, directory + "/libcuda.so.1");
        link("libnvidia-ml.so." + version, directory + "/libnvidia-ml.so.1");
        link("libnvidia-ml.so.1", directory + "/libnvidia-ml.so");
    }
    [[nodiscard]] DriverFiles find() const {
        const auto found = find_driver(host_.root(), at_.empty() ? "/" : at_);
        EXPECT_TRUE(found) << found.error().message;
        return found ? *found : DriverFiles();
    }
    [[nodiscard]] const tests::TempDir& host() const { return host_; }

  private:
    tests::TempDir host_;
    std::string at_;
};

DriverFile same(const std::string& path) {
    return {path, path};
}

TEST(DriverRoot, DriverHasItsLibrariesAndTheirLinks) {
    const DriverTree tree;
    tree.add_driver(triplet);
    tree.library(triplet + "/libcudart.so.12", "libcudart.so.12");
    const DriverFiles driver = tree.find();
    EXPECT_EQ(driver.version, version);
    EXPECT_EQ(driver.library_directories, std::vector<std::string>{triplet});
    EXPECT_EQ(driver.libraries, (Files{same(triplet + "/libcuda.so." + version),
                                       same(triplet + "/libnvidia-ml.so." + version)}));
    // libcuda.so is added for programs that open it, though no package has it.
    EXPECT_EQ(driver.links, (Links{{"libcuda.so.1", triplet + "/libcuda.so"},
                                   {"libcuda.so." + version, triplet + "/libcuda.so.1"},
                                   {"libnvidia-ml.so." + version, triplet + "/libnvidia-ml.so.1"},
                                   {"libnvidia-ml.so.1", triplet + "/libnvidia-ml.so"}}));
}

TEST(DriverRoot, LoadedDriverPrecedesLeftoverLibraries) {
    const DriverTree tree;
    tree.add_driver(triplet);
    tree.library(triplet + "/libcuda.so.100.10.10", "libcuda.so.1");
    tree.host().write("sys/module/nvidia/version", version + "\n");
    EXPECT_EQ(tree.find().version, version);
}

TEST(DriverRoot, LibraryWithTwoPathsIsListedOnce) {
    const DriverTree tree;
    const std::string real = triplet + "/nvidia/current";
    tree.add_driver(real);
    tree.link("usr/lib", "/lib"); // as on hosts with a merged /usr
    tree.link("nvidia/current/libcuda.so." + version, triplet + "/libcuda.so." + version);
    const DriverFiles driver = tree.find();
    EXPECT_EQ(driver.library_directories, std::vector<std::string>{real});
    EXPECT_EQ(driver.libraries,
              (Files{same(real + "/libcuda.so." + version), same(real + "/libnvidia-ml.so." + version)}));
}

TEST(DriverRoot, DriverRootIsMappedToSlashInContainers) {
    const DriverTree tree("/run/nvidia/driver");
    tree.add_driver("/usr/lib64");
    tree.program("/usr/bin/nvidia-smi");
    tree.file("/run/nvidia-persistenced/socket");
    const DriverFiles driver = tree.find();
    EXPECT_EQ(driver.libraries.at(0), (DriverFile{"/run/nvidia/driver/usr/lib64/libcuda.so." + version,
                                                  "/usr/lib64/libcuda.so." + version}));
    EXPECT_EQ(driver.links.at(0).path, "/usr/lib64/libcuda.so");
    EXPECT_EQ(driver.programs, (Files{{"/run/nvidia/driver/usr/bin/nvidia-smi", "/usr/bin/nvidia-smi"}}));
    EXPECT_EQ(driver.sockets, (Files{{"/run/nvidia/driver/run/nvidia-persistenced/socket",
                                      "/run/nvidia-persistenced/socket"}}));
}

TEST(DriverRoot, LinksOutsideADriverRootAreIgnored) {
    const DriverTree tree("/run/nvidia/driver");
    tree.add_driver("/usr/lib64");
    tree.link("/outside/nvidia-smi", "/usr/bin/nvidia-smi"); // absolute: below the driver's root
    tree.host().write("outside/nvidia-smi", "");
    std::filesystem::permissions(tree.host().path("outside/nvidia-smi"), std::filesystem::perms(0755));
    EXPECT_EQ(tree.find().programs, Files());
    tree.program("/outside/nvidia-smi");
    EXPECT_EQ(tree.find().programs, (Files{{"/run/nvidia/driver/outside/nvidia-smi", "/usr/bin/nvidia-smi"}}))
        << "the host follows the link from its own /";
}

TEST(DriverRoot, ProgramIsTheFirstExecutableOnThePath) {
    const DriverTree tree;
    tree.add_driver("/usr/lib64");
    tree.file("/usr/local/bin/nvidia-smi"); // not executable
    tree.program("/usr/bin/nvidia-smi");
    tree.program("/bin/nvidia-smi");
    tree.program("/usr/bin/nvidia-bug-report");
    EXPECT_EQ(tree.find().programs, Files{same("/usr/bin/nvidia-smi")});
}

TEST(DriverRoot, FirmwareIsFoundInTheKernelsSearchOrder) {
    const DriverTree tree;
    tree.add_driver("/usr/lib64");
    tree.host().write("sys/module/firmware_class/parameters/path", "/opt/firmware\n");
    tree.host().write("proc/sys/kernel/osrelease", "6.1.0-50-amd64\n");
    for (const char* directory : {"/lib/firmware", "/lib/firmware/6.1.0-50-amd64", "/opt/firmware"})
        tree.file(std::string(directory) + "/nvidia/" + version + "/gsp_ga10x.bin");
    tree.file("/lib/firmware/nvidia/535.1/gsp_ga10x.bin");
    tree.file("/lib/firmware/nvidia/" + version + "/other.bin");
    EXPECT_EQ(tree.find().firmware,
              (Files{same("/opt/firmware/nvidia/" + version + "/gsp_ga10x.bin"),
                     same("/lib/firmware/6.1.0-50-amd64/nvidia/" + version + "/gsp_ga10x.bin"),
                     same("/lib/firmware/nvidia/" + version + "/gsp_ga10x.bin")}));
}

TEST(DriverRoot, GraphicsFilesAreListedSeparately) {
    const DriverTree tree;
    tree.add_driver("/usr/lib64");
    tree.library("/usr/lib64/libnvidia-allocator.so." + version, "libnvidia-allocator.so.1");
    tree.library("/usr/lib64/libnvidia-egl-wayland.so.1.1.13", "libnvidia-egl-wayland.so.1");
    tree.file("/usr/lib64/xorg/modules/drivers/nvidia_drv.so");
    tree.file("/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so." + version);
    tree.file("/etc/vulkan/icd.d/nvidia_icd.json");
    tree.file("/usr/share/glvnd/egl_vendor.d/10_nvidia.json");
    tree.file("/etc/OpenCL/vendors/nvidia.icd");
    const DriverFiles driver = tree.find();
    EXPECT_EQ(driver.graphics,
              (Files{same("/usr/lib64/libnvidia-egl-wayland.so.1.1.13"),
                     same("/usr/lib64/xorg/modules/drivers/nvidia_drv.so"),
                     same("/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so." + version),
                     same("/usr/share/glvnd/egl_vendor.d/10_nvidia.json"),
                     same("/etc/OpenCL/vendors/nvidia.icd"), same("/etc/vulkan/icd.d/nvidia_icd.json")}));
    EXPECT_EQ(driver.graphics_links,
              (Links{{"../libnvidia-allocator.so.1", "/usr/lib64/gbm/nvidia-drm_gbm.so"},
                     {"libglxserver_nvidia.so." + version,
                      "/usr/lib/xorg/modules/extensions/libglxserver_nvidia.so"}}));
}

TEST(DriverRoot, OwnUserlandHasItsRealPath) {
    const std::string userland = "/var/lib/gpuhost/driver/" + version + "/userland/abc";
    const DriverTree tree;
    tree.add_driver(userland + "/lib");
    tree.program(userland + "/bin/nvidia-smi");
    tree.file(userland + "/firmware/gsp_ga10x.bin");
    tree.file("/run/nvidia-fabricmanager/socket");
    tree.file("/etc/OpenCL/vendors/nvidia.icd");
    tree.link("../../" + version + "/userland/abc", "/var/lib/gpuhost/driver/generation/1/userland");
    tree.link("generation/1/userland", "/var/lib/gpuhost/driver/current");
    const base::Root root = tree.host().root();
    const auto selected = selected_userland(root);
    ASSERT_TRUE(selected) << selected.error().message;
    ASSERT_EQ(*selected, userland);
    const auto driver = read_userland(root, userland);
    ASSERT_TRUE(driver) << driver.error().message;
    EXPECT_EQ(driver->version, version);
    EXPECT_EQ(driver->libraries.at(0).host, userland + "/lib/libcuda.so." + version);
    EXPECT_EQ(driver->libraries[0].container, driver->library_directories.at(0) + "/libcuda.so." + version);
    EXPECT_EQ(driver->library_directories[0].rfind("/usr/lib/", 0), 0U);
    EXPECT_EQ(driver->links.at(1),
              (DriverLink{"libcuda.so." + version, driver->library_directories[0] + "/libcuda.so.1"}));
    EXPECT_EQ(driver->programs, (Files{{userland + "/bin/nvidia-smi", "/usr/bin/nvidia-smi"}}));
    EXPECT_EQ(driver->firmware, (Files{{userland + "/firmware/gsp_ga10x.bin",
                                        "/lib/firmware/nvidia/" + version + "/gsp_ga10x.bin"}}));
    EXPECT_EQ(driver->sockets, Files{same("/run/nvidia-fabricmanager/socket")});
    EXPECT_EQ(driver->graphics, Files{same("/etc/OpenCL/vendors/nvidia.icd")}) << "the file of the host";
}

TEST(DriverRoot, UnreadableSelectedUserlandIsAnError) {
    const DriverTree tree;
    tree.add_driver("/usr/lib64");
    tree.link("generation/1/userland", "/var/lib/gpuhost/driver/current");
    const auto selected = selected_userland(tree.host().root());
    ASSERT_FALSE(selected);
    EXPECT_NE(selected.error().message.find("current"), std::string::npos) << selected.error().message;
}

TEST(DriverRoot, PipeNamedAsALibraryDoesNotBlock) {
    const DriverTree tree;
    tree.add_driver("/usr/lib64");
    ASSERT_EQ(::mkfifo(tree.host().path("usr/lib64/libnvidia-x.so." + version).c_str(), 0644), 0);
    EXPECT_FALSE(tree.find().libraries.empty());
}

TEST(DriverRoot, WithoutLibrariesNoDriverIsFound) {
    const DriverTree tree;
    tree.file("/usr/lib64/libcuda.so.1");
    EXPECT_EQ(selected_userland(tree.host().root()).value(), std::nullopt);
    const auto found = find_driver(tree.host().root(), "/");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, base::Errc::NotFound);
    EXPECT_FALSE(find_driver(tree.host().root(), "/absent"));
}

TEST(DriverRoot, LibraryWithoutElfHeaderHasNoLinks) {
    const DriverTree tree;
    tree.file("/usr/lib64/libnvidia-ml.so." + version);
    tree.link("libnvidia-ml.so." + version, "/usr/lib64/libnvidia-ml.so.1");
    const DriverFiles driver = tree.find();
    EXPECT_EQ(driver.libraries, Files{same("/usr/lib64/libnvidia-ml.so." + version)});
    EXPECT_EQ(driver.links, Links());
}

} // namespace
} // namespace gpuhost::runtime
