// SPDX-License-Identifier: Apache-2.0
#include "images/host/containerd_config.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

std::string problem_with(const Files& files) {
    const tests::TempDir directory;
    for (const auto& [name, text] : files)
        directory.write("etc/containerd/" + name, text);
    return certs_problem(directory.root());
}
std::string problem(const std::string& text) {
    return problem_with({{"config.toml", text}});
}

TEST(ContainerdConfig, ConfigPathIsFoundInAllItsForms) {
    const std::string rows[] = {
        "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = "
        "\"/etc/containerd/certs.d\"\n",
        "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n  config_path = "
        "'/etc/containerd/certs.d'\n",
        "[plugins.cri.registry]\nconfig_path = \"/etc/containerd/certs.d\"",
        "version = 3\n[ plugins . 'io.containerd.cri.v1.images' ] # theirs\n"
        "registry.config_path = '/etc/containerd/certs.d/' # theirs\n",
        "version = 3 # theirs\n[plugins.'io.containerd.cri.v1.images']\nuse_local_image_pull = true\n"
        "[plugins.'io.containerd.cri.v1.images'.registry]\n"
        "config_path = '/etc/containerd/certs.d:/etc/docker/certs.d'\n",
        "version = 2\nplugins.\"io.containerd.grpc.v1.cri\".registry.config_path = "
        "\"/etc/containerd/certs.d\"\n",
        "disabled_plugins = [\"cri\"]\n",
        "disabled_plugins = [\n  'io.containerd.internal.v1.restart', # none\n  "
        "'io.containerd.grpc.v1.cri',\n]\n",
    };
    for (const std::string& text : rows)
        EXPECT_EQ(problem(text), "") << text;
    for (const char* imports : {"", "imports = ['/etc/containerd/conf.d/nvidia.toml']\n",
                                "imports = [] # '/etc/containerd/conf.d/*.toml'\n"}) {
        const Files unread{{"config.toml", std::string("version = 3\n") + imports},
                           {"conf.d/10-site.toml",
                            "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n"
                            "config_path = '/etc/containerd/certs.d'\n"}};
        EXPECT_NE(problem_with(unread).find("does not import /etc/containerd/conf.d"), std::string::npos)
            << imports << problem_with(unread);
    }
    for (const char* imports :
         {"'/etc/containerd/conf.d/*.toml'", "'/etc/site.toml', \"/etc/containerd/conf.d/10-site.toml\""})
        EXPECT_EQ(problem_with({{"config.toml", std::string("version = 3\nimports = [") + imports + "]\n"},
                                {"conf.d/10-site.toml",
                                 "version = 3\n[plugins.'io.containerd.cri.v1.images'.registry]\n"
                                 "config_path = '/etc/containerd/certs.d'\n"}}),
                  "");
}

TEST(ContainerdConfig, MissingConfigPathIsAlwaysAProblem) {
    const std::pair<std::string, std::string> rows[] = {
        {"", "grpc.v1.cri\".registry] and version = 2"},
        {"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"\"\n"
         "  [plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors]\n",
         "grpc.v1.cri\".registry]"},
        {"version = 3 # theirs\n# [plugins.'io.containerd.cri.v1.images'.registry]\n"
         "#config_path = '/etc/containerd/certs.d'\n",
         "cri.v1.images\".registry]"},
        // Settings of an administrator:
        {"version = 3\n[plugins.'io.containerd.transfer.v1.local']\nconfig_path = "
         "'/etc/containerd/certs.d'\n",
         "cri.v1.images\".registry]"},
        // Keys that this version no longer reads:
        {"version = 3\n[plugins.'io.containerd.grpc.v1.cri'.registry]\nconfig_path = "
         "'/etc/containerd/certs.d'\n",
         "cri.v1.images\".registry]"},
        {"version = 2\ndisabled_plugins = ['io.containerd.internal.v1.restart']\nrequired_plugins = "
         "['cri']\n",
         "grpc.v1.cri\".registry]"},
    };
    for (const auto& [text, table] : rows) {
        EXPECT_EQ(
            problem(text),
            "/etc/containerd/config.toml does not set config_path: pods do not get this host's images; run "
            "'gpuhostctl runtime configure', or set config_path = \"/etc/containerd/certs.d\" in "
            "[plugins.\"io.containerd." +
                table + ", and restart containerd")
            << text;
    }
    EXPECT_EQ(problem_with({}), problem("")) << "without a file, the defaults of the version apply";
    EXPECT_NE(problem("imports = [\"/etc/site/*.toml\"]\n").find("(files that it imports are not read)"),
              std::string::npos);
}

TEST(ContainerdConfig, ListIsAProblemForTheTransferService) {
    for (const char* list :
         {"/etc/containerd/certs.d:/etc/docker/certs.d", "/etc/docker/certs.d:/etc/containerd/certs.d/"}) {
        const std::string text =
            "version = 3\n[plugins.'io.containerd.cri.v1.images']\nuse_local_image_pull = false\n"
            "[plugins.'io.containerd.cri.v1.images'.registry]\nconfig_path = '" +
            std::string(list) + "'\n";
        EXPECT_NE(
            problem(text).find("sets config_path to a list: containerd 2.1 and later does not split it"),
            std::string::npos)
            << problem(text);
        const tests::TempDir directory;
        directory.write("etc/containerd/config.toml", text);
        EXPECT_EQ(other_registry_roots(directory.root()), std::vector<std::string>{"/etc/docker/certs.d"});
    }
    EXPECT_TRUE(other_registry_roots(tests::TempDir().root()).empty());
}

TEST(ContainerdConfig, OtherRegistryConfigurationIsAProblem) {
    EXPECT_NE(
        problem(
            "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"/etc/site\"\n")
            .find("config.toml sets config_path to /etc/site: pods do not get this host's images; set "
                  "config_path"),
        std::string::npos);
    const std::string table = "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry.";
    for (const char* mirrors :
         {"mirrors]\n  [plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"docker.io\"]\n",
          "mirrors.\"docker.io\"]\nendpoint = [\"https://cache.example\"]\n"})
        EXPECT_NE(problem(table + mirrors).find("has registry.mirrors: pods do not"), std::string::npos)
            << mirrors;
}

TEST(ContainerdConfig, UnreadableConfigurationIsAProblem) {
    EXPECT_NE(problem(std::string(base::Root::default_limit + 1, '#')).find("config.toml can't be read"),
              std::string::npos);
}

} // namespace
} // namespace gpuhost::images
