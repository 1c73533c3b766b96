// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/parse.hpp"
#include "images/host/mirrors.hpp"
#include "images/host/mirrors_step.hpp"
#include "images/store/catalogue.hpp"
#include "tests/support/tmpdir.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace gpuhost::images {
namespace {

using base::Json;

class MirrorsTest : public ::testing::Test {
  protected:
    void put(const std::string& bundle, std::vector<std::string> registries) {
        CatalogueEntry entry;
        entry.record.name = bundle;
        entry.record.manifest = bundle;
        entry.record.registries = std::move(registries);
        const Catalogue catalogue(root_);
        ASSERT_TRUE(catalogue.put(entry));
        ASSERT_TRUE(catalogue.finalize());
    }
    /// Returns the files that images.mirrors reports as changed.
    std::vector<std::string> apply(const MirrorSettings& settings = {true, "127.0.0.1:299", true}) {
        warnings_.clear();
        const Json none;
        core::StepContext context{root_,
                                  none,
                                  "",
                                  "",
                                  {},
                                  [](double, std::string_view) {},
                                  [this](const std::string& text) { warnings_.push_back(text); }};
        const auto done = mirrors_code().apply(context, mirrors_step(settings).args);
        EXPECT_TRUE(done) << done.error().message;
        return base::strings_or_empty(done.value_or(Json()), "files");
    }
    void have_containerd() const {
        directory_.write("etc/containerd/config.toml", "[plugins.\"io.containerd.grpc.v1.cri\".registry]\n"
                                                       "config_path = \"/etc/containerd/certs.d\"\n");
    }
    [[nodiscard]] std::string read(const std::string& path) const {
        return root_.read(path).value_or("(absent)");
    }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    std::vector<std::string> warnings_;
    const std::string hosts_ = "/etc/containerd/certs.d/docker.io/hosts.toml";
    const std::string containers_ = "/etc/containers/registries.conf.d/50-gpuhost.conf";
};

TEST_F(MirrorsTest, WritesMirrorsForInstalledRuntimes) {
    put("site", {"docker.io", "registry.example:5000"});
    EXPECT_TRUE(apply().empty()) << "no runtime, no file";
    have_containerd();
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply().size(), 3U);
    EXPECT_EQ(read(hosts_), "# Written by gpuhostd; changes are lost.\n"
                            "dial_timeout = \"5s\"\n"
                            "[host.\"http://127.0.0.1:299\"]\n"
                            "  capabilities = [\"pull\", \"resolve\"]\n"
                            "  dial_timeout = \"2s\"\n");
    EXPECT_EQ(read("/etc/containerd/certs.d/registry.example:5000/hosts.toml"), read(hosts_));
    EXPECT_EQ(read(containers_),
              "# Written by gpuhostd; changes are lost.\n"
              "\n[[registry]]\nprefix = \"docker.io\"\nlocation = \"docker.io\"\n"
              "[[registry.mirror]]\nlocation = \"127.0.0.1:299/docker.io\"\ninsecure = true\n"
              "\n[[registry]]\nprefix = \"registry.example:5000\"\n"
              "location = \"registry.example:5000\"\n[[registry.mirror]]\n"
              "location = \"127.0.0.1:299/registry.example_5000\"\ninsecure = true\n");
    EXPECT_TRUE(apply().empty()) << "correct files are not written again";
}

TEST_F(MirrorsTest, PredictsWhetherContainerdGetsMirrors) {
    const auto foreseen = [this](const char* enable) {
        directory_.write("etc/gpuhost/gpuhostd.conf", std::string("[Mirrors]\nManage=") + enable + "\n");
        return will_lead_containerd(root_, core::load_settings(root_, {mirror_setting_keys()}).settings);
    };
    have_containerd();
    EXPECT_FALSE(foreseen("yes"));
    put("site", {"docker.io"});
    EXPECT_TRUE(foreseen("yes"));
    EXPECT_EQ(apply().size(), 1U);
    EXPECT_TRUE(foreseen("yes"));
    EXPECT_FALSE(foreseen("no")) << "the file would be removed";
    put("site", {});
    EXPECT_FALSE(foreseen("yes"));
}

TEST_F(MirrorsTest, RegistryFilesInAnotherRootAreKept) {
    put("site", {"quay.io", "registry.example:5000", "docker.io"});
    directory_.write("etc/containerd/config.toml",
                     "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n"
                     "config_path = \"/etc/containerd/certs.d:/etc/docker/certs.d\"\n");
    directory_.write("etc/docker/certs.d/quay.io/ca.crt", "theirs");
    directory_.write("etc/docker/certs.d/registry.example_5000_/hosts.toml", "theirs");
    EXPECT_EQ(apply(), std::vector<std::string>{hosts_});
    for (const char* theirs : {"/etc/docker/certs.d/quay.io", "/etc/docker/certs.d/registry.example_5000_"})
        EXPECT_NE(base::join(warnings_, "\n")
                      .find(theirs + std::string(" is not gpuhost's: containerd does not ask")),
                  std::string::npos)
            << base::join(warnings_, "\n");
}

TEST_F(MirrorsTest, PrefixMatchesNoOtherPort) {
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    CatalogueEntry entry;
    entry.record.name = entry.record.manifest = "site";
    entry.record.registries = {"docker.io", "localhost", "registry.example:5000"};
    entry.record.namespaces = {"docker.io/library", "localhost/app", "localhost/../x"};
    ASSERT_TRUE(Catalogue(root_).put(entry));
    ASSERT_TRUE(Catalogue(root_).finalize());
    const auto prefixes = [this](bool upstream) {
        EXPECT_EQ(apply({true, "127.0.0.1:299", upstream}).size(), 1U);
        std::vector<std::string> found;
        for (const std::string& line : base::split(read(containers_), '\n'))
            if (base::starts_with(line, "prefix = "))
                found.push_back(line.substr(10, line.size() - 11));
        return found;
    };
    EXPECT_EQ(prefixes(true),
              (std::vector<std::string>{"docker.io/library", "localhost/app", "registry.example:5000"}));
    EXPECT_NE(read(containers_)
                  .find("prefix = \"localhost/app\"\nlocation = \"localhost/app\"\n[[registry.mirror]]\n"
                        "location = \"127.0.0.1:299/localhost/app\"\n"),
              std::string::npos)
        << read(containers_);
    EXPECT_EQ(prefixes(false),
              (std::vector<std::string>{"docker.io", "localhost/app", "registry.example:5000"}));
}

TEST_F(MirrorsTest, WithoutUpstreamOnlyThisHostIsUsed) {
    put("site", {"docker.io"});
    have_containerd();
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply({true, "127.0.0.1:1234", false}).size(), 2U);
    EXPECT_EQ(read(hosts_),
              "# Written by gpuhostd; changes are lost.\nserver = \"http://127.0.0.1:1234\"\n[host]\n");
    EXPECT_EQ(read(containers_).find("mirror"), std::string::npos);
    EXPECT_NE(read(containers_).find("\"docker.io\"\nlocation = \"127.0.0.1:1234/docker.io\"\n"),
              std::string::npos);
}

TEST_F(MirrorsTest, ContainerdWithoutConfigPathIsAWarning) {
    put("site", {"docker.io"});
    have_containerd();
    directory_.write("etc/containerd/config.toml", "version = 2\n");
    EXPECT_EQ(apply(), std::vector<std::string>{hosts_}) << "for users who set config_path later";
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("config.toml does not set config_path"), std::string::npos) << warnings_[0];
    EXPECT_EQ(apply({false, "127.0.0.1:299", true}).size(), 1U);
    EXPECT_TRUE(warnings_.empty()) << "mirrors are disabled";
}

TEST_F(MirrorsTest, RemovesOnlyItsOwnFiles) {
    put("site", {"docker.io", "nvcr.io"});
    have_containerd();
    EXPECT_EQ(apply().size(), 2U);
    put("site", {"docker.io"});
    EXPECT_EQ(apply(), std::vector<std::string>{"/etc/containerd/certs.d/nvcr.io/hosts.toml"});
    EXPECT_FALSE(root_.exists("/etc/containerd/certs.d/nvcr.io")) << "with its directory";
    directory_.write("etc/containerd/certs.d/docker.io/somebody's", "");
    EXPECT_EQ(apply({false, "", true}), std::vector<std::string>{hosts_});
    EXPECT_TRUE(root_.exists("/etc/containerd/certs.d/docker.io/somebody's"));
}

TEST_F(MirrorsTest, AdministratorsFilesAreKept) {
    const std::pair<std::string, std::string> rows[] = {
        {"quay.io/hosts.toml", "quay.io"}, // a mirror of the administrator
        {"quay.io/ca.crt", "quay.io"},     // containerd reads it only without hosts.toml
        {"quay.io:5000/client.cert", "quay.io:5000"},
        {"quay.io_5000_/hosts.toml", "quay.io:5000"}, // the other form of its name
        {"_default/hosts.toml", "quay.io"},
    };
    for (const auto& [file, registry] : rows) {
        ASSERT_TRUE(root_.remove_tree("/etc/containerd"));
        put("site", {registry});
        have_containerd();
        directory_.write("etc/containerd/certs.d/" + file, "server = \"https://cache.example\"\n");
        EXPECT_TRUE(apply().empty()) << file;
        ASSERT_EQ(warnings_.size(), 1U) << file;
        EXPECT_NE(warnings_[0].find("is not gpuhost's: containerd does not ask this host"), std::string::npos)
            << warnings_[0];
        EXPECT_EQ(read("/etc/containerd/certs.d/" + file), "server = \"https://cache.example\"\n");
    }
    ASSERT_TRUE(root_.remove_tree("/etc/containerd"));
    put("site", {"docker.io", "quay.io", "registry.example:5000"});
    directory_.write("etc/containers/registries.conf",
                     "[[registry]]\nprefix = \"quay.io/team\"\nblocked = true\n");
    directory_.write("etc/containers/registries.conf.d/site.conf",
                     "[[registry]]\n  location='*.example'\ninsecure = true\n");
    EXPECT_EQ(apply(), std::vector<std::string>{containers_});
    EXPECT_EQ(warnings_.size(), 2U);
    EXPECT_NE(read(containers_).find("docker.io"), std::string::npos);
    EXPECT_EQ(read(containers_).find("quay.io"), std::string::npos);
    EXPECT_EQ(read(containers_).find("registry.example"), std::string::npos);
    directory_.write("etc/containers/registries.conf.d/50-gpuhost.conf", "mine\n");
    EXPECT_TRUE(apply().empty());
    EXPECT_EQ(read(containers_), "mine\n");
}

TEST_F(MirrorsTest, K3sAndRke2ReadMirrorsAtStart) {
    put("site", {"docker.io", "registry.example:5000"});
    const std::string file = "/etc/rancher/rke2/registries.yaml";
    ASSERT_TRUE(root_.make_directories("/etc/rancher/rke2"));
    EXPECT_EQ(apply(), std::vector<std::string>{file});
    EXPECT_EQ(read(file), "# Written by gpuhostd; changes are lost.\n"
                          "mirrors:\n"
                          "  \"docker.io\":\n    endpoint:\n      - \"http://127.0.0.1:299\"\n"
                          "  \"registry.example:5000\":\n    endpoint:\n      - \"http://127.0.0.1:299\"\n");
    EXPECT_TRUE(warnings_.empty()) << "RKE2 did not run yet";
    const std::string configuration = "var/lib/rancher/rke2/agent/etc/containerd/config.toml";
    directory_.write(configuration, "");
    const auto written = std::filesystem::last_write_time(directory_.path(file.substr(1)));
    std::filesystem::last_write_time(directory_.path(configuration), written - std::chrono::milliseconds(1));
    EXPECT_TRUE(apply().empty());
    EXPECT_EQ(warnings_, std::vector<std::string>{"RKE2 uses an older version of " + file + ": restart it"});
    std::filesystem::last_write_time(directory_.path(configuration), written);
    EXPECT_TRUE(apply().empty());
    EXPECT_TRUE(warnings_.empty());
    std::filesystem::last_write_time(directory_.path(configuration), written - std::chrono::hours(1));
    ASSERT_TRUE(root_.remove(file));
    EXPECT_EQ(apply().size(), 1U);
    EXPECT_EQ(warnings_.size(), 1U) << "for the file just written";
    ASSERT_TRUE(root_.remove("/" + configuration));

    ASSERT_TRUE(root_.make_directories("/var/lib/rancher/k3s/agent"));
    EXPECT_EQ(apply(), std::vector<std::string>{"/etc/rancher/k3s/registries.yaml"});
    directory_.write("etc/rancher/k3s/registries.yaml", "mirrors: {}\n");
    EXPECT_TRUE(apply().empty());
    EXPECT_EQ(warnings_,
              std::vector<std::string>{
                  "/etc/rancher/k3s/registries.yaml is not gpuhost's: k3s asks this host for images only if "
                  "docker.io, registry.example:5000 have the endpoint http://127.0.0.1:299 there"});
    directory_.write("etc/rancher/k3s/registries.yaml",
                     "mirrors: {\"*\": {endpoint: [\"http://127.0.0.1:299\"]}}\n");
    EXPECT_TRUE(apply().empty());
    EXPECT_TRUE(warnings_.empty()) << "the administrator merged it";
    put("other", {"nvcr.io"});
    directory_.write("var/lib/gpuhost/catalogue/other/record.json", "damaged");
    put("site", {"docker.io"});
    EXPECT_TRUE(apply().empty()) << "mirrors of an unreadable record are not removed";
    EXPECT_EQ(apply({false, "", true}), std::vector<std::string>{file}) << "the administrator's part is kept";
    ASSERT_EQ(warnings_.size(), 2U) << "one for the record, and one for the file";
    EXPECT_NE(warnings_[0].find("asks this host for images until it is restarted"), std::string::npos)
        << warnings_[0];
}

TEST_F(MirrorsTest, InvalidAddressChangesNothing) {
    put("site", {"docker.io"});
    have_containerd();
    for (const char* address : {"", "http://127.0.0.1:1", "127.0.0.1:1\"", "a b"}) {
        EXPECT_TRUE(apply({true, address, true}).empty()) << address;
        ASSERT_EQ(warnings_.size(), 1U);
        EXPECT_NE(warnings_[0].find("is not an address"), std::string::npos) << warnings_[0];
    }
    EXPECT_EQ(apply({true, "[::1]:5000", true}).size(), 1U);
}

TEST_F(MirrorsTest, UnreadableRecordRemovesNoMirrors) {
    put("site", {"docker.io"});
    put("other", {"nvcr.io"});
    have_containerd();
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply().size(), 3U);
    const std::string before = read(containers_);
    directory_.write("var/lib/gpuhost/catalogue/other/record.json", "damaged");
    ASSERT_TRUE(root_.remove(hosts_));
    EXPECT_EQ(apply(), std::vector<std::string>{hosts_}) << "known mirrors are repaired";
    EXPECT_EQ(warnings_.size(), 1U);
    EXPECT_TRUE(root_.exists("/etc/containerd/certs.d/nvcr.io/hosts.toml"));
    EXPECT_EQ(read(containers_), before);
    EXPECT_EQ(apply({false, "", true}).size(), 3U) << "disabling removes all files";
}

TEST_F(MirrorsTest, ChangedFileSchedulesAReloadOfCrio) {
    put("site", {"docker.io"});
    const std::string reload_pending = "/run/gpuhost/crio.reload-pending";
    ASSERT_TRUE(root_.make_directories("/etc/containers"));
    EXPECT_EQ(apply().size(), 1U);
    EXPECT_FALSE(root_.exists(reload_pending)) << "CRI-O is not installed";
    ASSERT_TRUE(root_.make_directories("/etc/crio"));
    EXPECT_TRUE(apply().empty());
    EXPECT_FALSE(root_.exists(reload_pending)) << "nothing changed";
    put("site", {"docker.io", "nvcr.io"});
    EXPECT_EQ(apply().size(), 1U);
    EXPECT_TRUE(root_.exists(reload_pending));
    ASSERT_TRUE(root_.remove(reload_pending));
    EXPECT_EQ(apply({false, "", true}).size(), 1U);
    EXPECT_TRUE(root_.exists(reload_pending)) << "CRI-O must unload the file";
}

TEST_F(MirrorsTest, RecordsWithInvalidRegistriesAreReported) {
    for (const char* bad : {"../../etc", "a b.io", "", "docker.io/library", "docker"}) {
        put("site", {bad});
        const Registries registries = mirrored_registries(root_);
        EXPECT_EQ(registries.problems.size(), 1U) << bad;
        EXPECT_TRUE(registries.names.empty()) << bad;
    }
}

} // namespace
} // namespace gpuhost::images
