// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/runtime_documents.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

class RuntimeStateTest : public testing::Test {
  protected:
    /// Of a runtime whose version is known.
    [[nodiscard]] RuntimeState read(RuntimeKind kind, const std::string& config,
                                    const std::optional<RuntimeVersion>& version) const {
        RuntimeInstance instance;
        instance.name = name_of(kind);
        instance.kind = kind;
        instance.config = config;
        instance.config_directory = config + ".d";
        instance.version = version;
        return read_runtime(host_.root(), instance);
    }
    [[nodiscard]] std::string containerd(const std::string& text, unsigned major, unsigned minor) const {
        host_.write("etc/containerd/config.toml", text);
        return verdict(
            read(RuntimeKind::Containerd, "/etc/containerd/config.toml",
                 RuntimeVersion{major, minor, std::to_string(major) + "." + std::to_string(minor)}));
    }

    tests::TempDir host_;
};

const std::string nvidia = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
                           "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n"
                           "BinaryName = \"/usr/bin/nvidia-container-runtime\"\n";

TEST_F(RuntimeStateTest, TheVerdictSaysWhatIsLeftToDo) {
    EXPECT_EQ(containerd("version = 2\n", 2, 4), "containers get GPUs by CDI: nothing to do");
    EXPECT_EQ(containerd("version = 2\n", 1, 7),
              "CDI is off: set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] of "
              "/etc/containerd/config.toml, and restart it");
    EXPECT_EQ(containerd("version = 2\n" + nvidia, 1, 6),
              "CDI takes containerd 1.7 or newer, and this is 1.6; until then a pod needs a runtime class "
              "for 'nvidia'");
    EXPECT_EQ(containerd("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
                         "default_runtime_name = \"nvidia\"\n" +
                             nvidia,
                         1, 6),
              "CDI takes containerd 1.7 or newer, and this is 1.6; until then all containers run in NVIDIA's "
              "runtime "
              "'nvidia'");
    EXPECT_EQ(containerd("disabled_plugins = [\"cri\"]\n", 1, 7),
              "serves no pods: its CRI plugin is in disabled_plugins");
    EXPECT_EQ(
        containerd(
            "version = 3\n[plugins.\"io.containerd.cri.v1.runtime\"]\ncdi_spec_dirs = [\"/etc/cdi/\"]\n", 2,
            0),
        "CDI is on, but looks in /etc/cdi/ alone: add /var/run/cdi to its directories");
    EXPECT_EQ(containerd("version = \n", 2, 0).substr(0, 27), "its configuration is wrong:");
    EXPECT_EQ(containerd("version = 2\nimports = [\"/gone.toml\"]\n", 2, 0),
              "its configuration is wrong: /gone.toml: No such file or directory");
}

TEST_F(RuntimeStateTest, OthersHaveTheirOwnWays) {
    host_.write("etc/docker/daemon.json", "{}");
    const std::string docker = "/etc/docker/daemon.json";
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, RuntimeVersion{27, 0, "27.0"})),
              "CDI is off: set \"features\": {\"cdi\": true} in /etc/docker/daemon.json, and restart it");
    host_.write("etc/docker/daemon.json",
                R"({"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}})");
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, RuntimeVersion{20, 10, "20.10.24"})),
              "CDI takes Docker 25 or newer, and this is 20.10.24; until then it takes 'docker run --runtime "
              "nvidia'");
    host_.write("etc/docker/daemon.json", "{\"runtimes\": ");
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, std::nullopt)),
              "its configuration is wrong: /etc/docker/daemon.json: not valid JSON");
    EXPECT_EQ(verdict(read(RuntimeKind::Podman, "/etc/containers/containers.conf", std::nullopt)),
              "CDI takes Podman 4.1 or newer, and which this is can't be told here");
    EXPECT_EQ(verdict(read(RuntimeKind::Crio, "/etc/crio/crio.conf", RuntimeVersion{1, 34, "1.34.0"})),
              "containers get GPUs by CDI: nothing to do");
    EXPECT_NE(verdict(read(RuntimeKind::Rke2, "/r/config.toml", RuntimeVersion{1, 7, "1.7"}))
                  .find("/r/config.toml.tmpl"),
              std::string::npos);
}

TEST_F(RuntimeStateTest, DropInsOfCrioComeByName) {
    host_.write("etc/crio/crio.conf.d/20-b.conf", "[crio.runtime]\ndefault_runtime = \"b\"\n");
    host_.write("etc/crio/crio.conf.d/10-a.conf", "[crio.runtime]\ndefault_runtime = \"a\"\n");
    const RuntimeState state = read(RuntimeKind::Crio, "/etc/crio/crio.conf", RuntimeVersion{1, 34, ""});
    ASSERT_EQ(state.files.size(), 3U);
    EXPECT_FALSE(state.files[0].exists);
    EXPECT_EQ(state.files[1].path, "/etc/crio/crio.conf.d/10-a.conf");
    EXPECT_EQ(state.config.default_handler, "b");
}

TEST_F(RuntimeStateTest, ADocumentHasAllOfIt) {
    host_.write("usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n");
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
    host_.write("etc/containerd/conf.d/99-nvidia.toml", "version = 2\n" + nvidia);
    const Json document = show_runtime(read_runtime_named(host_.root(), "containerd").value());
    EXPECT_EQ(document["version"], "") << "no program of another tree is run";
    EXPECT_EQ(document["unit_file"], "/usr/lib/systemd/system/containerd.service");
    EXPECT_FALSE(document["running"].get<bool>());
    EXPECT_EQ(
        document["files"],
        (Json{{{"path", "/etc/containerd/config.toml"}, {"exists", true}, {"problem", ""}, {"version", 2}},
              {{"path", "/etc/containerd/conf.d/99-nvidia.toml"},
               {"exists", true},
               {"problem", ""},
               {"version", 2}}}));
    EXPECT_EQ(document["cdi"], "unknown");
    EXPECT_EQ(document["cri_plugin"], "io.containerd.grpc.v1.cri");
    EXPECT_EQ(document["runtimes"][0]["binary"], "/usr/bin/nvidia-container-runtime");
    EXPECT_EQ(list_runtimes(read_runtimes(host_.root()))["runtimes"][0], document);
    EXPECT_EQ(read_runtime_named(host_.root(), "docker").error().code, base::Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
