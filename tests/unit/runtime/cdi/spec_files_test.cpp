// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/installed.hpp"
#include "daemon/base/json.hpp"
#include "daemon/runtime/cdi/facts.hpp"
#include "daemon/runtime/cdi/spec_documents.hpp"
#include "daemon/runtime/cdi/spec_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;
using Texts = std::vector<std::string>;

/// Returns a specification whose devices set one variable.
Json spec(const Texts& names, const Json& edits = Json::object()) {
    Json devices = Json::array();
    for (const std::string& name : names)
        devices.push_back({{"name", name}, {"containerEdits", {{"env", {"DEVICE=" + name}}}}});
    return {
        {"cdiVersion", "1.1.0"}, {"kind", "nvidia.com/gpu"}, {"devices", devices}, {"containerEdits", edits}};
}

Json mount(const std::string& path) {
    return {{"hostPath", path}, {"containerPath", path}};
}

class SpecFilesTest : public testing::Test {
  protected:
    void write(const std::string& path, const Json& document) const { host_.write(path, document.dump()); }
    [[nodiscard]] std::vector<SpecFile> read() const { return read_spec_files(host_.root()); }
    [[nodiscard]] Texts stale(const Json& edits) const {
        return check_spec_file(host_.root(), "/x.json", spec({"0"}, edits).dump()).stale;
    }
    /// Returns lines of "NAME STATE FILE [OTHER]".
    [[nodiscard]] Texts claims() const {
        const Json list = list_devices(read());
        Texts lines;
        for (const Json& device : list["devices"])
            lines.push_back(device["name"].get<std::string>() + " " + device["state"].get<std::string>() +
                            " " + device["file"].get<std::string>() + " " +
                            device["other"].get<std::string>());
        return lines;
    }

    tests::TempDir host_;
};

TEST_F(SpecFilesTest, DevicesAreSortedByNumber) {
    write("run/cdi/nvidia.json", spec({"10", "2", "all"}));
    write("run/cdi/readme.txt", spec({"3"}));
    EXPECT_EQ(claims(), (Texts{"nvidia.com/gpu=2 used /run/cdi/nvidia.json ",
                               "nvidia.com/gpu=10 used /run/cdi/nvidia.json ",
                               "nvidia.com/gpu=all used /run/cdi/nvidia.json "}));
}

TEST_F(SpecFilesTest, DeviceInRunShadowsThatInEtc) {
    write("etc/cdi/a.json", spec({"0"}));
    write("run/cdi/b.json", spec({"0"}));
    EXPECT_EQ(claims(), (Texts{"nvidia.com/gpu=0 shadowed /etc/cdi/a.json /run/cdi/b.json",
                               "nvidia.com/gpu=0 used /run/cdi/b.json "}));
}

TEST_F(SpecFilesTest, SameNameInOneDirectoryIsAConflict) {
    write("etc/cdi/a.json", spec({"0", "1"}));
    write("etc/cdi/b.json", spec({"0"}));
    write("run/cdi/c.json", spec({"2"}));
    EXPECT_EQ(claims(),
              (Texts{"nvidia.com/gpu=0 conflict /etc/cdi/a.json /etc/cdi/b.json",
                     "nvidia.com/gpu=0 conflict /etc/cdi/b.json /etc/cdi/a.json",
                     "nvidia.com/gpu=1 used /etc/cdi/a.json ", "nvidia.com/gpu=2 used /run/cdi/c.json "}));
    EXPECT_EQ(check_files(read())["files"][0]["problems"],
              Json::array({"/etc/cdi/b.json also has nvidia.com/gpu=0, so no container gets it"}));
    write("run/cdi/c.json", spec({"0"}));
    EXPECT_EQ(claims().at(2), "nvidia.com/gpu=0 conflict /run/cdi/c.json /etc/cdi/a.json");
}

TEST_F(SpecFilesTest, DirectoryWithTwoNamesIsReadOnce) {
    write("run/cdi/a.json", spec({"0"}));
    std::filesystem::create_directories(host_.path("var"));
    std::filesystem::create_symlink("/run", host_.path("var/run"));
    EXPECT_EQ(read().size(), 1U);
    EXPECT_EQ(read().at(0).path, "/run/cdi/a.json");
}

TEST_F(SpecFilesTest, InvalidFileOffersNoDevices) {
    host_.write("etc/cdi/broken.json", "{");
    write("etc/cdi/empty.json", spec({}));
    const auto files = read();
    ASSERT_EQ(files.size(), 2U);
    EXPECT_FALSE(files[0].spec);
    EXPECT_EQ(files[0].problems.size(), 1U);
    EXPECT_EQ(files[1].problems, Texts{"it has no devices"});
    EXPECT_EQ(claims(), Texts());
}

TEST_F(SpecFilesTest, TooLongFileIsRefused) {
    host_.write("etc/cdi/long.json", std::string(base::Root::default_limit + 1, ' '));
    ASSERT_EQ(read().size(), 1U);
    EXPECT_FALSE(read()[0].is_good());
}

TEST_F(SpecFilesTest, MissingHostPathsAreStaleAndNamedOnce) {
    host_.write("there", "");
    EXPECT_EQ(stale({{"mounts", {mount("/there"), mount("/gone"), mount("/gone")}}}),
              Texts{"/gone is missing"});
    EXPECT_EQ(stale({{"mounts", {mount("/lib/a"), mount("/bin/a"), mount("/lib/b"), mount("/lib/c")}}}),
              (Texts{"/bin/a is missing", "/lib/a and 2 more in that directory are missing"}));
    EXPECT_EQ(stale({{"mounts", {{{"hostPath", "tmpfs"}, {"containerPath", "/m"}, {"type", "tmpfs"}}}}}),
              Texts());
    EXPECT_EQ(
        stale({{"deviceNodes", {{{"path", "/dev/nvidia0"}}, {{"path", "/dev/x"}, {"hostPath", "/there"}}}}}),
        (Texts{"/dev/nvidia0 is missing", "/there is not a device node"}));
    EXPECT_EQ(stale({{"hooks", {{{"hookName", "prestart"}, {"path", "/there"}}}}}),
              Texts{"hook /there is missing or not executable"});
    std::filesystem::permissions(host_.path("there"), std::filesystem::perms(0755));
    EXPECT_EQ(stale({{"hooks", {{{"hookName", "prestart"}, {"path", "/there"}}}}}), Texts());
}

TEST_F(SpecFilesTest, NodeWithAnotherNumberIsStale) {
    const auto host = base::Root::open("/");
    const auto file = check_spec_file(*host, "/x.json",
                                      spec({"0"}, {{"deviceNodes",
                                                    {{{"path", "/dev/null"}, {"major", 1}, {"minor", 5}},
                                                     {{"path", "/dev/zero"}, {"major", 1}, {"minor", 5}}}}})
                                          .dump());
    EXPECT_EQ(file.stale, Texts{"/dev/null is device 1:3 now, not 1:5"});
}

TEST_F(SpecFilesTest, SpecForAnotherDriverIsStale) {
    host_.write("d/libcuda.so.535.261.03", "");
    const Json edits{{"mounts", {mount("/d/libcuda.so.535.261.03")}}};
    EXPECT_EQ(stale(edits), Texts());
    host_.write("sys/module/nvidia/version", "550.163.01\n");
    EXPECT_EQ(stale(edits), Texts{"it is for driver 535.261.03, but 550.163.01 is loaded"});
    host_.write("sys/module/nvidia/version", "535.261.03\n");
    EXPECT_EQ(stale(edits), Texts());
}

TEST_F(SpecFilesTest, OwnFilesHaveTheOwnHookOrMark) {
    write("etc/cdi/a.json",
          spec({"0"},
               {{"hooks",
                 {{{"hookName", "createContainer"}, {"path", base::installed_program(hook_program)}}}}}));
    write(
        "etc/cdi/b.json",
        spec({"1"}, {{"hooks", {{{"hookName", "createContainer"}, {"path", "/usr/bin/nvidia-cdi-hook"}}}}}));
    const Json files = list_devices(read())["files"];
    EXPECT_EQ(files[0]["ours"], true);
    EXPECT_EQ(files[1]["ours"], false);
    EXPECT_TRUE(is_ours(std::string(own_mark) + "{}")) << "a file without hooks has the mark in a comment";
    EXPECT_FALSE(is_ours("{}\n" + std::string(own_mark)));
    EXPECT_TRUE(parse_spec(std::string(own_mark) + spec({"0"}).dump(), "a.yaml"))
        << "the mark is not part of the content";
}

TEST_F(SpecFilesTest, DeviceShowsAllEditsOfItsContainer) {
    write("etc/cdi/a.json", spec({"0"}, {{"env", {"ALL=1"}}}));
    const auto shown = show_device(read(), "nvidia.com/gpu=0");
    ASSERT_TRUE(shown);
    EXPECT_EQ((*shown)["edits"], Json::parse(R"({"env": ["ALL=1", "DEVICE=0"]})"));
    const auto absent = show_device(read(), "nvidia.com/gpu=1");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, base::Errc::NotFound);
}

} // namespace
} // namespace gpuhost::runtime
