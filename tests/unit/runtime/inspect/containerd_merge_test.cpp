// SPDX-License-Identifier: Apache-2.0
// The expected values are the output of "containerd config dump" of containerd 1.6.20, 1.7.24 and 2.4.2. The
// cluster's tests compare with them again.
#include "daemon/runtime/inspect/containerd_merge.hpp"
#include "daemon/runtime/toml/toml.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

const RuntimeVersion v1_6{1, 6, "1.6.20"};
const RuntimeVersion v1_7{1, 7, "1.7.24"};
const RuntimeVersion v2_0{2, 0, "2.0.5"};
const RuntimeVersion v2_3{2, 3, "2.3.0"};
const RuntimeVersion v2_4{2, 4, "2.4.2"};

const std::string cri_2 = "[plugins.\"io.containerd.grpc.v1.cri\"";
const std::string cri_3 = "[plugins.\"io.containerd.cri.v1.runtime\"";

RuntimeConfig config(const Texts& files, const std::optional<RuntimeVersion>& version) {
    std::vector<Json> documents;
    for (const std::string& text : files)
        documents.push_back(parse_toml(text, "test").value());
    return containerd_config(documents, version);
}

/// Returns lines of "NAME TYPE BINARY CGROUP", in order.
Texts handlers(const RuntimeConfig& config) {
    Texts texts;
    for (const RuntimeHandler& handler : config.handlers)
        texts.push_back(handler.name + " " + handler.type + " " + handler.binary + " " +
                        (!handler.systemd_cgroup   ? "-"
                         : *handler.systemd_cgroup ? "systemd"
                                                   : "cgroupfs"));
    return texts;
}

TEST(ContainerdMerge, WithoutFilesDefaultsApply) {
    for (const auto& version : {v1_6, v1_7, v2_0, v2_4}) {
        const RuntimeConfig empty = config({}, version);
        EXPECT_EQ(handlers(empty), Texts{"runc io.containerd.runc.v2  cgroupfs"}) << version.text;
        EXPECT_EQ(empty.default_handler, "runc");
        EXPECT_TRUE(empty.serves_cri);
        EXPECT_EQ(empty.problems, Texts());
    }
}

TEST(ContainerdMerge, CdiIsOnSince20AndOptionalIn17) {
    const std::string on = "version = 2\n" + cri_2 + "]\nenable_cdi = true\n";
    const std::string off = "version = 2\n" + cri_2 + "]\nenable_cdi = false\n";
    EXPECT_EQ(config({on}, v1_6).cdi, CdiState::Unsupported);
    EXPECT_EQ(config({}, v1_7).cdi, CdiState::Off);
    EXPECT_EQ(config({on}, v1_7).cdi, CdiState::On);
    EXPECT_EQ(config({}, v2_0).cdi, CdiState::On);
    EXPECT_EQ(config({off}, v2_0).cdi, CdiState::Off);
    EXPECT_EQ(config({off}, v2_4).cdi, CdiState::On) << "CDI cannot be disabled any more";
    EXPECT_EQ(config({on}, std::nullopt).cdi, CdiState::Unknown) << "1.6 does not support it";
    EXPECT_EQ(config({"version = 3\n"}, std::nullopt).cdi, CdiState::On);
}

const Texts two_files{"version = 2\nimports = [\"/x/*.toml\"]\n" + cri_2 +
                          "]\nenable_cdi = true\ncdi_spec_dirs = [\"/a\"]\n" + cri_2 +
                          ".containerd]\ndefault_runtime_name = \"nvidia\"\n" + cri_2 +
                          ".containerd.runtimes.nvidia]\nruntime_type = \"io.containerd.runc.v2\"\n" + cri_2 +
                          ".containerd.runtimes.nvidia.options]\nBinaryName = \"/x\"\nSystemdCgroup = true\n",
                      "version = 2\n" + cri_2 + "]\ncdi_spec_dirs = [\"/b\"]\n" + cri_2 +
                          ".containerd.runtimes.nvidia.options]\nBinaryName = \"\"\nSystemdCgroup = false\n" +
                          cri_2 + ".containerd.runtimes.runc.options]\nSystemdCgroup = true\n"};

TEST(ContainerdMerge, Before20LaterFileReplacesTheWholePlugin) {
    const RuntimeConfig merged = config(two_files, v1_7);
    EXPECT_EQ(merged.cdi, CdiState::Off);
    EXPECT_EQ(merged.cdi_spec_dirs, Texts{"/b"});
    EXPECT_EQ(merged.default_handler, "runc");
    EXPECT_EQ(handlers(merged), (Texts{"nvidia   cgroupfs", "runc   systemd"}));
}

TEST(ContainerdMerge, Since20TablesAreMergedWithFalseAndEmpty) {
    const RuntimeConfig merged = config(two_files, v2_4);
    EXPECT_EQ(merged.cdi_spec_dirs, Texts{"/b"}) << "a list replaces a list";
    EXPECT_EQ(merged.default_handler, "nvidia");
    EXPECT_EQ(handlers(merged),
              (Texts{"nvidia io.containerd.runc.v2  cgroupfs", "runc io.containerd.runc.v2  systemd"}));
    EXPECT_EQ(merged.cri_plugin, "io.containerd.cri.v1.runtime");
}

TEST(ContainerdMerge, Before20RuntimesTableRemovesTheDefault) {
    const Texts files{"version = 2\n" + cri_2 + ".containerd.runtimes.nvidia]\nruntime_type = \"t\"\n"};
    EXPECT_EQ(handlers(config(files, v1_6)), Texts{"nvidia t  -"});
    EXPECT_EQ(config(files, v1_6).problems, Texts{"the default runtime 'runc' is not configured"});
    EXPECT_EQ(handlers(config(files, v2_4)), (Texts{"nvidia t  -", "runc io.containerd.runc.v2  cgroupfs"}));
}

TEST(ContainerdMerge, FileWithoutVersionIsVersionOne) {
    const Texts files{
        "[plugins.cri]\nenable_cdi = true\n[plugins.cri.containerd]\ndefault_runtime_name = \"n\"\n"
        "[plugins.cri.containerd.runtimes.n]\nruntime_type = \"t\"\n"};
    EXPECT_EQ(config(files, v1_7).cri_plugin, "cri");
    EXPECT_EQ(config(files, v1_7).cdi, CdiState::On);
    EXPECT_EQ(config(files, v1_7).default_handler, "n");
    EXPECT_EQ(handlers(config(files, v2_4)), (Texts{"n t  -", "runc io.containerd.runc.v2  cgroupfs"}));
    EXPECT_EQ(handlers(config(files, v2_0)), Texts{"runc io.containerd.runc.v2  cgroupfs"})
        << "2.0 to 2.2 read no CRI settings from it";
}

TEST(ContainerdMerge, OldVersionsAreConvertedBeforeTheMerge) {
    const std::string three = "version = 3\n" + cri_3 + ".containerd.runtimes.n]\nruntime_type = \"a\"\n";
    const std::string two = "version = 2\n" + cri_2 + ".containerd]\ndefault_runtime_name = \"n\"\n" + cri_2 +
                            ".containerd.runtimes.n]\nruntime_type = \"b\"\n";
    EXPECT_EQ(handlers(config({three, two}, v2_4))[0], "n b  -");
    EXPECT_EQ(config({three, two}, v2_4).default_handler, "n");
    EXPECT_EQ(config({three, two}, v2_4).problems, Texts());
    EXPECT_EQ(handlers(config({two, three}, v2_4))[0], "n a  -");
    EXPECT_EQ(handlers(config({two}, v2_0))[0], "n b  -");
    ASSERT_EQ(config({two, three}, v2_3).problems.size(), 1U);
    EXPECT_NE(config({two, three}, v2_3).problems[0].find("containerd 2.3 does not start"),
              std::string::npos);
    ASSERT_EQ(config({three, two}, v1_7).problems.size(), 1U);
    EXPECT_NE(config({three, two}, v1_7).problems[0].find("version = 3 is for a newer containerd"),
              std::string::npos);
}

TEST(ContainerdMerge, CriCanBeDisabled) {
    EXPECT_FALSE(
        config({"disabled_plugins = [\"cri\"]\n"}, v1_6).serves_cri); // as Docker packages containerd
    EXPECT_FALSE(
        config({"version = 2\n", "version = 2\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n"}, v1_7)
            .serves_cri);
    EXPECT_TRUE(config({"version = 3\ndisabled_plugins = [\"io.containerd.x.v1.y\"]\n"}, v2_4).serves_cri);
}

TEST(ContainerdMerge, ValuesOfWrongTypesAreIgnored) {
    for (const auto& version : {v1_7, v2_0, v2_4})
        for (const std::string text :
             {"plugins = 1\n", "version = \"2\"\nimports = {}\n", "version = -1\n",
              "version = 3\n[plugins]\n\"io.containerd.grpc.v1.cri\" = 1\n\"io.containerd.cri.v1.runtime\" = "
              "[]\n",
              "[plugins.cri]\ncontainerd = 1\n",
              "[plugins.cri.containerd]\nruntimes = [1]\ndefault_runtime_name = 1\n",
              "version = 2\n[plugins.\"io.containerd.cri.v1.runtime\"]\ncontainerd = 1\n"
              "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]\nrunc = 7\n"})
            EXPECT_EQ(config({text, text}, version).default_handler, "runc") << text;
}

/// The files of Kubespray and GKE are shortened output of their templates.
TEST(ContainerdMerge, CommonDistributionsFilesAreRead) {
    const RuntimeConfig kubespray = config(
        {"version = 2\nroot = \"/var/lib/containerd\"\noom_score = 0\n\n[plugins]\n"
         "  [plugins.\"io.containerd.grpc.v1.cri\"]\n    enable_cdi = true\n"
         "    [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n      default_runtime_name = \"runc\"\n"
         "      [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]\n"
         "        [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
         "          runtime_type = \"io.containerd.runc.v2\"\n          base_runtime_spec = \"/etc/x.json\"\n"
         "          [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n"
         "            SystemdCgroup = true\n            BinaryName = \"/usr/local/bin/runc\"\n"},
        v1_7);
    EXPECT_EQ(handlers(kubespray), Texts{"runc io.containerd.runc.v2 /usr/local/bin/runc systemd"});
    EXPECT_EQ(kubespray.cdi, CdiState::On);
    const RuntimeConfig gke =
        config({"version = 2\nrequired_plugins = [\"io.containerd.grpc.v1.cri\"]\noom_score = -999\n" +
                cri_2 + "]\n  enable_cdi = true\n" + cri_2 +
                ".containerd]\n  default_runtime_name = \"runc\"\n  discard_unpacked_layers = true\n" +
                cri_2 + ".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n" + cri_2 +
                ".containerd.runtimes.runc.options]\n    SystemdCgroup = true\n"},
               v2_0);
    EXPECT_EQ(handlers(gke), Texts{"runc io.containerd.runc.v2  systemd"});
    EXPECT_EQ(gke.cdi, CdiState::On);
    // Debian's /etc/containerd/config.toml.
    const RuntimeConfig debian =
        config({"version = 2\n\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n"
                "    [plugins.\"io.containerd.grpc.v1.cri\".cni]\n      bin_dir = \"/usr/lib/cni\"\n"
                "      conf_dir = \"/etc/cni/net.d\"\n  [plugins.\"io.containerd.internal.v1.opt\"]\n"
                "    path = \"/var/lib/containerd\"\n"},
               v1_6);
    EXPECT_EQ(handlers(debian), Texts{"runc io.containerd.runc.v2  cgroupfs"});
}

} // namespace
} // namespace gpuhost::runtime
