// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/json.hpp"
#include "daemon/runtime/inspect/containerd_registries.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::runtime {
namespace {

using base::Json;

constexpr const char* certs = "/etc/containerd/certs.d";
constexpr const char* list = "/etc/containerd/certs.d:/etc/docker/certs.d";

RegistryHosts hosts_of(const Json& images, unsigned major, unsigned minor) {
    return registry_hosts(images, RuntimeVersion{major, minor, ""});
}
Json registry(const Json& settings) {
    return {{"registry", settings}};
}

TEST(ContainerdRegistries, SingleDirectoryIsReadByEachVersion) {
    for (const auto& [major, minor] : {std::pair(1U, 5U), {1U, 7U}, {2U, 0U}, {2U, 1U}, {2U, 4U}})
        for (const char* path : {certs, "/etc/containerd/certs.d//"})
            EXPECT_EQ(hosts_of(registry({{"config_path", path}}), major, minor), RegistryHosts::Read)
                << minor;
}

TEST(ContainerdRegistries, ListIsReadOnlyByLocalPulls) {
    Json images = registry({{"config_path", list}});
    EXPECT_EQ(hosts_of(images, 2, 0), RegistryHosts::Read);
    EXPECT_EQ(hosts_of(images, 2, 1), RegistryHosts::Unread);
    EXPECT_EQ(hosts_of(images, 2, 4), RegistryHosts::Unread);
    images["max_concurrent_downloads"] = 3;
    EXPECT_EQ(hosts_of(images, 2, 4), RegistryHosts::Unread);
    const Json settings{{"use_local_image_pull", true},
                        {"discard_unpacked_layers", true},
                        {"image_pull_with_sync_fs", true},
                        {"disable_snapshot_annotations", false},
                        {"max_concurrent_downloads", 10}};
    for (const auto& [key, value] : settings.items()) {
        Json local = images;
        local[key] = value;
        EXPECT_EQ(hosts_of(local, 2, 4), RegistryHosts::Read) << key;
    }
}

TEST(ContainerdRegistries, WithoutConfigPathTheDefaultApplies) {
    const Json local{{"use_local_image_pull", true}};
    EXPECT_EQ(hosts_of({}, 1, 7), RegistryHosts::Unread);
    EXPECT_EQ(hosts_of({}, 2, 4), RegistryHosts::Unread);
    EXPECT_EQ(hosts_of(local, 2, 1), RegistryHosts::Unread) << "the default of 2.1 is empty";
    EXPECT_EQ(hosts_of(local, 2, 2), RegistryHosts::Read);
}

TEST(ContainerdRegistries, ManualConfigurationIsOther) {
    for (const Json& settings :
         {Json{{"config_path", "/etc/site"}}, Json{{"mirrors", {{"docker.io", Json::object()}}}},
          Json{{"configs", {{"registry.example", {{"tls", {{"ca_file", "/ca"}}}}}}}}})
        EXPECT_EQ(hosts_of(registry(settings), 1, 7), RegistryHosts::Other) << settings;
    EXPECT_EQ(hosts_of({}, 1, 4), RegistryHosts::Other) << "1.4 has no config_path";
    EXPECT_EQ(registry_hosts({}, std::nullopt), RegistryHosts::Other);
}

TEST(ContainerdRegistries, OnlyOwnHostsFilesAreCounted) {
    const tests::TempDir host;
    EXPECT_FALSE(has_registry_hosts(host.root()));
    host.write("etc/containerd/certs.d/quay.io/hosts.toml", "server = \"https://theirs\"\n");
    EXPECT_FALSE(has_registry_hosts(host.root()));
    host.write("etc/containerd/certs.d/docker.io/hosts.toml", "# Written by gpuhostd; changes are lost.\n");
    EXPECT_TRUE(has_registry_hosts(host.root()));
}

} // namespace
} // namespace gpuhost::runtime
