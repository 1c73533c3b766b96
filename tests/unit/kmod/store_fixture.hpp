// SPDX-License-Identifier: Apache-2.0
// A driver store in a temporary root. Runs the store's steps on it as a worker does.
#pragma once

#include "daemon/core/plan.hpp"
#include "kmod/plan/step_kinds.hpp"
#include "kmod/store/store.hpp"
#include "tests/support/archives.hpp"
#include "tests/support/elf_images.hpp"
#include "tests/support/tmpdir.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace gpuhost::kmod {

inline const std::string test_version = "550.163.01";
inline const std::string test_kernel = "6.1.0-50-amd64";

class StoreTest : public testing::Test {
  protected:
    StoreTest() {
        codes_.add(step_code());
        EXPECT_TRUE(root_.make_directories(staging_));
    }

    /// The files of an import, by name and content.
    using Inputs = std::vector<std::pair<std::string, std::string>>;

    core::StepContext context(const Inputs& inputs = {}) {
        core::StepContext made{root_, settings_, "boot", staging_, {}, [](double, std::string_view) {}};
        for (const auto& [name, content] : inputs) {
            directory_.write("inputs/" + name, content);
            made.inputs.push_back(std::move(*root_.open_file("/inputs/" + name, O_RDONLY)));
        }
        return made;
    }

    [[nodiscard]] static base::Json names_of(const Inputs& inputs) {
        base::Json names = base::Json::array();
        for (const auto& [name, content] : inputs)
            names.push_back(name);
        return base::Json{{"names", names}};
    }

    base::Result<base::Json> stage(const Inputs& inputs) {
        auto made = context(inputs);
        return code("store.stage").apply(made, names_of(inputs));
    }

    base::Result<base::Json> apply(const std::string& name, const base::Json& args = base::Json::object()) {
        auto made = context();
        GPUHOST_TRY(output, code(name).apply(made, args));
        if (code(name).verify)
            GPUHOST_CHECK(code(name).verify(made, args));
        return std::move(output);
    }

    base::Result<void> undo(const std::string& name, const base::Json& args = base::Json::object()) {
        auto made = context();
        return code(name).undo ? code(name).undo(made, args) : base::Result<void>();
    }

    /// Runs stage and publish, then empties the staging directory as the runner does.
    base::Result<void> import(const Inputs& inputs) {
        GPUHOST_CHECK(stage(inputs));
        GPUHOST_CHECK(apply("store.publish"));
        next_transaction();
        return {};
    }

    void next_transaction() {
        ASSERT_TRUE(root_.remove_tree(staging_));
        staging_ = "/var/lib/gpuhost/staging/" + std::to_string(++transaction_);
        ASSERT_TRUE(root_.make_directories(staging_));
    }

    [[nodiscard]] const core::StepCode& code(const std::string& name) const { return *codes_.find(name); }
    [[nodiscard]] Store store() const { return read_store(root_).value(); }

    [[nodiscard]] static Inputs modules(const std::string& version = test_version,
                                        const std::string& kernel = test_kernel) {
        return {{"nvidia.ko", tests::nvidia_module("nvidia", version, kernel, "drm")},
                {"nvidia-uvm.ko", tests::nvidia_module("nvidia_uvm", version, kernel, "nvidia")}};
    }

    [[nodiscard]] static std::string library_directory() {
#if defined(__aarch64__)
        return "./usr/lib/aarch64-linux-gnu/nvidia/current/";
#else
        return "./usr/lib/x86_64-linux-gnu/nvidia/current/";
#endif
    }

    /// Returns small packages with the structure of Debian's.
    [[nodiscard]] static Inputs packages(const std::string& version = test_version) {
        const std::string library = "libnvidia-ml.so." + version;
        return {
            {"ml.deb",
             tests::deb_of("libnvidia-ml1", version + "-2",
                           {{library_directory() + library, tests::library_image("libnvidia-ml.so.1")},
                            {library_directory() + "libnvidia-ml.so", "", tests::Member::Type::Link,
                             "libnvidia-ml.so.1"},
                            {"./usr/share/doc/libnvidia-ml1/copyright", "free"},
                            {"./usr/share/doc/libnvidia-ml1/changelog.gz", "much"}})},
            {"smi.deb", tests::deb_of("nvidia-smi", version + "-2",
                                      {{"./usr/lib/nvidia/current/nvidia-smi", "program",
                                        tests::Member::Type::File, "", 0755}},
                                      tests::Packing::Zstd)},
            {"gsp.deb", tests::deb_of("firmware-nvidia-gsp", version + "-2",
                                      {{"./lib/firmware/nvidia/" + version + "/gsp_ga10x.bin", "firmware"}},
                                      tests::Packing::Gzip)},
            {"dkms.deb", source_package(version)}};
    }

    [[nodiscard]] static std::string source_package(const std::string& version,
                                                    const std::string& makefile = "modules:\n\tfalse\n") {
        const std::string directory = "./usr/src/nvidia-current-open-" + version + "/";
        return tests::deb_of(
            "nvidia-open-kernel-dkms", version + "-2",
            {{directory + "dkms.conf", "PACKAGE_NAME=nvidia"},
             {directory + "Makefile", makefile},
             {directory + "nvidia/nv.c", "int nvidia;\n"},
             {directory + "conftest.sh", "#!/bin/sh\n", tests::Member::Type::File, "", 0755}});
    }

    static void expect_error(const base::Result<base::Json>& result, base::Errc code,
                             const std::string& text) {
        ASSERT_FALSE(result) << "expected: " << text;
        EXPECT_EQ(result.error().code, code) << result.error().message;
        EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    base::Json settings_ = base::Json::object();
    core::StepCodes codes_;
    unsigned transaction_ = 1;
    std::string staging_ = "/var/lib/gpuhost/staging/1";
};

} // namespace gpuhost::kmod
