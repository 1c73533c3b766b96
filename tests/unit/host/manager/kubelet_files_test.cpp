// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/host/manager/kubelet_files.hpp"
#include "tests/support/tmpdir.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace gpuhost::host {
namespace {

TEST(KubeletFiles, FilesAfterThe64thAreReported) {
    tests::TempDir directory;
    std::vector<std::string> paths;
    for (int i = 0; i < 66; ++i) {
        paths.push_back("/etc/kubernetes/" + std::to_string(i));
        directory.write(paths.back(), "text");
        ::chmod((directory.path() + paths.back()).c_str(), 0644); // with any umask
    }
    const base::Json read = read_kubelet_files(directory.root(), paths);
    EXPECT_EQ(read["files"].size(), 64U);
    EXPECT_EQ(read["problems"],
              base::Json({"'/etc/kubernetes/64' and the files after it are left out: more than 64 files"}));
    paths.resize(64);
    EXPECT_EQ(read_kubelet_files(directory.root(), paths)["problems"], base::Json::array());
}

} // namespace
} // namespace gpuhost::host
