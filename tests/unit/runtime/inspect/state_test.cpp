// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/documents.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

class RuntimeStateTest : public testing::Test {
  protected:
    /// Returns the state of a runtime with a known version.
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

TEST_F(RuntimeStateTest, VerdictOfContainerdNamesTheNextStep) {
    EXPECT_EQ(containerd("version = 2\n", 2, 4), "containers get GPUs by CDI: nothing to do");
    EXPECT_EQ(containerd("version = 2\n", 1, 7),
              "CDI is off: set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] of "
              "/etc/containerd/config.toml, and restart it");
    EXPECT_EQ(containerd("version = 2\n" + nvidia, 1, 6),
              "CDI requires containerd 1.7 or newer, but this is 1.6; until then a pod needs a runtime class "
              "for 'nvidia'");
    EXPECT_EQ(containerd("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
                         "default_runtime_name = \"nvidia\"\n" +
                             nvidia,
                         1, 6),
              "CDI requires containerd 1.7 or newer, but this is 1.6; until then all containers run in "
              "NVIDIA's runtime 'nvidia'");
    EXPECT_EQ(containerd("disabled_plugins = [\"cri\"]\n", 1, 7),
              "serves no pods: its CRI plugin is in disabled_plugins");
    EXPECT_EQ(
        containerd(
            "version = 3\n[plugins.\"io.containerd.cri.v1.runtime\"]\ncdi_spec_dirs = [\"/etc/cdi/\"]\n", 2,
            0),
        "CDI is on, but reads only /etc/cdi/: add /var/run/cdi to its directories");
    EXPECT_EQ(containerd("version = \n", 2, 0).substr(0, 31), "its configuration is not valid:");
    EXPECT_EQ(containerd("version = 2\nimports = [\"/gone.toml\"]\n", 2, 0),
              "its configuration is not valid: /gone.toml: No such file or directory");
}

TEST_F(RuntimeStateTest, VerdictOfOtherRuntimesNamesTheNextStep) {
    host_.write("etc/docker/daemon.json", "{}");
    const std::string docker = "/etc/docker/daemon.json";
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, RuntimeVersion{27, 0, "27.0"})),
              "CDI is off: set \"features\": {\"cdi\": true} in /etc/docker/daemon.json, and restart it");
    host_.write("etc/docker/daemon.json",
                R"({"runtimes": {"nvidia": {"path": "/usr/bin/nvidia-container-runtime"}}})");
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, RuntimeVersion{20, 10, "20.10.24"})),
              "CDI requires Docker 25 or newer, but this is 20.10.24; until then use 'docker run --runtime "
              "nvidia'");
    host_.write("etc/docker/daemon.json", "{\"runtimes\": ");
    EXPECT_EQ(verdict(read(RuntimeKind::Docker, docker, std::nullopt)),
              "its configuration is not valid: /etc/docker/daemon.json: not valid JSON");
    EXPECT_EQ(verdict(read(RuntimeKind::Podman, "/etc/containers/containers.conf", std::nullopt)),
              "CDI requires Podman 4.3 or newer, but this version is not known");
    EXPECT_EQ(verdict(read(RuntimeKind::Crio, "/etc/crio/crio.conf", RuntimeVersion{1, 34, "1.34.0"})),
              "containers get GPUs by CDI: nothing to do");
    EXPECT_EQ(
        verdict(read(RuntimeKind::Rke2, "/r/config.toml", RuntimeVersion{1, 7, "1.7"})),
        "CDI is off: its containerd is configured by RKE2: see its documentation of containerd's templates");
}

TEST_F(RuntimeStateTest, VerdictNamesTooNewSpecifications) {
    host_.write("var/lib/gpuhost/cdi.json", R"({"directory": "/run/cdi", "version": "0.7.0"})");
    const auto podman = [&](unsigned major, unsigned minor) {
        return verdict(
            read(RuntimeKind::Podman, "/etc/containers/containers.conf", RuntimeVersion{major, minor, "x"}));
    };
    EXPECT_EQ(podman(4, 3), "CDI is on, but this version does not read CDI 0.7.0, the version of gpuhostd's "
                            "specifications: set Groups=auto in section [CDI]");
    EXPECT_EQ(podman(5, 1), "containers get GPUs by CDI: nothing to do");
    EXPECT_EQ(podman(5, 5), "CDI is on, but reads only /etc/cdi: add /var/run/cdi to its directories");
    host_.write("var/lib/gpuhost/cdi.json", R"({"directory": "/etc/cdi", "version": "0.5.0"})");
    EXPECT_EQ(podman(4, 3), "containers get GPUs by CDI: nothing to do");
    EXPECT_EQ(podman(5, 5), "containers get GPUs by CDI: nothing to do");
}

TEST_F(RuntimeStateTest, VerdictOfK0sNamesItsDropIns) {
    const std::string config = "/etc/k0s/containerd.toml";
    const RuntimeVersion version{1, 7, "1.7.27"};
    host_.write("run/k0s/containerd-cri.toml", "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n");
    host_.write("etc/k0s/containerd.toml",
                "# k0s_managed=true\nversion = 2\nimports = [\"/run/k0s/containerd-cri.toml\"]\n");
    EXPECT_EQ(verdict(read(RuntimeKind::K0s, config, version)),
              "CDI is off: write /etc/k0s/containerd.d/gpu.toml with version = 2 and enable_cdi = true in "
              "[plugins.\"io.containerd.grpc.v1.cri\"]: k0s merges it and restarts its containerd");
    host_.write("etc/k0s/containerd.toml", "version = 2\n");
    EXPECT_EQ(verdict(read(RuntimeKind::K0s, config, version)),
              "CDI is off: set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] of "
              "/etc/k0s/containerd.toml, and restart k0s");
}

TEST_F(RuntimeStateTest, VerdictNamesTheEffectiveFile) {
    const std::string path = "/etc/containerd/config.toml";
    EXPECT_EQ(verdict(read(RuntimeKind::Containerd, path, RuntimeVersion{1, 7, "1.7"})),
              "CDI is off: write /etc/containerd/config.toml with version = 2 and enable_cdi = true in "
              "[plugins.\"io.containerd.grpc.v1.cri\"] of it, and restart it");
    const std::string main = "version = 2\nimports = [\"/etc/containerd/b.toml\"]\n";
    host_.write("etc/containerd/b.toml", "version = 2\n" + nvidia);
    EXPECT_EQ(containerd(main, 1, 7),
              "CDI is off: set enable_cdi = true in "
              "[plugins.\"io.containerd.grpc.v1.cri\"] of /etc/containerd/b.toml, and "
              "restart it; until then a pod needs a runtime class for 'nvidia'");
    EXPECT_EQ(containerd("", 1, 7), "CDI is off: set enable_cdi = true in [plugins.\"cri\"] of "
                                    "/etc/containerd/config.toml, and restart it");
    host_.write("etc/containerd/b.toml",
                "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_cdi = false\n");
    EXPECT_EQ(containerd("version = 3\nimports = [\"/etc/containerd/b.toml\"]\n", 2, 3),
              "CDI is off: set enable_cdi = true in [plugins.\"io.containerd.grpc.v1.cri\"] of "
              "/etc/containerd/b.toml, and restart it");
}

TEST_F(RuntimeStateTest, DefaultHandlerIsCheckedFirst) {
    const std::string cri = "[plugins.\"io.containerd.grpc.v1.cri\".containerd";
    const std::string binary = ".options]\nBinaryName = \"/usr/bin/nvidia-container-runtime\"\n";
    EXPECT_NE(containerd("version = 2\n" + cri + "]\ndefault_runtime_name = \"nvidia\"\n" + cri +
                             ".runtimes.a" + binary + cri + ".runtimes.nvidia" + binary,
                         1, 6)
                  .find("all containers run in NVIDIA's runtime 'nvidia'"),
              std::string::npos);
}

TEST_F(RuntimeStateTest, SocketIsReadFromTheFiles) {
    const auto listen = [&](const std::string& path) {
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        host_.path(path).copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        ::close(fd);
    };
    const auto socket_of = [&](const std::string& name) {
        return read_runtime_named(host_.root(), name).value().instance.socket;
    };
    host_.write("run/containerd/x", "");
    for (const char* path : {"own", "flag", "docker", "crio", "run/containerd/containerd.sock"})
        listen(path);
    host_.write("usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n");
    host_.write("usr/lib/systemd/system/gpu.service",
                "[Service]\nExecStart=/usr/bin/containerd -c /gpu.toml\n");
    host_.write("usr/lib/systemd/system/docker.service", "[Service]\nExecStart=/usr/bin/dockerd\n");
    host_.write("usr/lib/systemd/system/crio.service", "[Service]\nExecStart=/usr/bin/crio\n");
    host_.write("gpu.toml", "");
    EXPECT_EQ(socket_of("containerd"), "/run/containerd/containerd.sock");
    EXPECT_EQ(socket_of("gpu"), "") << "the default socket belongs to the other containerd";
    host_.write("gpu.toml", "[grpc]\naddress = \"/own\"\n");
    host_.write("etc/docker/daemon.json", R"({"hosts": ["tcp://x:1", "unix:///docker"]})");
    host_.write("etc/crio/crio.conf", "[crio.api]\nlisten = \"/crio\"\n");
    EXPECT_EQ(socket_of("gpu"), "/own");
    EXPECT_EQ(socket_of("docker"), "/docker");
    EXPECT_EQ(socket_of("cri-o"), "/crio");
    host_.write("usr/lib/systemd/system/gpu.service",
                "[Service]\nExecStart=/usr/bin/containerd -c /gpu.toml -a /flag\n");
    EXPECT_EQ(socket_of("gpu"), "/flag");
    // Podman's socket with Docker's name, and one that k3s and RKE2 share, belong to no runtime.
    std::filesystem::remove(host_.path("usr/lib/systemd/system/docker.service"));
    host_.write("run/k3s/containerd/x", "");
    listen("run/k3s/containerd/containerd.sock");
    std::filesystem::create_symlink("/docker", host_.path("run/docker.sock"));
    EXPECT_FALSE(read_runtime_named(host_.root(), "docker"));
    EXPECT_FALSE(read_runtime_named(host_.root(), "k3s"));
}

TEST_F(RuntimeStateTest, CrioReadsDropInsOfSubdirectories) {
    host_.write("etc/crio/crio.conf.d/b/.hidden", "[crio.runtime]\ndefault_runtime = \"hidden\"\n");
    host_.write("etc/crio/crio.conf.d/a.conf", "");
    host_.write("etc/crio/crio.conf.d/b/c/d", "");
    host_.write("etc/crio/crio.conf.d/c", "");
    Texts paths;
    const RuntimeState state = read(RuntimeKind::Crio, "/etc/crio/crio.conf", RuntimeVersion{1, 34, ""});
    for (const ConfigFile& file : state.files)
        paths.push_back(file.path.substr(std::string("/etc/crio/crio.conf").size()));
    EXPECT_EQ(paths, (Texts{"", ".d/a.conf", ".d/b/.hidden", ".d/b/c/d", ".d/c"}));
    EXPECT_EQ(state.config.default_handler, "hidden");
    EXPECT_EQ(state.config.problems, Texts());
    for (int i = 0; i < 200; ++i)
        host_.write("etc/crio/crio.conf.d/" + std::to_string(i), "");
    EXPECT_EQ(read(RuntimeKind::Crio, "/etc/crio/crio.conf", std::nullopt).config.problems.size(), 1U);
}

TEST_F(RuntimeStateTest, MissingExplicitFileIsAProblem) {
    host_.write("usr/lib/systemd/system/own.service",
                "[Service]\nExecStart=/usr/bin/containerd -c /own.toml\n");
    host_.write("usr/lib/systemd/system/docker.service",
                "[Service]\nExecStart=/usr/bin/dockerd --config-file=/own.json\n");
    host_.write("usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n");
    host_.write("usr/lib/systemd/system/k3s.service",
                "[Service]\nExecStart=/usr/local/bin/k3s server -d /data\n");
    const auto problems = [&](const std::string& name) {
        return read_runtime_named(host_.root(), name).value().config.problems;
    };
    EXPECT_EQ(problems("own"), Texts{"/own.toml: not found, and containerd does not start without it"});
    EXPECT_EQ(problems("docker"), Texts{"/own.json: not found, and dockerd does not start without it"});
    EXPECT_EQ(problems("containerd"), Texts()) << "defaults apply";
    EXPECT_EQ(problems("k3s"), Texts()) << "a stopped k3s writes the file at start";
    host_.write("own.toml", "");
    EXPECT_EQ(problems("own"), Texts());
}

TEST_F(RuntimeStateTest, ReplacedProgramHasNoKnownVersion) {
    RuntimeInstance instance;
    instance.config = "/etc/containerd/config.toml";
    instance.executable = "/bin/bash"; // prints a version
    instance.is_replaced = true;
    const RuntimeState state = read_runtime(base::Root::open("/").value(), instance);
    EXPECT_EQ(state.instance.version, std::nullopt);
    EXPECT_EQ(state.config.problems.back(), "its program was replaced since it started: restart it");
    EXPECT_EQ(verdict(state), "its program was replaced since it started: restart it");
}

TEST_F(RuntimeStateTest, UnreadableFileIsNotARuntimeProblem) {
    host_.write("etc/config.toml", "version = 3\n");
    ASSERT_EQ(::chmod(host_.path("etc/config.toml").c_str(), 0), 0);
    const auto root = host_.root();
    ASSERT_EQ(::chmod(host_.path().c_str(), 0755), 0);
    const uid_t user = ::geteuid();
    if (user == 0) {
        ASSERT_EQ(::seteuid(65534), 0);
    }
    RuntimeInstance instance;
    instance.config = "/etc/config.toml";
    instance.version = RuntimeVersion{2, 4, "2.4"};
    const RuntimeState state = read_runtime(root, instance);
    ASSERT_EQ(::seteuid(user), 0);
    EXPECT_EQ(state.config.problems, Texts());
    EXPECT_EQ(state.files.front().problem, "/etc/config.toml: can't be read: run the command as root");
    EXPECT_EQ(state.config.cdi, CdiState::Unknown);
    EXPECT_EQ(verdict(state), "its configuration can't be read: run the command as root");
}

TEST_F(RuntimeStateTest, CrioReadsDropInsByName) {
    host_.write("etc/crio/crio.conf.d/20-b.conf", "[crio.runtime]\ndefault_runtime = \"b\"\n");
    host_.write("etc/crio/crio.conf.d/10-a.conf", "[crio.runtime]\ndefault_runtime = \"a\"\n");
    const RuntimeState state = read(RuntimeKind::Crio, "/etc/crio/crio.conf", RuntimeVersion{1, 34, ""});
    ASSERT_EQ(state.files.size(), 3U);
    EXPECT_FALSE(state.files[0].exists);
    EXPECT_EQ(state.files[1].path, "/etc/crio/crio.conf.d/10-a.conf");
    EXPECT_EQ(state.config.default_handler, "b");
}

TEST_F(RuntimeStateTest, DocumentHasAllFacts) {
    host_.write("usr/lib/systemd/system/containerd.service", "[Service]\nExecStart=/usr/bin/containerd\n");
    host_.write("etc/containerd/config.toml", "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n");
    host_.write("etc/containerd/conf.d/99-nvidia.toml", "version = 2\n" + nvidia);
    const Json document = show_runtime(read_runtime_named(host_.root(), "containerd").value());
    EXPECT_EQ(document["version"], "") << "programs of another root are not run";
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
    EXPECT_TRUE(document["serves_cri"].get<bool>());
    EXPECT_EQ(document["cri_plugin"], "io.containerd.grpc.v1.cri");
    EXPECT_EQ(document["runtimes"][0]["binary"], "/usr/bin/nvidia-container-runtime");
    EXPECT_EQ(list_runtimes(read_runtimes(host_.root()))["runtimes"][0], document);
    EXPECT_EQ(read_runtime_named(host_.root(), "docker").error().code, base::Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
