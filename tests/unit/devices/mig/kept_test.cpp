// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/devices/mig/kept.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::devices {
namespace {

using Texts = std::vector<std::string>;

MigGpu gpu(const std::string& number, std::vector<GpuInstance> instances) {
    return {"GPU-" + number, "0000:0" + number + ":00.0", true, std::move(instances), ""};
}

const GpuInstance one{7, 0, {0, 1}, {{0, 0, 0, {0, 1}, "MIG-2"}}};
const GpuInstance other{8, 0, {1, 1}, {}};
const GpuInstance third{9, 0, {2, 1}, {}};

KeptMig only(Geometry gpus) {
    return {std::move(gpus), {}, {}};
}

TEST(KeepPresentTest, PresentInstancesReplaceThoseOfTheGpu) {
    const KeptMig kept = keep_present(only({gpu("1", {one})}), {gpu("1", {other}), gpu("2", {one})}, {});
    EXPECT_EQ(kept.gpus, (Geometry{gpu("1", {other}), gpu("2", {one})}));
    EXPECT_EQ(kept.problems, Texts{});
}

TEST(KeepPresentTest, DestroyedInstancesStayKept) {
    const KeptMig kept =
        keep_present(only({gpu("1", {one}), gpu("2", {one})}), {gpu("1", {}), gpu("2", {one})}, {});
    EXPECT_EQ(kept.gpus, (Geometry{gpu("1", {one}), gpu("2", {one})}));
    ASSERT_EQ(kept.problems.size(), 1U);
    EXPECT_NE(kept.problems[0].find("GPU 0000:01:00.0 (GPU-1) are missing"), std::string::npos);
    EXPECT_NE(kept.problems[0].find("destroyed"), std::string::npos);
}

TEST(KeepPresentTest, MissingGpuStaysKept) {
    const KeptMig kept = keep_present(only({gpu("1", {one})}), {gpu("2", {other})}, {});
    EXPECT_EQ(kept.gpus, (Geometry{gpu("1", {one}), gpu("2", {other})}));
    EXPECT_EQ(kept.problems.size(), 1U);
}

TEST(KeepPresentTest, UndescribedGpuStaysKept) {
    MigGpu broken = gpu("1", {});
    broken.problem = "nvmlDeviceGetMigMode: GPU is lost";
    const KeptMig kept = keep_present(only({gpu("1", {one})}), {broken, broken}, {});
    EXPECT_EQ(kept.gpus, Geometry{gpu("1", {one})});
    ASSERT_EQ(kept.problems.size(), 1U);
    EXPECT_NE(kept.problems[0].find("GPU is lost"), std::string::npos);
}

TEST(KeepPresentTest, FailureKeepsWhatWasCreatedPartly) {
    const KeptMig kept =
        keep_present(only({gpu("1", {one, other})}), {gpu("1", {one})}, {{"GPU-1", "too small"}});
    EXPECT_EQ(kept.gpus, (Geometry{gpu("1", {one, other})}));
    ASSERT_EQ(kept.problems.size(), 1U);
    EXPECT_NE(kept.problems[0].find(": too small"), std::string::npos);
}

TEST(KeepPresentTest, PartOfFailedInstancesStaysAFailure) {
    const KeptMig failed =
        keep_present(only({gpu("1", {one, other})}), {gpu("1", {one})}, {{"GPU-1", "too small"}});
    EXPECT_EQ(keep_present(failed, {gpu("1", {one})}, {}), failed) << "another GPU has changed";
    EXPECT_EQ(keep_present(failed, {gpu("1", {other})}, {}).gpus, failed.gpus);
    EXPECT_EQ(keep_present(failed, {gpu("1", {})}, {}).problems, failed.problems);
    EXPECT_EQ(keep_present(failed, {}, {}), failed) << "NVML is silent";
}

TEST(KeepPresentTest, ForeignInstancesKeepAFailureUntilTheyChange) {
    const KeptMig failed =
        keep_present(only({gpu("1", {one})}), {gpu("1", {other})}, {{"GPU-1", "others exist"}});
    EXPECT_EQ(keep_present(failed, {gpu("1", {other})}, {}), failed);
    const KeptMig changed = keep_present(failed, {gpu("1", {other, third})}, {});
    EXPECT_EQ(changed, only({gpu("1", {other, third})})) << "an administrator has decided";
}

TEST(KeepPresentTest, CreatedInstancesEndAFailure) {
    const KeptMig failed =
        keep_present(only({gpu("1", {one, other})}), {gpu("1", {one})}, {{"GPU-1", "too small"}});
    const Geometry whole{gpu("1", {one, other})};
    EXPECT_EQ(keep_present(failed, whole, {}), only(whole));
}

TEST(KeepPresentTest, WholeGpusAreNotKept) {
    MigGpu whole = gpu("1", {});
    whole.split = false;
    EXPECT_EQ(keep_present({}, {whole}, {}), KeptMig{});
}

class KeptTest : public testing::Test {
  protected:
    tests::TempDir host_;
    base::Root root_ = host_.root();
};

TEST_F(KeptTest, FileIsReadAsItWasWritten) {
    EXPECT_FALSE(read_kept(root_).value());
    MigGpu failed = gpu("1", {});
    failed.problem = "too small";
    const KeptMig kept{{gpu("1", {one})}, {"gpu0/mig/gi7"}, {"a problem"}, {failed}};
    ASSERT_TRUE(write_kept(root_, kept));
    EXPECT_EQ(read_kept(root_).value(), kept);
}

TEST_F(KeptTest, NoInstancesRemoveTheFile) {
    ASSERT_TRUE(write_kept(root_, {{gpu("1", {one})}, {}, {}}));
    ASSERT_TRUE(write_kept(root_, {{gpu("1", {})}, {}, {}}));
    EXPECT_FALSE(root_.exists(kept_path));
}

TEST_F(KeptTest, DamagedFileIsAnError) {
    ASSERT_TRUE(root_.make_directories("/var/lib/gpuhost"));
    for (const char* text : {"", "{", "{}", R"({"gpus": [], "instances": 1, "problems": []})"}) {
        ASSERT_TRUE(root_.write_atomic(kept_path, text));
        const auto kept = read_kept(root_);
        ASSERT_FALSE(kept) << text;
        EXPECT_EQ(kept.error().code, base::Errc::BadContent);
    }
}

TEST_F(KeptTest, RecreationIsDueOncePerBoot) {
    EXPECT_FALSE(is_recreation_due(root_));
    ASSERT_TRUE(write_kept(root_, {{gpu("1", {one})}, {}, {}}));
    EXPECT_TRUE(is_recreation_due(root_));
    ASSERT_TRUE(root_.make_directories("/run/gpuhost"));
    ASSERT_TRUE(root_.write_atomic(tried_path, ""));
    EXPECT_FALSE(is_recreation_due(root_));
}

} // namespace
} // namespace gpuhost::devices
