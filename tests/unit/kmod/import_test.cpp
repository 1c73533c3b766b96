// SPDX-License-Identifier: Apache-2.0
// store.stage and store.publish: the import of a driver.
#include "daemon/content/crypto/sha256.hpp"
#include "kmod/build/kernel_build.hpp"
#include "kmod/store/manifest.hpp"
#include "kmod/store/stage.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::kmod {
namespace {

using base::Errc;
using tests::deb_of;
using Type = tests::Member::Type;

using ImportTest = StoreTest;

TEST_F(ImportTest, PackagesBecomeUserlandAndSource) {
    ASSERT_TRUE(import(packages()));
    const Store now = store();
    ASSERT_EQ(now.problems, std::vector<std::string>{});
    ASSERT_EQ(now.versions.size(), 1U);
    const DriverVersion& version = now.versions[0];
    EXPECT_EQ(version.version, test_version);
    ASSERT_EQ(version.userland.size(), 1U);
    const Userland& userland = version.userland[0];
    EXPECT_TRUE(userland.nvml);
    EXPECT_EQ(userland.firmware, std::vector<std::string>{"gsp_ga10x.bin"});
    EXPECT_EQ(root_.read_link(userland.path + "/lib/libnvidia-ml.so.1").value(),
              "libnvidia-ml.so." + test_version);
    EXPECT_EQ(root_.read_link(userland.path + "/lib/libnvidia-ml.so").value(), "libnvidia-ml.so.1");
    EXPECT_EQ(root_.read(userland.path + "/bin/nvidia-smi").value(), "program");
    EXPECT_EQ(root_.stat(userland.path + "/bin/nvidia-smi")->st_mode & 07777U, 0555U);
    EXPECT_EQ(root_.read(userland.path + "/doc/libnvidia-ml1/copyright").value(), "free");
    EXPECT_FALSE(root_.exists(userland.path + "/doc/libnvidia-ml1/changelog.gz"));
    ASSERT_EQ(version.sources.size(), 1U);
    EXPECT_EQ(version.sources[0].flavour, "open");
    EXPECT_EQ(version.sources[0].directory, "usr/src/nvidia-current-open-" + test_version);
    EXPECT_EQ(version.sources[0].sha256, content::sha256(source_package(test_version)));
}

TEST_F(ImportTest, ModulesForMissingKernelAreNoted) {
    const auto notes_of = [&](const base::Json& kernels) {
        std::vector<std::string> notes;
        auto made = context(modules());
        made.note = [&](const std::string& text) { notes.push_back(text); };
        base::Json args = names_of(modules());
        args["kernel"] = "6.1.0-49-amd64";
        args["kernels"] = kernels;
        EXPECT_TRUE(code("store.stage").apply(made, args));
        next_transaction();
        return notes;
    };
    EXPECT_EQ(notes_of({"6.1.0-49-amd64", test_kernel}), std::vector<std::string>());
    EXPECT_EQ(
        notes_of({"6.1.0-48-amd64", "6.1.0-49-amd64"}),
        std::vector<std::string>{"modules for kernel 6.1.0-50-amd64, which is not installed here (installed: "
                                 "6.1.0-48-amd64, 6.1.0-49-amd64; running: 6.1.0-49-amd64)"});
}

#if defined(__aarch64__)
const std::string machine = "aarch64";
#else
const std::string machine = "x86_64";
#endif

TEST_F(ImportTest, RpmPackagesBecomeTheSameSets) {
    const std::string source = "./usr/src/nvidia-" + test_version + "/";
    const std::string dkms =
        tests::rpm_of("kmod-nvidia-open-dkms", test_version, "noarch",
                      {{source + "dkms.conf", "PACKAGE_NAME=nvidia"}, {source + "Makefile", "modules:\n"}});
    ASSERT_TRUE(import(
        {{"libs.rpm",
          tests::rpm_of(
              "nvidia-driver-cuda-libs", test_version, machine,
              {{"./usr/lib64/libnvidia-ml.so." + test_version, tests::library_image("libnvidia-ml.so.1")},
               {"./usr/lib64/libnvidia-ml.so.1", "", Type::Link, "libnvidia-ml.so." + test_version}})},
         {"cuda.rpm",
          tests::rpm_of("nvidia-driver-cuda", test_version, machine,
                        {{"./usr/bin/nvidia-smi", "program", Type::File, "", 0755}}, tests::Packing::Xz)},
         {"common.rpm",
          tests::rpm_of("nvidia-kmod-common", test_version, "noarch",
                        {{"./usr/lib/firmware/nvidia/" + test_version + "/gsp_ga10x.bin", "firmware"},
                         {"./usr/share/licenses/nvidia-kmod-common/LICENSE", "theirs"}},
                        tests::Packing::Gzip)},
         {"dkms.rpm", dkms}}));
    const Store now = store();
    ASSERT_EQ(now.problems, std::vector<std::string>{});
    ASSERT_EQ(now.versions.size(), 1U);
    const Userland& userland = now.versions[0].userland.at(0);
    EXPECT_TRUE(userland.nvml);
    EXPECT_EQ(root_.read_link(userland.path + "/lib/libnvidia-ml.so.1").value(),
              "libnvidia-ml.so." + test_version);
    EXPECT_EQ(root_.read(userland.path + "/bin/nvidia-smi").value(), "program");
    EXPECT_EQ(userland.firmware, std::vector<std::string>{"gsp_ga10x.bin"});
    EXPECT_EQ(root_.read(userland.path + "/doc/nvidia-kmod-common/LICENSE").value(), "theirs");
    const SourceSet& set = now.versions[0].sources.at(0);
    EXPECT_EQ(set.flavour, "open");
    EXPECT_EQ(set.file, "kmod-nvidia-open-dkms-" + test_version + "." + machine + ".rpm");
    EXPECT_EQ(set.directory, "usr/src/nvidia-" + test_version);
    EXPECT_EQ(set.sha256, content::sha256(dkms));
}

TEST_F(ImportTest, PackagedModulesBecomeASetForTheirKernel) {
    const std::string directory = "./lib/modules/" + test_kernel + "/extra/drivers/video/nvidia/";
    const auto kmod = [&](const std::string& version, const std::string& kernel) {
        return tests::rpm_of(
            "kmod-nvidia-open", test_version, machine,
            {{directory + "nvidia.ko.xz",
              tests::packed(tests::nvidia_module("nvidia", version, kernel, "drm"), tests::Packing::Xz)},
             {directory + "nvidia-uvm.ko", tests::nvidia_module("nvidia_uvm", version, kernel, "nvidia")},
             {directory + "other.ko", "not the driver's"}});
    };
    ASSERT_TRUE(import({{"kmod.rpm", kmod(test_version, test_kernel)}}));
    const Store now = store();
    const ModuleSet* set = now.modules_for(test_version, test_kernel, "open");
    ASSERT_NE(set, nullptr);
    ASSERT_EQ(set->modules.size(), 2U);
    EXPECT_EQ(set->modules[1].file, "nvidia.ko");
    EXPECT_EQ(set->modules[1].sha256, content::sha256(modules()[0].second))
        << "the same set as without a package";
    EXPECT_TRUE(now.versions[0].userland.empty());
    next_transaction();
    expect_error(stage({{"kmod.rpm", kmod("535.261.03", test_kernel)}}), Errc::BadContent,
                 "are 535.261.03 for 6.1.0-50-amd64, the package has version 550.163.01");
    expect_error(stage({{"kmod.rpm", kmod(test_version, "6.1.0-51-amd64")}}), Errc::BadContent,
                 "lib/modules/6.1.0-50-amd64 are 550.163.01 for 6.1.0-51-amd64");
    std::vector<tests::Member> many;
    for (int i = 0; i < 65; ++i)
        many.push_back({directory + "nvidia-" + std::to_string(i) + ".ko", "x"});
    expect_error(stage({{"many.rpm", tests::rpm_of("kmod-nvidia-open", test_version, machine, many)}}),
                 Errc::BadContent, "more than 64 modules");
    expect_error(
        stage({{"link.rpm", tests::rpm_of("kmod-nvidia-open", test_version, machine,
                                          {{directory + "nvidia.ko", "", Type::Link, "/etc/passwd"}})}}),
        Errc::Unsupported, "is a link");
}

TEST_F(ImportTest, RefusesRpmPackagesForOtherMachinesByName) {
    expect_error(stage({{"nvidia-driver-cuda-libs-550.163.01-1.el9.i686.rpm",
                         tests::rpm_of("nvidia-driver-cuda-libs", test_version, "i686", {})}}),
                 Errc::BadContent, "nvidia-driver-cuda-libs-550.163.01-1.el9.i686.rpm: is for i686");
    expect_error(stage({{"x.rpm", tests::rpm_of("nvidia-driver", test_version, machine, {}).substr(0, 150)}}),
                 Errc::BadContent, "not an RPM package");
    expect_error(stage({{"x.rpm", tests::rpm_of("nvidia-driver", test_version, machine,
                                                {{"../../etc/passwd", "x"}})}}),
                 Errc::BadContent, "points outside");
}

/// Returns a small .run installer with the structure of NVIDIA's.
std::string nvidia_run(const std::vector<tests::Member>& more = {},
                       const std::string& listed = test_version) {
    const std::string v = test_version;
    std::vector<tests::Member> members{{"./libcuda.so." + v, tests::library_image("libcuda.so.1")},
                                       {"./32/libcuda.so." + v, tests::library_image("libcuda.so.1")},
                                       {"./libnvidia-ml.so." + v, tests::library_image("libnvidia-ml.so.1")},
                                       {"./nvidia-smi", "program", Type::File, "", 0755},
                                       {"./nvidia-installer", "never run", Type::File, "", 0755},
                                       {"./usr/bin/evil", "not listed", Type::File, "", 0755},
                                       {"./firmware/gsp_ga10x.bin", "firmware"},
                                       {"./LICENSE", "theirs"},
                                       {"./kernel/dkms.conf", "PACKAGE_NAME=nvidia"},
                                       {"./kernel/Makefile", "modules:\n"},
                                       {"./kernel-open/dkms.conf", "PACKAGE_NAME=nvidia"},
                                       {"./kernel-open/Makefile", "modules:\n"},
                                       {"./kernel-open/conftest.sh", "#!/bin/sh\n", Type::File, "", 0755}};
    members.insert(members.end(), more.begin(), more.end());
    const std::string source = " 0644 KERNEL_MODULE_SRC INHERIT_PATH_DEPTH:1";
    return tests::run_of(
        listed,
        {"libcuda.so." + v + " 0755 CUDA_LIB NATIVE /", "libcuda.so 0000 CUDA_SYMLINK NATIVE / libcuda.so.1",
         "32/libcuda.so." + v + " 0755 CUDA_LIB COMPAT32 /",
         "libnvidia-ml.so." + v + " 0755 UTILITY_LIB NATIVE", "nvidia-smi 0755 UTILITY_BINARY",
         "nvidia-installer 0755 INSTALLER_BINARY",
         "firmware/gsp_ga10x.bin 0644 FIRMWARE INHERIT_PATH_DEPTH:1", "LICENSE 0644 DOCUMENTATION /",
         "kernel/dkms.conf 0644 DKMS_CONF INHERIT_PATH_DEPTH:1", "kernel/Makefile" + source,
         "kernel-open/dkms.conf 0644 DKMS_CONF INHERIT_PATH_DEPTH:1", "kernel-open/Makefile" + source,
         "kernel-open/conftest.sh" + source},
        members);
}

TEST_F(ImportTest, RunInstallerBecomesUserlandAndBothSources) {
    const auto imported = import({{"NVIDIA-Linux-550.run", nvidia_run()}});
    ASSERT_TRUE(imported) << imported.error().message;
    const Store now = store();
    ASSERT_EQ(now.problems, std::vector<std::string>{});
    const Userland& userland = now.versions[0].userland.at(0);
    EXPECT_EQ(root_.list(userland.path + "/bin").value(), std::vector<std::string>{"nvidia-smi"});
    EXPECT_EQ(root_.read_link(userland.path + "/lib/libcuda.so").value(), "libcuda.so.1");
    EXPECT_EQ(root_.read_link(userland.path + "/lib/libcuda.so.1").value(), "libcuda.so." + test_version);
    EXPECT_EQ(userland.firmware, std::vector<std::string>{"gsp_ga10x.bin"});
    EXPECT_EQ(root_.read(userland.path + "/doc/nvidia-driver/LICENSE").value(), "theirs");
    ASSERT_EQ(now.versions[0].sources.size(), 2U);
    std::map<std::string, std::string> digests;
    for (const SourceSet& source : now.versions[0].sources) {
        const std::string name = (source.flavour == "open" ? "nvidia-open-" : "nvidia-") + test_version;
        EXPECT_EQ(source.file, name + ".tar.zst");
        EXPECT_EQ(source.directory, "usr/src/" + name);
        digests[source.flavour] = source.digest;
        const auto fd = root_.open_file(source.path + "/" + source.file, O_RDONLY);
        const auto tree =
            unpack_source(fd->get(), source.file, source.directory, root_, "/" + source.flavour);
        ASSERT_TRUE(tree) << tree.error().message;
        EXPECT_EQ(root_.read("/" + source.flavour + "/Makefile").value(), "modules:\n");
    }
    EXPECT_EQ(root_.stat("/open/conftest.sh")->st_mode & 07777U, 0755U);
    EXPECT_FALSE(root_.exists("/proprietary/conftest.sh"));
    ASSERT_TRUE(import({{"again.run", nvidia_run()}}));
    const Store again = store();
    for (const SourceSet& source : again.versions[0].sources)
        EXPECT_EQ(source.digest, digests[source.flavour]) << "the digest depends only on the content";
}

TEST_F(ImportTest, ListOfGpusIsStoredWithTheUserland) {
    const std::string list =
        R"({"chips": [{"devid": "0x1DB6"}, {"devid": "0x2330", "features": ["kernelopen"]}]})";
    const auto smi = [](const std::string& text) {
        return Inputs{
            {"smi.deb", deb_of("nvidia-smi", "550.163.01-2",
                               {{"./usr/bin/nvidia-smi", "x", Type::File, "", 0755},
                                {"./usr/share/doc/nvidia/supported-gpus/supported-gpus.json", text}})}};
    };
    ASSERT_TRUE(import(smi(list)));
    const Store now = store();
    ASSERT_EQ(now.problems, std::vector<std::string>{});
    EXPECT_EQ(now.versions[0].userland.at(0).closed_gpus, std::vector<std::string>{"10de:1db6"});
    EXPECT_EQ(root_.list(now.versions[0].userland.at(0).path).value(),
              (std::vector<std::string>{"bin", "manifest.json"}));
    expect_error(stage(smi("{}")), Errc::BadContent, "smi.deb: supported-gpus.json: has no list of GPUs");
}

TEST_F(ImportTest, RefusesHostileRunFiles) {
    const auto refuse = [&](const std::string& content, Errc code, const std::string& text) {
        expect_error(stage({{"x.run", content}}), code, text);
    };
    refuse(nvidia_run({{"../../etc/passwd", "x"}}), Errc::BadContent, "points outside");
    refuse(nvidia_run({{"/etc/passwd", "x"}}), Errc::BadContent, "points outside");
    refuse(nvidia_run({{"./dev", "", Type::Device}}), Errc::BadContent, "device");
    refuse(nvidia_run({{"./nvidia-smi", "again", Type::File, "", 0755}}), Errc::BadContent, "occurs twice");
    refuse(nvidia_run({}, "535.261.03"), Errc::BadContent,
           "has version 550.163.01, the package has version 535.261.03");
    const std::string whole = nvidia_run();
    std::string other = whole;
    other.replace(other.find(test_version), test_version.size(), "550.163.02");
    refuse(other, Errc::BadContent, "version mismatch (.manifest: 550.163.01, header: 550.163.02)");
    other = whole;
    other.replace(other.find("Linux-"), 8, "Other-xx");
    refuse(other, Errc::BadContent, "its label is");
    other = whole;
    other.replace(other.find("CRCsum=0000000000"), 17, "CRCsum=1000000000");
    refuse(other, Errc::BadContent, "CRC mismatch");
    other = whole;
    other.replace(other.find("skip=6"), 6, "skip=9999999");
    refuse(other, Errc::BadContent, "after the file's end");
    for (std::size_t size = 0; size + 1 < whole.size(); size += 97)
        EXPECT_FALSE(stage({{"x.run", whole.substr(0, size)}})) << size << " of " << whole.size();
    EXPECT_FALSE(root_.exists("/etc/passwd"));
}

TEST_F(ImportTest, ModulesBecomeASetForTheirKernel) {
    ASSERT_TRUE(import(modules()));
    const Store now = store();
    const ModuleSet* set = now.modules_for(test_version, test_kernel, "open");
    ASSERT_NE(set, nullptr);
    ASSERT_EQ(set->modules.size(), 2U);
    EXPECT_EQ(set->modules[0].file, "nvidia-uvm.ko");
    EXPECT_EQ(set->modules[0].name, "nvidia_uvm");
    EXPECT_EQ(set->modules[0].depends, std::vector<std::string>{"nvidia"});
    EXPECT_EQ(set->modules[1].sha256, content::sha256(modules()[0].second));
    EXPECT_EQ(root_.read(set->path + "/nvidia.ko").value(), modules()[0].second);
}

TEST_F(ImportTest, CompressedAndRenamedModulesGiveTheSameSet) {
    ASSERT_TRUE(import(modules()));
    const std::string digest = store().modules_for(test_version, test_kernel)->digest;
    Inputs renamed = modules();
    renamed[0] = {"nvidia-current-open.ko.xz", tests::packed(renamed[0].second, tests::Packing::Xz)};
    renamed[1] = {"nvidia-current-open-uvm.ko.zst", tests::packed(renamed[1].second, tests::Packing::Zstd)};
    ASSERT_TRUE(import(renamed));
    ASSERT_EQ(store().versions[0].modules.size(), 1U);
    EXPECT_EQ(store().versions[0].modules[0].digest, digest);
}

TEST_F(ImportTest, PackagesOfDifferentVersionsAreRefused) {
    Inputs mixed = packages();
    mixed[1].second =
        deb_of("nvidia-smi", "535.261.03-1", {{"./usr/bin/nvidia-smi", "x", Type::File, "", 0755}});
    expect_error(stage(mixed), Errc::BadContent, "535.261.03 (nvidia-smi)");
}

TEST_F(ImportTest, RefusesFilesThatContradictTheirPackage) {
    expect_error(stage({{"gsp.deb", deb_of("firmware-nvidia-gsp", "550.163.01-2",
                                           {{"./lib/firmware/nvidia/535.261.03/gsp_ga10x.bin", "x"}})}}),
                 Errc::BadContent, "has version 535.261.03, the package has version 550.163.01");
    expect_error(stage({{"cuda.deb", deb_of("libcuda1", "550.163.01-2",
                                            {{library_directory() + "libcuda.so.550.163.01", "no ELF"}})}}),
                 Errc::BadContent, "not an ELF file");
    expect_error(stage({{"cuda.deb", deb_of("libcuda1", "550.163.01-2",
                                            {{library_directory() + "libcuda.so.550.163.01",
                                              tests::library_image("../evil.so")}})}}),
                 Errc::BadContent, "soname");
}

TEST_F(ImportTest, RefusesInvalidPackages) {
    expect_error(stage({{"x.deb", "no archive"}}), Errc::BadContent, "x.deb");
    expect_error(stage({{"x.deb", tests::ar_of({{"debian-binary", "2.0\n"}})}}), Errc::BadContent,
                 "control.tar");
    expect_error(stage({{"x.deb", tests::ar_of({{"debian-binary", "3.0\n"}})}}), Errc::BadContent,
                 "format version");
    expect_error(stage({{"x.deb", tests::ar_of({{"evil", "2.0\n"}})}}), Errc::BadContent, "debian-binary");
    expect_error(stage({{"x.deb", deb_of("../evil", "550.163.01-2", {})}}), Errc::BadContent,
                 "no package or version");
    expect_error(stage({{"x.deb", deb_of("nvidia-smi", "1:not-a-version", {})}}), Errc::BadContent,
                 "not a driver version");
    expect_error(
        stage({{"x.deb", deb_of("hello", "550.163.01-1", {{"./usr/share/doc/hello/copyright", "x"}})}}),
        Errc::BadContent, "no driver files found");
}

TEST_F(ImportTest, RefusesHostilePackages) {
    const auto hostile = [](const tests::Member& member) {
        return Inputs{{"x.deb", deb_of("nvidia-smi", "550.163.01-2", {member})}};
    };
    expect_error(stage(hostile({"../../etc/passwd", "x"})), Errc::BadContent, "points outside");
    expect_error(stage(hostile({"/usr/bin/nvidia-smi", "x"})), Errc::BadContent, "points outside");
    expect_error(stage(hostile({"./usr/bin/nvidia-smi", "", Type::Device})), Errc::BadContent, "device");
    expect_error(stage(hostile({"./usr/bin/nvidia-smi", "", Type::HardLink, "./etc/passwd", 0755})),
                 Errc::Unsupported, "hard link");
    EXPECT_FALSE(root_.exists("/etc/passwd"));
    const auto linked =
        stage({{"x.deb", deb_of("nvidia-smi", "550.163.01-2",
                                {{"./usr/bin/nvidia-smi", "x", Type::File, "", 0755},
                                 {library_directory() + "libcuda.so.1", "", Type::Link, "/etc/passwd"}})}});
    ASSERT_TRUE(linked);
    EXPECT_FALSE(root_.exists(staging_ + "/userland/lib/libcuda.so.1")) << "a dangling link is dropped";
}

TEST_F(ImportTest, TruncatedPackageIsRefusedAtEveryLength) {
    const std::string whole = packages()[0].second;
    for (std::size_t size = 0; size + 1 < whole.size(); size += 41)
        EXPECT_FALSE(stage({{"ml.deb", whole.substr(0, size)}})) << size << " of " << whole.size();
}

TEST_F(ImportTest, RefusesTheSameFileFromTwoPackages) {
    Inputs twice = packages();
    twice[2] = {"other.deb", deb_of("nvidia-other", "550.163.01-2",
                                    {{"./usr/bin/nvidia-smi", "x", Type::File, "", 0755}})};
    expect_error(stage(twice), Errc::BadContent, "two packages contain 'bin/nvidia-smi'");
}

TEST_F(ImportTest, RefusesModulesThatDoNotBelongTogether) {
    Inputs mixed = modules();
    mixed[1].second = tests::nvidia_module("nvidia_uvm", "535.261.03", test_kernel);
    expect_error(stage(mixed), Errc::BadContent,
                 "nvidia-uvm.ko is version 535.261.03, nvidia.ko is 550.163.01");
    mixed[1].second = tests::nvidia_module("nvidia_uvm", test_version, "6.1.0-56-amd64");
    expect_error(stage(mixed), Errc::BadContent, "nvidia-uvm.ko is for kernel 6.1.0-56-amd64");
    expect_error(stage({modules()[1]}), Errc::BadContent, "nvidia.ko is not among");
    mixed[1] = {"again.ko", modules()[0].second};
    expect_error(stage(mixed), Errc::BadContent, "two files have the path 'nvidia.ko'");
    mixed[1] = {"nvidia-uvm.ko", modules()[1].second.substr(0, 300)};
    expect_error(stage(mixed), Errc::BadContent, "nvidia-uvm.ko: ");
    mixed[1].second = tests::module_image({{"name", "../evil"}, {"vermagic", "6.1 "}});
    expect_error(stage(mixed), Errc::BadContent, "invalid module name");
}

TEST_F(ImportTest, SpaceIsCheckedBeforeTheFirstByte) {
    const std::string control =
        "Package: nvidia-smi\nVersion: 550.163.01-2\nArchitecture: all\nInstalled-Size: 60000000000\n";
    const std::string huge =
        tests::ar_of({{"debian-binary", "2.0\n"},
                      {"control.tar", tests::tar_of({{"./control", control}})},
                      {"data.tar", tests::tar_of({{"./usr/bin/nvidia-smi", "x", Type::File, "", 0755}})}});
    const auto staged = stage({{"huge.deb", huge}});
    expect_error(staged, Errc::NoSpace, "MiB are free");
    EXPECT_EQ(root_.list(staging_).value(), std::vector<std::string>{});
}

TEST_F(ImportTest, UnpackedSizeIsLimitedDespiteInstalledSize) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
    const std::string control =
        "Package: nvidia-smi\nVersion: 550.163.01-2\nArchitecture: all\nInstalled-Size: 1\n";
    const std::string data =
        tests::tar_of({{"./usr/bin/nvidia-smi", std::string(mib, '\0'), Type::File, "", 0755}});
    directory_.write("bomb.deb", tests::ar_of({{"debian-binary", "2.0\n"},
                                               {"control.tar", tests::tar_of({{"./control", control}})},
                                               {"data.tar.xz", tests::packed(data, tests::Packing::Xz)}}));
    const auto fd = root_.open_file("/bomb.deb", O_RDONLY);
    const auto staging = base::Root::open(root_.host_path(staging_));
    const auto import = [&](std::uint64_t space) {
        return stage_packages(*staging, {{fd->get(), "bomb.deb"}}, space, [](double, std::string_view) {});
    };
    const auto staged = import(mib - 1);
    ASSERT_FALSE(staged);
    EXPECT_EQ(staged.error().code, Errc::NoSpace);
    EXPECT_NE(staged.error().message.find("bomb.deb: 'usr/bin/nvidia-smi': not enough space"),
              std::string::npos)
        << staged.error().message;
    EXPECT_TRUE(import(mib));
}

TEST_F(ImportTest, MissingInputsAreInterrupted) {
    auto made = context();
    const auto staged = code("store.stage").apply(made, names_of(packages()));
    ASSERT_FALSE(staged);
    EXPECT_EQ(staged.error().code, Errc::Interrupted);
}

TEST_F(ImportTest, StagingAgainAfterAnInterruptionSucceeds) {
    ASSERT_TRUE(stage(packages()));
    directory_.write(staging_.substr(1) + "/userland/lib/half", "left by a killed worker");
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(apply("store.publish"));
    EXPECT_EQ(store().problems, std::vector<std::string>{});
    EXPECT_TRUE(apply("store.verify"));
}

// --- publish

TEST_F(ImportTest, PublishRefusesFilesChangedAfterStaging) {
    ASSERT_TRUE(stage(packages()));
    directory_.write(staging_.substr(1) + "/userland/bin/nvidia-smi", "PROGRAM");
    expect_error(apply("store.publish"), Errc::BadContent, "bin/nvidia-smi: digest mismatch");
    EXPECT_TRUE(store().versions.empty());
}

TEST_F(ImportTest, PublishRefusesFilesOfAHostileParser) {
    const std::string tree = staging_ + "/userland";
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(root_.symlink_atomic("../../../../../../../etc/shadow", tree + "/lib/evil"));
    expect_error(apply("store.publish"), Errc::BadContent, "points outside");
    ASSERT_TRUE(stage(packages()));
    ASSERT_EQ(::mkfifo(directory_.path(tree + "/lib/pipe").c_str(), 0600), 0);
    expect_error(apply("store.publish"), Errc::BadContent, "device, socket or pipe");
    ASSERT_TRUE(stage(packages()));
    directory_.write("secret", "x");
    ASSERT_EQ(::link(directory_.path("secret").c_str(), directory_.path(tree + "/lib/secret").c_str()), 0);
    expect_error(apply("store.publish"), Errc::BadContent, "more than one name");
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(root_.remove_tree(tree));
    ASSERT_TRUE(root_.symlink_atomic("/secret", tree));
    EXPECT_FALSE(apply("store.publish"));
    EXPECT_TRUE(store().versions.empty());
}

TEST_F(ImportTest, LinksToSetsElsewhereAreNotPublished) {
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(root_.remove_tree(staging_ + "/source"));
    std::filesystem::create_directories(directory_.path("elsewhere"));
    std::filesystem::rename(directory_.path(staging_ + "/userland"), directory_.path("elsewhere/userland"));
    ASSERT_TRUE(root_.make_directories(staging_ + "/bundled"));
    for (const char* link : {"/modules", "/source", "/bundled/1"}) {
        ASSERT_TRUE(root_.symlink_atomic("/elsewhere", staging_ + link));
        expect_error(apply("store.publish"), Errc::BadContent, "is not a directory");
        ASSERT_TRUE(root_.remove(staging_ + link));
    }
    EXPECT_TRUE(root_.exists("/elsewhere/userland"));
}

TEST_F(ImportTest, TemporaryFileOfAnInterruptedPublishIsIgnored) {
    ASSERT_TRUE(stage(modules()));
    directory_.write(staging_.substr(1) + "/modules/.published.json.1.tmp", "{");
    ASSERT_TRUE(apply("store.publish"));
    EXPECT_EQ(store().versions[0].modules.size(), 1U);
}

TEST_F(ImportTest, SecondPublishChangesNothing) {
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(apply("store.publish"));
    ASSERT_TRUE(apply("store.publish")) << "as after a crash between its last rename and its answer";
    EXPECT_EQ(store().versions[0].userland.size(), 1U);
    ASSERT_TRUE(undo("store.publish"));
    EXPECT_TRUE(store().versions.empty());
    EXPECT_TRUE(root_.list("/var/lib/gpuhost/driver").value().empty());
}

TEST_F(ImportTest, UndoRemovesOnlySetsOfThisTransaction) {
    ASSERT_TRUE(import(modules()));
    ASSERT_TRUE(import(packages()));
    ASSERT_TRUE(stage(packages()));
    ASSERT_TRUE(apply("store.publish"));
    ASSERT_TRUE(undo("store.publish"));
    EXPECT_EQ(store().versions[0].userland.size(), 1U);
    EXPECT_EQ(store().versions[0].modules.size(), 1U);
}

TEST_F(ImportTest, UndoWithoutApplyChangesNothing) {
    ASSERT_TRUE(import(packages()));
    EXPECT_TRUE(undo("store.publish"));
    EXPECT_TRUE(undo("store.stage"));
    EXPECT_EQ(store().versions.size(), 1U);
}

TEST_F(ImportTest, ImportRepairsADamagedSet) {
    ASSERT_TRUE(import(modules()));
    const std::string path = store().versions[0].modules[0].path;
    ASSERT_EQ(::chmod(directory_.path(path + "/nvidia.ko").c_str(), 0644), 0);
    directory_.write(path.substr(1) + "/nvidia.ko", "damaged");
    expect_error(apply("store.verify"), Errc::BadContent, path + "/nvidia.ko: size mismatch (manifest: ");
    ASSERT_TRUE(import(modules()));
    EXPECT_TRUE(apply("store.verify"));
    EXPECT_EQ(store().versions[0].modules.size(), 1U);
}

TEST_F(ImportTest, SecondRepairOfASetChangesNothing) {
    ASSERT_TRUE(import(modules()));
    const std::string path = store().versions[0].modules[0].path;
    ASSERT_EQ(::chmod(directory_.path(path + "/nvidia.ko").c_str(), 0644), 0);
    directory_.write(path.substr(1) + "/nvidia.ko", "damaged");
    ASSERT_TRUE(stage(modules()));
    ASSERT_TRUE(apply("store.publish"));
    const auto again = apply("store.publish");
    ASSERT_TRUE(again) << "as after a crash between the exchange and its answer: " << again.error().message;
    EXPECT_EQ((*again)["sets"], base::Json{path});
    EXPECT_TRUE(apply("store.verify"));
}

TEST_F(ImportTest, ReimportedSetIsTheNewest) {
    const auto with_drm = [this] {
        Inputs more = modules();
        more.emplace_back("nvidia-drm.ko",
                          tests::nvidia_module("nvidia_drm", test_version, test_kernel, "nvidia"));
        return more;
    };
    ASSERT_TRUE(import(modules()));
    const std::string older = store().modules_for(test_version, test_kernel)->digest;
    const std::string manifest = store().modules_for(test_version, test_kernel)->path + "/manifest.json";
    const timespec long_ago[2]{{1'000'000, 0}, {1'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, directory_.path(manifest).c_str(), long_ago, 0), 0);
    ASSERT_TRUE(import(with_drm()));
    ASSERT_NE(store().modules_for(test_version, test_kernel)->digest, older);
    ASSERT_TRUE(import(modules()));
    EXPECT_EQ(store().versions[0].modules.size(), 2U);
    EXPECT_EQ(store().modules_for(test_version, test_kernel)->digest, older);
}

TEST_F(ImportTest, DamagedSetsErrorHintsAtItsRepair) {
    ASSERT_TRUE(import(packages()));
    ASSERT_TRUE(import(modules()));
    const DriverVersion version = store().versions[0];
    const std::string import_again = "550.163.01 again: gpuhostctl driver import";
    EXPECT_NE(mending_hint(version.userland[0].path).find(import_again), std::string::npos);
    EXPECT_NE(mending_hint(version.sources[0].path + "/x.deb: digest mismatch").find(import_again),
              std::string::npos);
    ASSERT_TRUE(root_.remove(version.modules[0].path + "/nvidia.ko"));
    const auto verified = apply("store.verify");
    ASSERT_FALSE(verified);
    EXPECT_NE(verified.error().hint.find("driver build 550.163.01 --kernel=6.1.0-50-amd64 --again"),
              std::string::npos)
        << verified.error().hint;
}

TEST_F(ImportTest, PublishChecksVersionAndKernels) {
    ASSERT_TRUE(stage(modules()));
    expect_error(apply("store.publish", {{"version", "535.261.03"}}), Errc::BadContent,
                 "expected 535.261.03");
    expect_error(apply("store.publish", {{"version", test_version}, {"kernels", {"6.1.0-56-amd64"}}}),
                 Errc::BadContent, "no modules for kernel 6.1.0-56-amd64");
    EXPECT_TRUE(apply("store.publish", {{"version", test_version}, {"kernels", {test_kernel}}}));
    next_transaction();
    expect_error(apply("store.publish"), Errc::BadContent, "nothing was staged");
}

} // namespace
} // namespace gpuhost::kmod
