// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/config.hpp"
#include "daemon/runtime/toml/toml.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

std::optional<RuntimeVersion> version(unsigned major, unsigned minor) {
    return RuntimeVersion{major, minor, ""};
}

Json toml(const std::string& text) {
    return parse_toml(text, "test").value();
}

TEST(Version, FirstVersionInTheOutputIsUsed) {
    const auto text = [](std::string_view output) {
        const auto found = parse_version(output);
        return found ? std::to_string(found->major) + " " + std::to_string(found->minor) + " " + found->text
                     : "";
    };
    EXPECT_EQ(text("containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24~ds1-6+deb13u1\n"),
              "1 7 1.7.24~ds1");
    EXPECT_EQ(text("containerd github.com/containerd/containerd/v2 v2.0.5-k3s1 \n"), "2 0 2.0.5-k3s1");
    EXPECT_EQ(text("Docker version 28.2.1, build 879ac3f\n"), "28 2 28.2.1");
    EXPECT_EQ(text("crio version 1.34.0\n   GitCommit: unknown\n"), "1 34 1.34.0");
    EXPECT_EQ(text("podman version 4.3.1\n"), "4 3 4.3.1");
    EXPECT_EQ(text("containerd containerd.io v.1 .5 x.y\n"), "");
    EXPECT_EQ(text("99999999999999999999.1\n"), "");
}

TEST(DockerConfig, CdiNeedsAFeatureBefore28) {
    const Json on{{"features", {{"cdi", true}}}};
    const Json off{{"features", {{"cdi", false}, {"containerd-snapshotter", true}}}};
    EXPECT_EQ(docker_config(on, {}, version(24, 0)).cdi, CdiState::Unsupported);
    EXPECT_EQ(docker_config(Json::object(), {}, version(25, 0)).cdi, CdiState::Off);
    EXPECT_EQ(docker_config(on, {}, version(25, 0)).cdi, CdiState::On);
    EXPECT_EQ(docker_config(Json::object(), {}, version(28, 1)).cdi, CdiState::Off);
    EXPECT_EQ(docker_config(Json::object(), {}, version(28, 2)).cdi, CdiState::On);
    EXPECT_EQ(docker_config(off, {}, version(28, 2)).cdi, CdiState::Off);
    EXPECT_EQ(docker_config(Json::object(), {"dockerd", "--feature=cdi"}, version(27, 0)).cdi, CdiState::On);
    EXPECT_EQ(docker_config(Json::object(), {"dockerd", "--feature", "cdi=false"}, version(28, 2)).cdi,
              CdiState::Off);
    EXPECT_EQ(docker_config(Json::object(), {}, std::nullopt).cdi, CdiState::Unknown);
}

TEST(DockerConfig, OptionsOverrideTheSpecificationDirectories) {
    const std::vector<std::string> command{"dockerd", "--cdi-spec-dir", "/a", "--cdi-spec-dir=/b"};
    EXPECT_EQ(docker_config(Json{{"cdi-spec-dirs", {"/c"}}}, command, version(27, 0)).cdi_spec_dirs,
              (std::vector<std::string>{"/a", "/b"}));
}

TEST(DockerConfig, RuntimesAreRuncAndThoseOfTheFile) {
    const RuntimeConfig config = docker_config(
        {{"default-runtime", "nvidia"},
         {"runtimes", {{"nvidia", {{"path", "nvidia-container-runtime"}, {"args", Json::array()}}}}},
         {"exec-opts", {"native.cgroupdriver=systemd"}},
         {"cdi-spec-dirs", {"/x"}}},
        {}, version(28, 2));
    EXPECT_EQ(config.default_handler, "nvidia");
    EXPECT_EQ(config.handlers, (std::vector<RuntimeHandler>{{"nvidia", "", "nvidia-container-runtime", true},
                                                            {"runc", "", "", true}}));
    EXPECT_EQ(config.cdi_spec_dirs, Texts{"/x"});
    EXPECT_EQ(docker_config({{"runtimes", 1}, {"features", "x"}}, {}, version(28, 2)).handlers.size(), 1U);
}

/// The output of "crio config" of 1.34.
TEST(CrioConfig, LaterFileReplacesAWholeRuntime) {
    const RuntimeConfig config = crio_config(
        {toml("[crio.runtime]\ndefault_runtime = \"runc\"\n[crio.runtime.runtimes.nvidia]\n"
              "runtime_path = \"/a\"\nruntime_type = \"oci\"\n"),
         toml("[crio.runtime]\ndefault_runtime = \"nvidia\"\ncgroup_manager = \"cgroupfs\"\n"
              "cdi_spec_dirs = [\"/run/cdi\"]\n[crio.runtime.runtimes.nvidia]\nruntime_path = \"/b\"\n")},
        version(1, 34));
    EXPECT_EQ(config.default_handler, "nvidia");
    EXPECT_EQ(config.handlers,
              (std::vector<RuntimeHandler>{{"crun", "oci", "", false}, {"nvidia", "", "/b", false}}));
    EXPECT_EQ(config.cdi, CdiState::On);
    EXPECT_EQ(config.cdi_spec_dirs, Texts{"/run/cdi"});
    EXPECT_EQ(crio_config({}, version(1, 22)).cdi, CdiState::Unsupported);
    EXPECT_EQ(crio_config({}, version(1, 31)).default_handler, "crun");
    EXPECT_EQ(crio_config({}, std::nullopt).cdi, CdiState::Unknown);
}

TEST(PodmanConfig, EngineTablesAreMerged) {
    const RuntimeConfig config = podman_config(
        {toml(
             "[engine]\nruntime = \"crun\"\n[engine.runtimes]\ncrun = [\"/usr/bin/crun\", \"/sbin/crun\"]\n"),
         toml("[engine]\nruntime = \"nvidia\"\n[engine.runtimes]\nnvidia = []\n")},
        version(4, 3));
    EXPECT_EQ(config.default_handler, "nvidia");
    EXPECT_EQ(config.handlers, (std::vector<RuntimeHandler>{{"crun", "", "/usr/bin/crun", std::nullopt},
                                                            {"nvidia", "", "", std::nullopt}}));
    EXPECT_EQ(config.cdi, CdiState::On);
    EXPECT_EQ(podman_config({}, version(4, 0)).cdi, CdiState::Unsupported);
}

} // namespace
} // namespace gpuhost::runtime
