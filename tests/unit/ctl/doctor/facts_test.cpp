// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/doctor/facts.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/efi_program.hpp"
#include "tests/support/pki.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::ctl {
namespace {

class DoctorFactsTest : public testing::Test {
  protected:
    void trust(const std::string& file, std::int64_t until) {
        tests::CertificateRequest request;
        request.authority = true;
        request.from = -7200;
        request.until = until;
        directory_.write("etc/gpuhost/trust.d/" + file, tests::make_identity(request).certificate);
    }
    [[nodiscard]] DoctorFacts facts() const { return read_doctor_facts(root_); }
    [[nodiscard]] Health trusted() const { return check_trust(facts()).health; }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
};

TEST_F(DoctorFactsTest, TrustIsReadAsForBundleVerification) {
    EXPECT_EQ(trusted(), Health::Skipped) << "no authority is configured";
    trust("old.pem", -3600);
    EXPECT_EQ(trusted(), Health::Error);
    trust("new.crt", 90 * 86'400);
    EXPECT_EQ(trusted(), Health::Warning) << "the expired authority can be removed";
    directory_.write("etc/gpuhost/trust.d/.hidden.pem", "no certificate");
    EXPECT_EQ(trusted(), Health::Warning);
    directory_.write("etc/gpuhost/trust.d/site.crl", "no list");
    const Diagnosis found = check_trust(facts());
    EXPECT_EQ(found.health, Health::Error) << "every bundle is refused";
    EXPECT_NE(found.text.find("site.crl"), std::string::npos) << found.text;
}

TEST_F(DoctorFactsTest, SettingsGiveDriverOwnerAndCdi) {
    EXPECT_EQ(facts().owner, kmod::DriverOwner::Gpuhost);
    EXPECT_TRUE(facts().cdi_enabled);
    directory_.write("etc/gpuhost/gpuhostd.conf", "[Driver]\nVersion=off\n[CDI]\nManage=no\n");
    EXPECT_EQ(facts().owner, kmod::DriverOwner::Nobody);
    EXPECT_EQ(facts().configured, "");
    EXPECT_FALSE(facts().cdi_enabled);
}

TEST_F(DoctorFactsTest, ImagesOfKernelsWithASelectionAreRead) {
    const std::string kernel = "6.1.0-50-amd64";
    const std::string image = "boot/initrd.img-" + kernel;
    directory_.write("lib/modules/" + kernel + "/modules.builtin", "");
    directory_.write(image,
                     tests::cpio_of({{"lib/modules/" + kernel + "/nvidia.ko", "n"}}, tests::Packing::Xz));
    EXPECT_TRUE(facts().kernels.at(0).images.empty()) << "the kernel has no selection";
    ASSERT_TRUE(kmod::write_selection(root_, kernel, {{"550.163.01", "u", "m"}, std::nullopt}));
    const ImageFacts found = facts().kernels.at(0).images.at(0);
    EXPECT_EQ(found.path, "/" + image);
    EXPECT_EQ(found.modules, std::vector<std::string>{"lib/modules/" + kernel + "/nvidia.ko"});
    EXPECT_EQ(found.command, "dracut --force /" + image + " " + kernel);
    directory_.write("efi/EFI/Linux/x-" + kernel + ".efi",
                     tests::efi_program({{".initrd", tests::cpio_of({{"lib/modules/k/nouveau.ko", "n"}})}}));
    EXPECT_EQ(facts().kernels.at(0).images.at(1).modules,
              std::vector<std::string>{"lib/modules/k/nouveau.ko"});
    directory_.write("etc/gpuhost/gpuhostd.conf", "[Driver]\nInitramfs=ignore\n");
    EXPECT_TRUE(facts().kernels.at(0).images.empty());
    EXPECT_FALSE(facts().clear_initramfs);
    directory_.write("etc/gpuhost/gpuhostd.conf", "");
    directory_.write(image, "no image");
    EXPECT_NE(facts().initramfs_unseen.find(image), std::string::npos) << facts().initramfs_unseen;
}

TEST_F(DoctorFactsTest, WorkersAreUnitsWithRunningProcesses) {
    const std::string slice = "sys/fs/cgroup/system.slice/";
    directory_.write(slice + "gpuhost-worker-7-1-1.service/cgroup.procs", "4711\n");
    EXPECT_EQ(running_workers(root_), std::nullopt) << "not cgroup v2";
    directory_.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    directory_.write(slice + "gpuhost-worker-6-1-1.service/cgroup.procs", "");
    directory_.write(slice + "gpuhostd.service/cgroup.procs", "12\n");
    EXPECT_EQ(running_workers(root_), (std::vector<std::string>{"gpuhost-worker-7-1-1.service"}));
}

TEST_F(DoctorFactsTest, RuntimesOfPodsAreSearchedForNvidias) {
    const std::string config = "etc/containerd/config.toml";
    const std::string runtimes = "[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.";
    directory_.write("usr/lib/systemd/system/containerd.service",
                     "[Service]\nExecStart=/usr/bin/containerd\n");
    directory_.write(config, "version = 2\n" + runtimes + "runc]\n");
    EXPECT_EQ(facts().runtimes_without_nvidia, std::vector<std::string>{"containerd"});
    EXPECT_TRUE(facts().accepted_requests.empty());
    directory_.write(
        config, "version = 2\n" + runtimes +
                    "nvidia.options]\nBinaryName = " + "\"/usr/bin/nvidia-container-runtime\"\n" + runtimes +
                    "nvidia-cdi.options]\nBinaryName = " + "\"/usr/bin/nvidia-container-runtime.cdi\"\n");
    EXPECT_TRUE(facts().runtimes_without_nvidia.empty());
    EXPECT_EQ(facts().accepted_requests, std::vector<runtime::AcceptedRequests>(1))
        << "NVIDIA's defaults, once";
    directory_.write("etc/nvidia-container-runtime/config.toml",
                     "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n");
    EXPECT_FALSE(facts().accepted_requests.at(0).envvar);
    directory_.write("etc/nvidia-container-runtime/config.toml", "[\n");
    EXPECT_NE(facts().accepted_unseen.find("/etc/nvidia-container-runtime/config.toml"), std::string::npos);
    directory_.write(config, "version = 2\ndisabled_plugins = [\"cri\"]\n");
    EXPECT_TRUE(facts().runtimes_without_nvidia.empty()) << "it has no pods";
    directory_.write(config, "version = \n");
    EXPECT_TRUE(facts().runtimes_without_nvidia.empty()) << "it is unknown";
}

} // namespace
} // namespace gpuhost::ctl
