// SPDX-License-Identifier: Apache-2.0
#include "daemon/host/manager/cluster_side.hpp"

#include "daemon/base/ini.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"

namespace gpuhost::host {

using base::Errc;
using base::Result;

namespace {

constexpr const char* request_directory = "/run/gpuhost";
constexpr const char* request_file = "/run/gpuhost/upgrade-request";

} // namespace

void ClusterSide::load() {
    const std::string text =
        root_.read(core::cluster_desired_file, base::ini_size_limit).value_or(std::string());
    desired_.toolkit = core::cluster_desired_from_settings(text).toolkit;
    const std::string version = root_.read_line(request_file).value_or(std::string());
    requested_ = base::is_driver_version(version) ? version : std::string();
}

Result<bool> ClusterSide::keep(const core::ClusterDesired& desired) {
    const bool changes = desired.toolkit != desired_.toolkit;
    if (changes && desired.toolkit.empty())
        GPUHOST_CHECK(root_.remove(core::cluster_desired_file));
    else if (changes)
        GPUHOST_CHECK(root_.write_atomic(core::cluster_desired_file, core::settings_text(desired)));
    desired_ = desired;
    return changes;
}

Result<void> ClusterSide::request_upgrade(const std::string& version) {
    if (version == requested_)
        return {};
    if (!version.empty() && version != desired_.driver)
        return base::fail(Errc::Refused,
                          desired_.driver.empty()
                              ? "no driver version from the cluster is pending for this host"
                              : "driver " + version + ": the cluster's policy sets driver " + desired_.driver,
                          "Check it with: gpuhostctl cluster status");
    if (version.empty()) {
        GPUHOST_CHECK(root_.remove(request_file));
    } else {
        GPUHOST_CHECK(root_.make_directories(request_directory));
        GPUHOST_CHECK(root_.write_atomic(request_file, version + "\n"));
    }
    requested_ = version;
    return {};
}

base::Json ClusterSide::document() const {
    return {{"desired", core::to_json(desired_)}, {"upgrade_requested", requested_}};
}

} // namespace gpuhost::host
