// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/inspect/find.hpp"
#include "daemon/runtime/inspect/programs.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using Texts = std::vector<std::string>;

std::string service(const std::string& command) {
    return "[Unit]\nDescription=x\n[Service]\nExecStart=" + command + "\n";
}

TEST(RuntimeUnits, CommandIsSplitAsInSystemd) {
    EXPECT_EQ(split_command(R"(/usr/bin/dockerd -H fd://  --label "a b" 'c"d' e\ f)"),
              (Texts{"/usr/bin/dockerd", "-H", "fd://", "--label", "a b", "c\"d", "e f"}));
    EXPECT_EQ(split_command("\"\" x"), (Texts{"", "x"}));
    EXPECT_EQ(split_command(" "), Texts());
    EXPECT_EQ(split_command("a\\"), Texts{"a\\"});
}

TEST(RuntimeUnits, EmptyExecstartDiscardsEarlierOnes) {
    EXPECT_EQ(exec_start({service("-/usr/bin/containerd"),
                          "[Service]\nExecStart=\nExecStart=@+/opt/containerd -c /c\n"}),
              (Texts{"/opt/containerd", "-c", "/c"}));
    EXPECT_EQ(exec_start({service("/usr/bin/containerd"), "[Service]\nExecStart=\n"}), Texts());
    EXPECT_EQ(exec_start({"[Install]\nExecStart=/usr/bin/containerd\n"}), Texts());
    EXPECT_EQ(exec_start({service("/usr/local/bin/k3s \\\n    server \\\n  '--disable' \\\n 'traefik'")}),
              (Texts{"/usr/local/bin/k3s", "server", "--disable", "traefik"}));
}

TEST(RuntimeUnits, BoundUnitsAreListed) {
    EXPECT_EQ(bound_to({"[Unit]\nRequires=docker.socket containerd.service\nWants=a.service\n",
                        "[Unit]\nBindsTo=b.service\n"}),
              (Texts{"docker.socket", "containerd.service", "b.service"}));
}

TEST(RuntimePrograms, OnlyServicesAreRuntimes) {
    EXPECT_EQ(program_of({"/usr/bin/containerd"}), RuntimeProgram::Containerd);
    EXPECT_EQ(program_of({"containerd", "-c", "/x"}), RuntimeProgram::Containerd);
    EXPECT_EQ(program_of({"/usr/bin/crio", "$CRIO_CONFIG_OPTIONS"}), RuntimeProgram::Crio);
    EXPECT_EQ(program_of({"/usr/bin/snap", "run", "microk8s.daemon-containerd"}), RuntimeProgram::Microk8s);
    EXPECT_EQ(program_of({"/usr/local/bin/rke2", "agent"}), RuntimeProgram::Rke2);
    EXPECT_EQ(program_of({"/usr/local/bin/k0s", "worker", "--token-file=/t"}), RuntimeProgram::K0s);
    EXPECT_EQ(program_of({"k0s", "controller", "--single=true"}), RuntimeProgram::K0s);
    for (const Texts& other :
         {Texts{}, Texts{"/usr/bin/containerd", "config", "dump"}, Texts{"/usr/bin/containerd-shim"},
          Texts{"k0s", "controller"}, Texts{"k0s", "worker", "--cri-socket=remote:unix:///x"},
          Texts{"k3s", "kubectl"}, Texts{"k3s", "server", "--docker"},
          Texts{"k3s", "agent", "--container-runtime-endpoint=/run/crio/crio.sock"},
          Texts{"/usr/bin/snap", "run", "lxd.daemon"},
          Texts{"/usr/bin/containerd", "--config", "/x", "config", "dump"},
          Texts{"/usr/bin/dockerd", "--validate", "--config-file", "/x"},
          Texts{"/usr/bin/crio", "--version"}})
        EXPECT_EQ(program_of(other), std::nullopt);
}

TEST(RuntimeProcesses, ServiceIsReadFromTheControlGroup) {
    EXPECT_EQ(service_of_cgroup("0::/system.slice/k3s.service/containerd\n"), "k3s.service");
    EXPECT_EQ(service_of_cgroup("12:cpu:/\n1:name=systemd:/system.slice/containerd.service\n"),
              "containerd.service");
    EXPECT_EQ(service_of_cgroup("0::/user.slice/session-1.scope\n"), "");
}

class RuntimeFindTest : public testing::Test {
  protected:
    void process(int pid, const Texts& command, const std::string& unit, const std::string& exe,
                 const std::string& status = "Uid:\t0\t0\t0\t0\nNSpid:\t7\n") const {
        std::string cmdline;
        for (const std::string& word : command)
            cmdline += word + '\0';
        const std::string directory = "proc/" + std::to_string(pid) + "/";
        host_.write(directory + "cmdline", cmdline);
        host_.write(directory + "status", status);
        host_.write(directory + "cgroup", "0::/system.slice/" + unit + "\n");
        std::filesystem::create_symlink(exe, host_.path(directory + "exe"));
        std::filesystem::create_symlink("/", host_.path(directory + "root"));
    }
    void unit(const std::string& name, const std::string& command) const {
        host_.write("usr/lib/systemd/system/" + name, service(command));
    }
    /// Returns lines of "NAME KIND UNIT PID CONFIG", in order.
    [[nodiscard]] Texts found() const {
        Texts texts;
        for (const RuntimeInstance& one : find_runtimes(host_.root()))
            texts.push_back(one.name + " " + std::string(name_of(one.kind)) + " " +
                            (one.unit.empty() ? "-" : one.unit) + " " + std::to_string(one.pid) + " " +
                            one.config);
        return texts;
    }

    tests::TempDir host_;
};

TEST_F(RuntimeFindTest, EmptyHostHasNoRuntimes) {
    EXPECT_EQ(found(), Texts());
}

TEST_F(RuntimeFindTest, StoppedServiceIsFoundByItsUnitFiles) {
    unit("containerd.service", "/usr/bin/containerd");
    unit("ssh.service", "/usr/sbin/sshd -D");
    EXPECT_EQ(found(), Texts{"containerd containerd containerd.service 0 /etc/containerd/config.toml"});
    host_.write("etc/systemd/system/containerd.service.d/10-config.conf",
                "[Service]\nExecStart=\nExecStart=/usr/local/bin/containerd --config=/opt/c.toml\n");
    EXPECT_EQ(found(), Texts{"containerd containerd containerd.service 0 /opt/c.toml"});
    // A drop-in in /etc overrides one of the same name elsewhere.
    host_.write("usr/lib/systemd/system/containerd.service.d/10-config.conf",
                "[Service]\nExecStart=\nExecStart=/usr/bin/containerd --config /wrong\n");
    EXPECT_EQ(found(), Texts{"containerd containerd containerd.service 0 /opt/c.toml"});
}

TEST_F(RuntimeFindTest, MaskedServiceIsIgnored) {
    unit("docker.service", "/usr/bin/dockerd");
    std::filesystem::create_directories(host_.path("etc/systemd/system"));
    std::filesystem::create_symlink("/dev/null", host_.path("etc/systemd/system/docker.service"));
    EXPECT_EQ(found(), Texts());
}

TEST_F(RuntimeFindTest, UnitAliasIsIgnored) {
    unit("containerd.service", "/usr/bin/containerd");
    unit("linked.service", "/usr/bin/containerd -c /x");
    std::filesystem::create_directories(host_.path("etc/systemd/system"));
    std::filesystem::create_symlink("/usr/lib/systemd/system/containerd.service",
                                    host_.path("etc/systemd/system/cri.service"));
    std::filesystem::create_symlink("/usr/lib/systemd/system/linked.service",
                                    host_.path("etc/systemd/system/linked.service"));
    EXPECT_EQ(found(), (Texts{"containerd containerd containerd.service 0 /etc/containerd/config.toml",
                              "linked containerd linked.service 0 /x"}));
}

TEST_F(RuntimeFindTest, RunningProcessNamesItsConfiguration) {
    unit("containerd.service", "/usr/bin/containerd");
    process(812, {"/usr/local/bin/containerd", "-c", "/srv/containerd.toml"}, "containerd.service",
            "/usr/local/bin/containerd");
    EXPECT_EQ(found(), Texts{"containerd containerd containerd.service 812 /srv/containerd.toml"});
}

TEST_F(RuntimeFindTest, SeveralContainerdsHaveTheirOwnNames) {
    unit("containerd.service", "/usr/bin/containerd");
    unit("docker.service", "/usr/bin/dockerd -H fd://");
    unit("k3s.service", "/usr/local/bin/k3s server");
    unit("k3s-agent.service", "/usr/local/bin/k3s agent");
    unit("rke2-agent.service", "/usr/local/bin/rke2 agent");
    unit("gpu-containerd.service", "/usr/bin/containerd -c /etc/gpu.toml");
    unit("snap.microk8s.daemon-containerd.service", "/usr/bin/snap run microk8s.daemon-containerd");
    process(10, {"/usr/bin/dockerd", "-H", "fd://"}, "docker.service", "/usr/bin/dockerd");
    process(11, {"containerd", "--config", "/var/run/docker/containerd/containerd.toml"}, "docker.service",
            "/usr/bin/containerd");
    process(20, {"/usr/local/bin/k3s", "server"}, "k3s.service", "/var/lib/rancher/k3s/data/x/bin/k3s");
    process(21,
            {"containerd", "-c", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml", "-a",
             "/run/k3s/containerd/containerd.sock"},
            "k3s.service", "/var/lib/rancher/k3s/data/x/bin/k3s");
    process(30, {"/snap/microk8s/1/bin/containerd", "--config", "/var/snap/microk8s/1/args/containerd.toml"},
            "snap.microk8s.daemon-containerd.service", "/snap/microk8s/1/bin/containerd");
    EXPECT_EQ(
        found(),
        (Texts{"containerd containerd containerd.service 0 /etc/containerd/config.toml",
               "docker docker docker.service 10 /etc/docker/daemon.json",
               "docker-containerd containerd docker.service 11 /var/run/docker/containerd/containerd.toml",
               "gpu-containerd containerd gpu-containerd.service 0 /etc/gpu.toml",
               "k3s k3s k3s.service 21 /var/lib/rancher/k3s/agent/etc/containerd/config.toml",
               "microk8s microk8s snap.microk8s.daemon-containerd.service 30 "
               "/var/snap/microk8s/1/args/containerd.toml",
               "rke2 rke2 rke2-agent.service 0 /var/lib/rancher/rke2/agent/etc/containerd/config.toml"}));
}

TEST_F(RuntimeFindTest, DataDirectoryOfK3sIsUsed) {
    unit("k3s.service", "/usr/local/bin/k3s server --data-dir /data/k3s");
    EXPECT_EQ(found(), Texts{"k3s k3s k3s.service 0 /data/k3s/agent/etc/containerd/config.toml"});
}

TEST_F(RuntimeFindTest, ContainerdOfK0sHasItsOwnKind) {
    unit("k0scontroller.service", "/usr/local/bin/k0s controller --enable-worker=true");
    EXPECT_EQ(found(), Texts{"k0s k0s k0scontroller.service 0 /etc/k0s/containerd.toml"});
    process(20, {"/usr/local/bin/k0s", "controller", "--enable-worker=true"}, "k0scontroller.service",
            "/usr/local/bin/k0s");
    process(21,
            {"/var/lib/k0s/bin/containerd", "--root=/var/lib/k0s/containerd",
             "--address=/run/k0s/containerd.sock", "--config=/etc/k0s/containerd.toml"},
            "k0scontroller.service", "/var/lib/k0s/bin/containerd");
    EXPECT_EQ(found(), Texts{"k0s k0s k0scontroller.service 21 /etc/k0s/containerd.toml"});
}

TEST_F(RuntimeFindTest, ProcessesOfContainersAreIgnored) {
    process(5, {"containerd"}, "x.service", "/usr/bin/containerd",
            "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t5\n");
    process(6, {"containerd"}, "x.service", "/usr/bin/containerd", "Uid:\t0\t0\t0\t0\nNSpid:\t6\t1\n");
    process(7, {"containerd"}, "x.service", "/usr/bin/containerd", "");
    process(8, {"containerd"}, "x.service", "/usr/bin/containerd");
    std::filesystem::remove(host_.path("proc/8/root")); // a container's process in the host's PID namespace
    host_.write("var/lib/image/etc/passwd", "");
    std::filesystem::create_symlink("/var/lib/image", host_.path("proc/8/root"));
    EXPECT_EQ(found(), Texts());
}

TEST_F(RuntimeFindTest, WithoutSystemdProcessesAreFound) {
    process(5, {"/usr/bin/containerd"}, "", "/usr/bin/containerd (deleted)");
    process(6, {"/opt/containerd", "-c", "/opt/config.toml"}, "", "/opt/containerd");
    process(7, {"/usr/bin/crio", "--config=/etc/c.conf"}, "", "/usr/bin/crio");
    EXPECT_EQ(found(),
              (Texts{"containerd containerd - 5 /etc/containerd/config.toml",
                     "containerd-2 containerd - 6 /opt/config.toml", "cri-o cri-o - 7 /etc/c.conf"}));
    const auto all = find_runtimes(host_.root());
    EXPECT_TRUE(all[0].is_replaced);
    EXPECT_FALSE(all[1].is_replaced);
}

TEST_F(RuntimeFindTest, NeighbouringContainerdIsUsedOnlyForK3s) {
    const auto executable = [&] {
        const auto all = find_runtimes(host_.root());
        return all.size() == 1 ? all.front().executable : "";
    };
    host_.write("opt/bin/runtime", "");
    host_.write("opt/bin/containerd", "");
    process(5, {"containerd"}, "containerd.service", "/opt/bin/runtime");
    EXPECT_EQ(executable(), "/opt/bin/runtime");
    std::filesystem::remove_all(host_.path("proc"));
    process(6, {"containerd", "-c", "/x/k3s/config.toml"}, "k3s.service", "/opt/bin/runtime");
    EXPECT_EQ(executable(), "/opt/bin/containerd");
}

TEST_F(RuntimeFindTest, VersionIsReadOnlyOfRootOwnedPrograms) {
    const auto host = base::Root::open("/").value();
    const std::string shell = "/bin/bash"; // through a link; it prints "5.2.15(1)-release"
    if (!ask_version(host, shell))
        GTEST_SKIP() << "needs bash, and a /proc";
    EXPECT_EQ(ask_version(host_.root(), shell), std::nullopt) << "the program is in another root";
    std::filesystem::copy_file(shell, host_.path("containerd"));
    EXPECT_EQ(ask_version(host, host_.path("containerd")), std::nullopt)
        << "a directory above it is world-writable";
    std::filesystem::create_symlink(shell, host_.path("link"));
    EXPECT_NE(ask_version(host, host_.path("link")), std::nullopt) << "the target of the link counts";
}

TEST_F(RuntimeFindTest, PodmanIsFoundByItsProgram) {
    host_.write("usr/bin/podman", "");
    EXPECT_EQ(found(), Texts{"podman podman - 0 /etc/containers/containers.conf"});
}

} // namespace
} // namespace gpuhost::runtime
