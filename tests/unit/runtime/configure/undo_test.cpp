// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/runtime/configure/undo.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

class RuntimeUndoTest : public testing::Test {
  protected:
    static constexpr const char* staging = "/var/lib/gpuhost/staging/1";

    void write_copies(std::string_view text) const {
        host_.write(std::string(staging) + "/runtime-undo.json", text);
    }
    [[nodiscard]] FileChange change() const { return {"/etc/x.toml", Text("theirs"), Text("ours")}; }

    tests::TempDir host_;
    base::Root root_ = host_.root();
    base::Json settings_ = base::Json::object();
    core::StepContext context_{root_, settings_, "boot", staging, {}, {}};
};

TEST_F(RuntimeUndoTest, CopiesAreRestored) {
    host_.write("etc/x.toml", "theirs");
    auto undo = RuntimeUndo::read(context_);
    ASSERT_TRUE(undo);
    RuntimeChange made;
    made.files = {change()};
    ASSERT_TRUE(undo->save("crio", made, {}, std::nullopt));
    host_.write("etc/x.toml", "ours");
    const auto again = RuntimeUndo::read(context_);
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->put_all_back(false));
    EXPECT_EQ(root_.read("/etc/x.toml").value_or(""), "theirs");
}

TEST_F(RuntimeUndoTest, DropInThatChangedFileImportsStays) {
    const std::string drop_in = "/etc/conf.d/ours.toml";
    std::vector<std::string> warnings;
    context_.warn = [&](const std::string& text) { warnings.push_back(text); };
    auto undo = RuntimeUndo::read(context_);
    ASSERT_TRUE(undo);
    RuntimeChange made;
    made.files = {{drop_in, Text(), Text("ours")}, change()};
    ASSERT_TRUE(undo->save("crio", made, {}, std::nullopt));
    host_.write("etc/conf.d/ours.toml", "ours");
    host_.write("etc/x.toml", "imports = [\"" + drop_in + "\"]");
    EXPECT_TRUE(undo->put_all_back(false));
    EXPECT_EQ(root_.read(drop_in).value_or(""), "ours");
    EXPECT_EQ(warnings, (std::vector<std::string>{
                            "'/etc/x.toml' was changed meanwhile by another program, so it is left unchanged",
                            "'" + drop_in + "' is left in place too, because that file refers to it"}));
}

// Without this, an undo would leave the files as they are and succeed, and another try of the step would save
// its own files as those of the administrator.
TEST_F(RuntimeUndoTest, UnreadableCopiesAreAnError) {
    write_copies("{\"crio\": {\"files\"");
    EXPECT_FALSE(RuntimeUndo::read(context_));
    ASSERT_TRUE(root_.remove(std::string(staging) + "/runtime-undo.json"));
    ASSERT_TRUE(root_.make_directories(std::string(staging) + "/runtime-undo.json"));
    EXPECT_FALSE(RuntimeUndo::read(context_));
}

} // namespace
} // namespace gpuhost::runtime
