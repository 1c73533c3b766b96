// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/configure/change.hpp"
#include "tests/support/tmpdir.hpp"

#include <tuple>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

constexpr const char* config = "/etc/containerd/config.toml";
constexpr const char* drop_in = "/etc/containerd/conf.d/zz-gpuhost.toml";
constexpr const char* toolkit = "/usr/bin/nvidia-container-runtime";

DesiredConfig cdi() {
    DesiredConfig desired;
    desired.cdi = true;
    desired.spec_directory = "/run/cdi";
    return desired;
}

DesiredConfig classes() {
    DesiredConfig desired;
    desired.classes = {{"nvidia", toolkit}};
    return desired;
}

DesiredConfig registry_hosts() {
    DesiredConfig desired;
    desired.registry_hosts = true;
    return desired;
}

/// A runtime's files, and the result of changes.
class RuntimeChangeTest : public testing::Test {
  protected:
    [[nodiscard]] RuntimeState state(unsigned major, unsigned minor,
                                     RuntimeKind kind = RuntimeKind::Containerd) const {
        RuntimeInstance instance;
        instance.name = name_of(kind);
        instance.kind = kind;
        instance.config = kind == RuntimeKind::Docker ? "/etc/docker/daemon.json"
                          : kind == RuntimeKind::Crio ? "/etc/crio/crio.conf"
                                                      : config;
        instance.config_directory = kind == RuntimeKind::Crio ? "/etc/crio/crio.conf.d" : "";
        instance.version =
            RuntimeVersion{major, minor, std::to_string(major) + "." + std::to_string(minor) + ".0"};
        return read_runtime(host_.root(), instance);
    }
    [[nodiscard]] std::map<std::string, Text> texts(const RuntimeInstance& instance) const {
        std::map<std::string, Text> all;
        for (const std::string& path : changeable_files(instance))
            if (const auto text = host_.root().read(path))
                all[path] = *text;
            else
                all[path] = Text();
        return all;
    }
    [[nodiscard]] base::Result<RuntimeChange> change(const RuntimeState& now,
                                                     const DesiredConfig& desired) const {
        return runtime_change(now, desired, texts(now.instance), known_);
    }
    /// Carries the change out as a step does. Returns the files in their order.
    std::vector<std::string> carry_out(const RuntimeState& now, const DesiredConfig& desired) {
        const auto made = change(now, desired);
        EXPECT_TRUE(made) << (made ? "" : made.error().message);
        std::vector<std::string> paths;
        for (const FileChange& file : made ? made->files : std::vector<FileChange>()) {
            paths.push_back(file.path);
            if (file.after)
                host_.write(file.path.substr(1), *file.after);
            else
                EXPECT_TRUE(host_.root().remove(file.path));
        }
        return paths;
    }
    [[nodiscard]] std::string text_of(const char* path) const {
        return host_.read(std::string(path).substr(1));
    }

    tests::TempDir host_;
    KnownFiles known_;
};

using Paths = std::vector<std::string>;

const std::string kubespray =
    "version = 2\n"
    "root = \"/var/lib/containerd\" # data\n"
    "\n"
    "[plugins]\n"
    "  [plugins.\"io.containerd.grpc.v1.cri\"]\n"
    "    sandbox_image = \"registry.site/pause:3.9\"\n"
    "    [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
    "      default_runtime_name = \"runc\"\n"
    "      [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n"
    "        runtime_type = \"io.containerd.runc.v2\"\n"
    "        [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n"
    "          SystemdCgroup = true # the kubelet's driver\n";

TEST_F(RuntimeChangeTest, EnabledCdiNeedsNoChange) {
    host_.write("etc/containerd/config.toml", kubespray);
    EXPECT_EQ(carry_out(state(2, 1), cdi()), Paths());
    EXPECT_EQ(carry_out(state(28, 3, RuntimeKind::Docker), cdi()), Paths());
    EXPECT_EQ(carry_out(state(1, 30, RuntimeKind::Crio), cdi()), Paths());
}

TEST_F(RuntimeChangeTest, DropInIsWrittenBeforeItsImport) {
    host_.write("etc/containerd/config.toml", kubespray);
    const auto made = change(state(1, 7), cdi());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_effective);
    EXPECT_EQ(made->reasons, std::vector<std::string>{"CDI is off"});
    EXPECT_EQ(carry_out(state(1, 7), cdi()), (Paths{drop_in, config}));
    EXPECT_EQ(text_of(config).find("# the kubelet's driver") != std::string::npos, true);
    EXPECT_EQ(state(1, 7).config.cdi, CdiState::On);
    EXPECT_EQ(carry_out(state(1, 7), cdi()), Paths()) << "a second run changes nothing";
    EXPECT_EQ(carry_out(state(1, 7), {}), (Paths{config, drop_in}));
    EXPECT_EQ(text_of(config), kubespray);
}

TEST_F(RuntimeChangeTest, Before2DropInRepeatsTheWholeCriTable) {
    host_.write("etc/containerd/config.toml", kubespray);
    carry_out(state(1, 7), classes());
    const RuntimeState after = state(1, 7);
    const base::Json& cri = after.files.back().content["plugins"]["io.containerd.grpc.v1.cri"];
    EXPECT_EQ(cri["sandbox_image"], "registry.site/pause:3.9");
    ASSERT_EQ(after.config.handlers.size(), 2U);
    EXPECT_EQ(after.config.handlers[0].name, "nvidia");
    EXPECT_EQ(after.config.handlers[0].binary, toolkit);
    EXPECT_EQ(after.config.handlers[0].systemd_cgroup, true) << "as in the default runtime";
    EXPECT_EQ(after.config.handlers[1].name, "runc");
}

TEST_F(RuntimeChangeTest, DropInFollowsTheFileThatItRepeats) {
    host_.write("etc/containerd/config.toml", kubespray);
    carry_out(state(1, 7), cdi());
    std::string edited = text_of(config);
    edited.replace(edited.find("pause:3.9"), 9, "pause:4.0");
    host_.write("etc/containerd/config.toml", edited);
    const auto made = change(state(1, 7), cdi());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_effective);
    EXPECT_EQ(carry_out(state(1, 7), cdi()), Paths{drop_in});
    EXPECT_NE(text_of(drop_in).find("pause:4.0"), std::string::npos);
}

TEST_F(RuntimeChangeTest, From2OnDropInHasOnlyOwnTables) {
    host_.write("etc/containerd/config.toml", kubespray);
    carry_out(state(2, 2), classes());
    EXPECT_EQ(text_of(drop_in).find("sandbox_image"), std::string::npos) << text_of(drop_in);
    const RuntimeState after = state(2, 2);
    ASSERT_FALSE(after.config.handlers.empty());
    EXPECT_EQ(after.config.handlers.front().name, "nvidia");
    EXPECT_EQ(after.config.handlers.front().systemd_cgroup, true);
    EXPECT_TRUE(after.config.problems.empty());
}

TEST_F(RuntimeChangeTest, ConfigPathIsReducedToOneDirectory) {
    const std::string list = "registry]\nconfig_path = \"/etc/containerd/certs.d:/etc/docker/certs.d\"\n";
    const std::string version_3 = "version = 3\n[plugins.'io.containerd.cri.v1.images'.";
    const std::tuple<std::string, unsigned, unsigned> rows[] = {
        {kubespray, 1, 7},       {kubespray, 2, 0},        {kubespray, 2, 2},        {kubespray, 2, 4},
        {"version = 3\n", 2, 2}, {version_3 + list, 2, 1}, {version_3 + list, 2, 4}, {"version = 4\n", 2, 3},
    };
    for (const auto& [text, major, minor] : rows) {
        SCOPED_TRACE(text + std::to_string(major) + "." + std::to_string(minor));
        host_.write("etc/containerd/config.toml", text);
        EXPECT_EQ(state(major, minor).config.registry_hosts, RegistryHosts::Unread);
        const auto made = change(state(major, minor), registry_hosts());
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_TRUE(made->is_effective);
        EXPECT_EQ(made->reasons,
                  std::vector<std::string>{"images for pods are pulled without /etc/containerd/certs.d"});
        EXPECT_EQ(carry_out(state(major, minor), registry_hosts()), (Paths{drop_in, config}));
        EXPECT_EQ(state(major, minor).config.registry_hosts, RegistryHosts::Read) << text_of(drop_in);
        EXPECT_EQ(carry_out(state(major, minor), registry_hosts()), Paths())
            << "a second run changes nothing";
        EXPECT_EQ(text_of(drop_in).find("v1.runtime"), std::string::npos) << text_of(drop_in);
        carry_out(state(major, minor), {});
        EXPECT_EQ(text_of(config), text);
    }
}

TEST_F(RuntimeChangeTest, RefusalNamesTheFileWithTheRegistries) {
    host_.write("etc/containerd/config.toml", "version = 3\nimports = [\"conf.d/*.toml\", \"site.toml\"]\n");
    host_.write("etc/containerd/site.toml",
                "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n"
                "config_path = \"/etc/containerd/certs.d:/etc/docker/certs.d\"\n");
    const auto made = change(state(2, 2), registry_hosts());
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("/etc/containerd/site.toml"), std::string::npos)
        << made.error().message;
}

TEST_F(RuntimeChangeTest, DropInHasTheMainFilesVersion) {
    for (const auto& [first, said] :
         {std::pair("version = 3\n", "version = 3\n"), {"version = 2\n", "version = 2\n"}, {"", ""}}) {
        host_.write("etc/containerd/config.toml", std::string(first) + "[debug]\nlevel = \"info\"\n");
        carry_out(state(2, 3), classes());
        const std::string text = text_of(drop_in);
        EXPECT_EQ(text.find("version = ") == std::string::npos, *said == '\0') << text;
        EXPECT_NE(text.find(said), std::string::npos) << text;
        EXPECT_TRUE(state(2, 3).config.problems.empty());
        ASSERT_TRUE(host_.root().remove(drop_in));
    }
}

TEST_F(RuntimeChangeTest, MissingMainFileIsCreated) {
    EXPECT_EQ(carry_out(state(1, 7), cdi()), (Paths{drop_in, config}));
    EXPECT_EQ(state(1, 7).config.cdi, CdiState::On);
    EXPECT_EQ(carry_out(state(1, 7), cdi()), Paths());
    carry_out(state(1, 7), classes());
    ASSERT_EQ(state(1, 7).config.handlers.size(), 2U) << "the built-in handler is kept";
}

TEST_F(RuntimeChangeTest, ExistingPatternImportsTheDropIn) {
    const std::string text = "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n";
    host_.write("etc/containerd/config.toml", text);
    EXPECT_EQ(carry_out(state(1, 7), cdi()), Paths{drop_in});
    EXPECT_EQ(text_of(config), text);
    EXPECT_EQ(carry_out(state(1, 7), {}), Paths{drop_in});
    EXPECT_EQ(text_of(config), text);
}

TEST_F(RuntimeChangeTest, LaterFileWithTheTableRefusesTheChange) {
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
    host_.write("etc/containerd/conf.d/zzz-site.toml",
                "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_selinux = false\n");
    const auto made = change(state(1, 7), cdi());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, base::Errc::Refused);
    EXPECT_NE(made.error().message.find("CDI is off"), std::string::npos) << made.error().message;
}

TEST_F(RuntimeChangeTest, UnneededDropInIsRemovedWithoutRestart) {
    host_.write("etc/containerd/config.toml", kubespray);
    carry_out(state(1, 7), cdi());
    std::string text = text_of(config);
    const std::string table = "[plugins.\"io.containerd.grpc.v1.cri\"]\n";
    text.insert(text.find(table) + table.size(), "    enable_cdi = true\n");
    host_.write("etc/containerd/config.toml", text);
    const auto made = change(state(1, 7), cdi());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->files.size(), 2U);
    EXPECT_FALSE(made->is_effective);
}

TEST_F(RuntimeChangeTest, DefaultClassIsRemovedWithTheDropIn) {
    host_.write("etc/containerd/config.toml", kubespray);
    DesiredConfig desired = classes();
    desired.default_class = "nvidia";
    carry_out(state(2, 0), desired);
    EXPECT_EQ(state(2, 0).config.default_handler, "nvidia");
    carry_out(state(2, 0), {});
    EXPECT_EQ(state(2, 0).config.default_handler, "runc");
    EXPECT_EQ(text_of(config), kubespray);
}

const std::string cri = "[plugins.\"io.containerd.grpc.v1.cri\".containerd";

const RuntimeHandler* handler(const RuntimeState& state, const std::string& name) {
    for (const RuntimeHandler& one : state.config.handlers)
        if (one.name == name)
            return &one;
    return nullptr;
}

TEST_F(RuntimeChangeTest, HandlerIsCopiedFromNvidiasRuntimeLast) {
    host_.write("etc/containerd/config.toml",
                "version = 2\n" + cri + "]\ndefault_runtime_name = \"nvidia-container-runtime\"\n" + cri +
                    ".runtimes.nvidia-container-runtime]\nruntime_type = \"io.containerd.runc.v2\"\n" + cri +
                    ".runtimes.nvidia-container-runtime.options]\nBinaryName = \"/usr/bin/x\"\n"
                    "SystemdCgroup = true\n");
    carry_out(state(1, 7), classes());
    const RuntimeState after = state(1, 7);
    ASSERT_NE(handler(after, "nvidia"), nullptr);
    EXPECT_EQ(handler(after, "nvidia")->systemd_cgroup, true);
    EXPECT_EQ(handler(after, "nvidia")->binary, toolkit);
}

TEST_F(RuntimeChangeTest, HandlerIsNotCopiedFromKata) {
    host_.write("etc/containerd/config.toml",
                "version = 2\n" + cri + "]\ndefault_runtime_name = \"kata\"\n" + cri +
                    ".runtimes.kata]\nruntime_type = \"io.containerd.kata.v2\"\n");
    carry_out(state(1, 7), classes());
    ASSERT_NE(handler(state(1, 7), "nvidia"), nullptr);
    EXPECT_EQ(handler(state(1, 7), "nvidia")->type, "io.containerd.runc.v2");

    host_.write("etc/crio/crio.conf", "[crio.runtime]\ndefault_runtime = \"kata\"\n"
                                      "[crio.runtime.runtimes.kata]\nruntime_type = \"vm\"\n");
    carry_out(state(1, 30, RuntimeKind::Crio), classes());
    ASSERT_NE(handler(state(1, 30, RuntimeKind::Crio), "nvidia"), nullptr);
    EXPECT_EQ(handler(state(1, 30, RuntimeKind::Crio), "nvidia")->type, "oci");
}

TEST_F(RuntimeChangeTest, OldShimHasItsOwnProgramOption) {
    host_.write("etc/containerd/config.toml",
                "version = 2\n" + cri +
                    ".runtimes.runc]\nruntime_type = \"io.containerd.runtime.v1.linux\"\n" + cri +
                    ".runtimes.runc.options]\nRuntime = \"runc\"\n");
    carry_out(state(1, 6), classes());
    const RuntimeState after = state(1, 6);
    EXPECT_EQ(after.files.back().content["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]
                                        ["nvidia"]["options"]["Runtime"],
              toolkit);
    ASSERT_NE(handler(after, "runc"), nullptr);
    EXPECT_EQ(handler(after, "runc")->binary, "runc");
}

TEST_F(RuntimeChangeTest, VersionOneFileGetsVersionThreeDropIn) {
    const std::string text = "disabled_plugins = []\n[debug]\nlevel = \"info\"\n";
    host_.write("etc/containerd/config.toml", text);
    carry_out(state(2, 2), classes());
    EXPECT_NE(text_of(drop_in).find("version = 3"), std::string::npos) << text_of(drop_in);
    EXPECT_NE(handler(state(2, 2), "nvidia"), nullptr);
    EXPECT_EQ(carry_out(state(2, 2), classes()), Paths());
}

TEST_F(RuntimeChangeTest, DefaultClassReplacesTheOldDefaultTable) {
    host_.write("etc/containerd/config.toml",
                "version = 2\n" + cri + ".default_runtime]\nruntime_type = \"io.containerd.runc.v1\"\n" +
                    cri + ".default_runtime.options]\nSystemdCgroup = true\n");
    EXPECT_EQ(state(1, 7).config.default_handler, "default");
    DesiredConfig desired = classes();
    desired.default_class = "nvidia";
    carry_out(state(1, 7), desired);
    EXPECT_EQ(state(1, 7).config.default_handler, "nvidia");
    EXPECT_EQ(handler(state(1, 7), "nvidia")->type, "io.containerd.runc.v1");
    EXPECT_EQ(handler(state(1, 7), "nvidia")->systemd_cgroup, true);
    carry_out(state(1, 7), {});
    EXPECT_EQ(state(1, 7).config.default_handler, "default");
}

TEST_F(RuntimeChangeTest, FileImportedAfterThePatternRefusesTheChange) {
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"conf.d/*.toml\", \"site.toml\"]\n");
    host_.write("etc/containerd/site.toml",
                "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_selinux = false\n");
    const auto made = change(state(1, 7), cdi());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, base::Errc::Refused);
    EXPECT_EQ(made.error().message.find("'/etc/containerd/site.toml' is read after"), 0U)
        << made.error().message;
    EXPECT_TRUE(change(state(2, 0), classes())) << "from 2.0 on tables are merged";
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"site.toml\", \"conf.d/*.toml\"]\n");
    EXPECT_TRUE(change(state(1, 7), cdi()));
}

TEST_F(RuntimeChangeTest, RelativePatternOf16DoesNotImportIt) {
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"conf.d/*.toml\"]\n");
    EXPECT_EQ(carry_out(state(1, 6), classes()), (Paths{drop_in, config}));
}

TEST_F(RuntimeChangeTest, CrioGetsOnlyADropIn) {
    host_.write("etc/crio/crio.conf", "[crio.runtime]\ndefault_runtime = \"crun\"\n"
                                      "[crio.runtime.runtimes.crun]\nruntime_path = \"/usr/bin/crun\"\n"
                                      "monitor_path = \"/usr/libexec/crio/conmon\"\n");
    const RuntimeState before = state(1, 30, RuntimeKind::Crio);
    EXPECT_EQ(carry_out(before, classes()), Paths{"/etc/crio/crio.conf.d/zz-gpuhost.conf"});
    const std::string text = text_of("/etc/crio/crio.conf.d/zz-gpuhost.conf");
    EXPECT_NE(text.find("monitor_path = \"/usr/libexec/crio/conmon\""), std::string::npos) << text;
    const RuntimeState after = state(1, 30, RuntimeKind::Crio);
    EXPECT_TRUE(lacking(after.config, classes()).empty());
    EXPECT_EQ(after.config.default_handler, "crun");
    EXPECT_EQ(carry_out(after, classes()), Paths());
    EXPECT_EQ(carry_out(after, {}), Paths{"/etc/crio/crio.conf.d/zz-gpuhost.conf"});
}

TEST_F(RuntimeChangeTest, DockerKeepsForeignMembers) {
    const std::string before =
        "{\n  \"features\": {\"containerd-snapshotter\": true},\n  \"default-runtime\": \"crun\",\n"
        "  \"runtimes\": {\"crun\": {\"path\": \"/usr/bin/crun\"}}\n}\n";
    host_.write("etc/docker/daemon.json", before);
    DesiredConfig desired = cdi();
    desired.classes = classes().classes;
    desired.default_class = "nvidia";
    carry_out(state(27, 5, RuntimeKind::Docker), desired);
    const RuntimeState after = state(27, 5, RuntimeKind::Docker);
    const base::Json& document = after.files.front().content;
    EXPECT_EQ(document["features"], (base::Json{{"containerd-snapshotter", true}, {"cdi", true}}));
    EXPECT_EQ(document["default-runtime"], "nvidia");
    EXPECT_EQ(document["runtimes"]["crun"]["path"], "/usr/bin/crun");
    EXPECT_EQ(carry_out(after, desired), Paths());

    EXPECT_EQ(carry_out(after, {}), Paths()) << "only known own members are removed";
    known_["/etc/docker/daemon.json"] = {before, text_of("/etc/docker/daemon.json")};
    carry_out(after, {});
    EXPECT_EQ(base::parse_json(text_of("/etc/docker/daemon.json"), "").value(),
              base::parse_json(before, "").value());
}

/// nvidia-ctk writes into the same file, before or after gpuhostd.
TEST_F(RuntimeChangeTest, UndoOfDockerKeepsMembersOfNvidiaCtk) {
    const char* path = "/etc/docker/daemon.json";
    carry_out(state(27, 5, RuntimeKind::Docker), cdi());
    known_[path] = {Text(), text_of(path)};
    const std::string theirs =
        "{\n    \"default-runtime\": \"nvidia\",\n    \"features\": {\n        \"cdi\": true\n    },\n"
        "    \"runtimes\": {\n        \"nvidia\": {\n            \"path\": \"nvidia-container-runtime\"\n"
        "        }\n    }\n}\n";
    host_.write("etc/docker/daemon.json", theirs);
    EXPECT_EQ(carry_out(state(27, 5, RuntimeKind::Docker), cdi()), Paths());
    carry_out(state(27, 5, RuntimeKind::Docker), {});
    const base::Json left = base::parse_json(text_of(path), "").value();
    EXPECT_EQ(left["default-runtime"], "nvidia");
    EXPECT_TRUE(left["runtimes"].contains("nvidia"));
    EXPECT_FALSE(left.contains("features")) << "only gpuhostd wrote it";
}

TEST_F(RuntimeChangeTest, UndoRestoresThePathOfDockersRuntime) {
    const char* path = "/etc/docker/daemon.json";
    const std::string before = R"({"runtimes": {"nvidia": {"path": "/opt/nvidia", "runtimeArgs": ["x"]}}})";
    host_.write("etc/docker/daemon.json", before);
    DesiredConfig desired;
    desired.classes = classes().classes;
    carry_out(state(27, 5, RuntimeKind::Docker), desired);
    ASSERT_NE(text_of(path), before);
    known_[path] = {before, text_of(path)};
    base::Json since = base::parse_json(text_of(path), "").value();
    since["debug"] = true;
    host_.write("etc/docker/daemon.json", since.dump());
    carry_out(state(27, 5, RuntimeKind::Docker), {});
    base::Json wanted = base::parse_json(before, "").value();
    wanted["debug"] = true;
    EXPECT_EQ(base::parse_json(text_of(path), "").value(), wanted);
}

TEST_F(RuntimeChangeTest, DockersCommandLineRefusesTheChange) {
    RuntimeState docker = state(27, 5, RuntimeKind::Docker);
    docker.instance.arguments = {"/usr/bin/dockerd", "--feature=cdi=false"};
    docker = configured(docker.instance, docker.files);
    const auto made = change(docker, cdi());
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find("CDI is off"), std::string::npos) << made.error().message;
}

} // namespace
} // namespace gpuhost::runtime
