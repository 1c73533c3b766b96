// SPDX-License-Identifier: Apache-2.0
#include "kmod/boot/removed_kernels.hpp"
#include "tests/unit/kmod/store_fixture.hpp"

namespace gpuhost::kmod {
namespace {

using base::Errc;

class RemovedKernels : public StoreTest {
  protected:
    void SetUp() override {
        directory_.write("proc/sys/kernel/osrelease", test_kernel + "\n");
        directory_.write("lib/modules/" + test_kernel + "/modules.builtin", "");
        for (const std::string& kernel : {test_kernel, gone_}) {
            ASSERT_TRUE(write_selection(root_, kernel, {{test_version, "u", "m"}, std::nullopt}));
            ASSERT_TRUE(root_.make_directories("/var/lib/gpuhost/driver/boot"));
            ASSERT_TRUE(root_.make_directories("/lib/modules/" + kernel + "/updates"));
            ASSERT_TRUE(root_.symlink_atomic("../generation/x", boot(kernel)));
            ASSERT_TRUE(root_.symlink_atomic(boot(kernel) + "/modules", updates(kernel)));
        }
    }
    static std::string boot(const std::string& kernel) { return "/var/lib/gpuhost/driver/boot/" + kernel; }
    static std::string updates(const std::string& kernel) {
        return "/lib/modules/" + kernel + "/updates/gpuhost";
    }
    static std::string record(const std::string& kernel) {
        return "/var/lib/gpuhost/driver/selected/" + kernel;
    }
    [[nodiscard]] base::Json found() const {
        base::Json found = base::Json::array();
        for (const RemovedKernel& kernel : find_removed_kernels(root_, test_kernel))
            found.push_back(to_json(kernel));
        return found;
    }
    [[nodiscard]] unsigned left(const std::string& kernel) const {
        return unsigned{root_.exists(boot(kernel))} + unsigned{root_.exists(updates(kernel))} +
               unsigned{root_.exists(record(kernel))};
    }

    const std::string gone_ = "6.1.0-40-amd64";
};

TEST_F(RemovedKernels, KernelsWithLeftoversAreFound) {
    const base::Json kernels = found();
    ASSERT_EQ(kernels.size(), 1U) << kernels;
    EXPECT_EQ(kernels[0]["kernel"], gone_);
    EXPECT_EQ(kernels[0]["boot"], "../generation/x");
    EXPECT_EQ(kernels[0]["modules"], boot(gone_) + "/modules");
    directory_.write("lib/modules/" + gone_ + "/kernel/x.ko", "");
    EXPECT_TRUE(found().empty()) << "the kernel is installed";
    ASSERT_TRUE(root_.remove_tree("/lib/modules"));
    EXPECT_EQ(found().size(), 1U) << "the running kernel does not count";
    EXPECT_EQ(found()[0]["modules"], "");
    ASSERT_TRUE(root_.remove(record(gone_)));
    EXPECT_EQ(found().size(), 1U) << "only a link is left";
    ASSERT_TRUE(root_.remove(boot(gone_)));
    EXPECT_TRUE(found().empty());
}

TEST_F(RemovedKernels, ForgetAndUndoAreRepeatable) {
    const base::Json args = found()[0];
    for (const char* ending : {"", ".log", ".unfinished"})
        directory_.write("var/lib/gpuhost/driver/initramfs/" + gone_ + ending, "");
    ASSERT_TRUE(undo("store.forget", args)) << "before apply";
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 2; ++i)
            ASSERT_TRUE(apply("store.forget", args)) << "run again after a crash";
        EXPECT_EQ(left(gone_), 0U);
        EXPECT_FALSE(root_.exists("/lib/modules/" + gone_))
            << "the directory was created for gpuhostd's link";
        EXPECT_TRUE(found().empty());
        EXPECT_EQ(root_.list("/var/lib/gpuhost/driver/initramfs")->size(), 0U);
        for (int i = 0; i < 2; ++i)
            ASSERT_TRUE(undo("store.forget", args));
        EXPECT_EQ(found()[0], args);
    }
    EXPECT_EQ(left(test_kernel), 3U);
}

/// Leftovers of a killed worker.
TEST_F(RemovedKernels, UndoRestoresPartlyRemovedKernels) {
    const base::Json args = found()[0];
    for (const std::string& path : {updates(gone_), record(gone_), boot(gone_)}) {
        ASSERT_TRUE(root_.remove(path));
        ASSERT_TRUE(undo("store.forget", args)) << path;
        EXPECT_EQ(found()[0], args) << path;
        ASSERT_TRUE(root_.remove(path));
        ASSERT_TRUE(apply("store.forget", args)) << path;
        ASSERT_TRUE(undo("store.forget", args)) << path;
    }
}

TEST_F(RemovedKernels, ForeignFilesAreKept) {
    ASSERT_TRUE(root_.symlink_atomic("/somebody/elses", updates(gone_)));
    directory_.write("lib/modules/" + gone_ + "/updates/other.ko", "");
    const base::Json args = found()[0];
    EXPECT_EQ(args["modules"], "");
    ASSERT_TRUE(apply("store.forget", args));
    EXPECT_TRUE(root_.exists(updates(gone_)));
    EXPECT_FALSE(root_.exists(boot(gone_)));
}

TEST_F(RemovedKernels, ReinstalledKernelIsNotForgotten) {
    const base::Json args = found()[0];
    directory_.write("lib/modules/" + gone_ + "/modules.builtin", "");
    auto made = context();
    const auto problems = code("store.forget").preflight(made, args);
    ASSERT_TRUE(problems);
    ASSERT_EQ(problems->size(), 1U);
    EXPECT_EQ(problems->front().code, Errc::InUse);
    EXPECT_FALSE(apply("store.forget", args));
    EXPECT_FALSE(apply("store.forget", {{"kernel", test_kernel}}));
    EXPECT_FALSE(apply("store.forget", {{"kernel", "../x"}}));
    EXPECT_EQ(left(gone_), 3U);
}

} // namespace
} // namespace gpuhost::kmod
