// SPDX-License-Identifier: Apache-2.0
#include "images/host/registries_conf.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using Hosts = std::set<std::string>;

Hosts hosts_of(const std::string& text) {
    const tests::TempDir directory;
    directory.write("etc/containers/registries.conf", text);
    return configured_hosts(directory.root());
}

TEST(RegistriesConf, HostsAreReadFromBothFormats) {
    const std::pair<std::string, Hosts> rows[] = {
        {"", {}},
        {"unqualified-search-registries = [\"docker.io\"]\n[aliases]\n\"fedora\" = \"quay.io/fedora\"\n", {}},
        {"[[registry]]\nprefix = \"quay.io/team\" # ours: prefix = \"docker.io\"\nblocked = true\n",
         {"quay.io"}},
        {"[[registry]]\n  location='registry.example:5000'\n#location = 'docker.io'\n",
         {"registry.example:5000"}},
        {"[[registry]]\nprefix = "
         "\"*.corp.example\"\n[[registry.mirror]]\n\"location\"=\"cache.example/all\"\n",
         {"*.corp.example", "cache.example"}},
        {"registry = [\n  { location = \"a.example\", prefix='b.example' },\n  {prefix = \"c.example\"}]\n",
         {"a.example", "b.example", "c.example"}},
        {"[registries.search]\nregistries = ['docker.io']\n[registries.insecure]\nregistries = ['a.example', "
         "\"b.example\"]\n"
         "[registries.block]\nregistries = [\n  'c.example',\n]\n",
         {"a.example", "b.example", "c.example"}},
    };
    for (const auto& [text, hosts] : rows)
        EXPECT_EQ(hosts_of(text), hosts) << text;
}

TEST(RegistriesConf, OwnFileIsIgnored) {
    const tests::TempDir directory;
    directory.write("etc/containers/registries.conf.d/50-gpuhost.conf",
                    "[[registry]]\nprefix = \"docker.io\"\n");
    directory.write("etc/containers/registries.conf.d/site.conf", "[[registry]]\nprefix = \"quay.io\"\n");
    EXPECT_EQ(configured_hosts(directory.root()), Hosts{"quay.io"});
}

TEST(RegistriesConf, PatternCoversSubdomains) {
    const Hosts hosts{"*.corp.example", "quay.io", "*.port.example:5000"};
    for (const char* registry : {"reg.corp.example", "a.b.corp.example", "reg.corp.example:5000", "quay.io",
                                 "reg.port.example:5000"})
        EXPECT_TRUE(is_configured(hosts, registry)) << registry;
    for (const char* registry :
         {"corp.example", "regcorp.example", "quay.io:5000", "docker.io", "reg.port.example"})
        EXPECT_FALSE(is_configured(hosts, registry)) << registry;
}

} // namespace
} // namespace gpuhost::images
