// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/busy.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

/// A host with containerd and a running Docker.
class RuntimeBusyTest : public testing::Test {
  protected:
    void SetUp() override {
        host_.write("usr/lib/systemd/system/containerd.service",
                    "[Service]\nExecStart=/usr/bin/containerd\nKillMode=process\n");
        host_.write("usr/bin/containerd", "");
        host_.write("usr/bin/dockerd", "");
        host_.write("proc/70/cmdline", std::string("/usr/bin/dockerd\0", 17));
        host_.write("proc/70/status", "Uid:\t0\t0\t0\t0\nNSpid:\t70\n");
        host_.write("proc/70/cgroup", "0::/system.slice/docker.service\n");
        std::filesystem::create_symlink("/", host_.path("proc/70/root"));
        std::filesystem::create_symlink("/usr/bin/dockerd", host_.path("proc/70/exe"));
        docker_unit("Wants=containerd.service");
        start_docker(9'000'000'000);
    }
    /// Starts Docker at `when`, in seconds since 1970.
    void start_docker(std::uint64_t when) const {
        host_.write("proc/stat", "cpu 1 2 3\nbtime " + std::to_string(when) + "\n");
        host_.write("proc/70/stat", "70 (dockerd) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 100 0 0");
    }
    void docker_unit(const std::string& relation) const {
        host_.write("usr/lib/systemd/system/docker.service",
                    "[Unit]\n" + relation + "\n[Service]\nExecStart=/usr/bin/dockerd\n");
    }
    void run_container() const {
        const std::string command =
            std::string("/usr/bin/containerd-shim-runc-v2\0-namespace\0moby\0-id\0abc", 56);
        host_.write("proc/71/cmdline", command);
    }
    [[nodiscard]] std::string harm(const std::string& name) const {
        const auto state = read_runtime_named(host_.root(), name);
        EXPECT_TRUE(state) << name;
        return state ? harm_of_restart(host_.root(), *state) : "";
    }

    tests::TempDir host_;
};

TEST_F(RuntimeBusyTest, RestartOfDockerEndsItsContainers) {
    EXPECT_EQ(harm("docker"), "");
    run_container();
    EXPECT_NE(harm("docker").find("a container runs and would stop with Docker"), std::string::npos);
    host_.write("etc/docker/daemon.json", R"({"live-restore": true})");
    EXPECT_EQ(harm("docker"), "");
}

TEST_F(RuntimeBusyTest, RestartOfContainerdRestartsABoundDocker) {
    run_container();
    EXPECT_EQ(harm("containerd"), "");
    docker_unit("Requires=docker.socket containerd.service");
    EXPECT_NE(harm("containerd").find("docker.service would restart too"), std::string::npos);
    host_.write("etc/docker/daemon.json", R"({"live-restore": true})");
    EXPECT_EQ(harm("containerd"), "");
}

TEST_F(RuntimeBusyTest, LiveRestoreWrittenAfterTheStartIsIgnored) {
    run_container();
    host_.write("etc/docker/daemon.json", R"({"live-restore": true})");
    start_docker(1'000'000);
    EXPECT_NE(harm("docker"), "");
}

TEST_F(RuntimeBusyTest, RestartOfAUnitWithoutKillmodeEndsContainers) {
    run_container();
    host_.write("proc/71/cgroup", "0::/system.slice/containerd.service\n");
    EXPECT_EQ(harm("containerd"), "");
    host_.write("etc/systemd/system/containerd.service.d/kill.conf", "[Service]\nKillMode=mixed\n");
    EXPECT_EQ(harm("containerd"), "a container runs in containerd.service, whose restart kills all of its "
                                  "processes: add KillMode=process to the unit");
}

} // namespace
} // namespace gpuhost::runtime
