// SPDX-License-Identifier: Apache-2.0
#include "images/host/containerd.hpp"
#include "images/host/crio_pins.hpp"
#include "images/host/docker.hpp"
#include "images/host/placement.hpp"
#include "images/host/podman.hpp"
#include "images/store/pins.hpp"
#include "tests/support/tmpdir.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gpuhost::images {
namespace {

using base::Errc;
using State = Placement::State;

const std::string digest_1 = std::string(64, '1');
const std::string digest_2 = std::string(64, '2');

BundleImage image(const std::string& name, const std::string& hex) {
    BundleImage image;
    image.name = name;
    image.hex = hex;
    return image;
}

/// A ctr with one file "NAME" per image, with its labels and its source; --quiet lists them.
constexpr const char* fake_ctr = R"sh(#!/bin/sh
echo "$*" >> "$0.log"
store=$0.images
mkdir -p "$store"
echo 'time="now" level=warning msg="this is old"' >&2
shift 5 # --address SOCKET --namespace k8s.io images
verb=$1
shift
file() { echo "$store/$(echo "$1" | tr '/' '_')";
}
case $verb in
    check)
        shift
        for filter; do
            name=${filter#name==\"}
            name=${name%%\"*}
            digest=$(echo "$filter" | sed -n 's/.*target.digest=="\([^"]*\)".*/\1/p')
            [ -e "$(file "$name")" ] || continue
            [ -z "$digest" ] || grep -q "$digest" "$(file "$name")" || continue
            case $filter in *labels.*) grep -q pinned=pinned "$(file "$name")" || continue ;; esac
            echo "$name"
            grep -q rotten "$(file "$name")" && bad=1
        done
        [ -z "$bad" ] || { echo 'ctr: failed to check unpacked' >&2; exit 1; } ;;
    list)
        filter=$2
        for image in "$store"/*; do
            [ -e "$image" ] || continue
            name=$(echo "${image##*/}" | tr '_' '/')
            case $filter in name==*) [ "${filter#name==\"$name\"}" != "$filter" ] || continue ;; esac
            case $filter in *'cri-containerd.pinned"==pinned'*) grep -q cri-containerd.pinned=pinned "$image" || continue ;; esac
            case $filter in *'gpuhost.pinned"==pinned'*) grep -q gpuhost.pinned=pinned "$image" || continue ;; esac
            case $filter in *'gpuhost.pinned"') grep -q gpuhost.pinned= "$image" || continue ;; esac
            echo "$name"
        done ;;
    pull)
        [ "$1" = --local ] && [ -e "$0.old" ] && { echo "ctr: flag provided but not defined: -local"; exit 1; }
        while [ $# -gt 1 ]; do shift; done
        [ ! -e "$0.broken" ] || { echo "ctr: failed to resolve $1: not found"; exit 1; }
        cat "$0.digest" > "$(file "$1")" ;;
    label)
        name=$1
        shift
        for label; do
            case $label in
                *=) sed -i "/^${label%=}=/d" "$(file "$name")" ;;
                *) sed -i "/^${label%%=*}=/d" "$(file "$name")"; echo "$label" >> "$(file "$name")" ;;
            esac
        done ;;
esac
)sh";

class PlacementTest : public ::testing::Test {
  protected:
    PlacementTest() {
        directory_.write("ctr", fake_ctr);
        EXPECT_EQ(::chmod(directory_.path("ctr").c_str(), 0700), 0);
        directory_.write("run/containerd.sock", "");
        now(digest_1);
    }
    /// Sets the digest of the images in the registry.
    void now(const std::string& hex) {
        directory_.write("ctr.digest", "sha256:" + hex + "\n");
        bundle_ = {"site",
                   1,
                   1,
                   {image("registry.example/app:v1", hex), image("docker.io/library/box:latest", hex)}};
    }
    [[nodiscard]] Placer placer(std::vector<std::string> problems = {}) const {
        ImageRuntimes runtimes{{}, std::move(problems)};
        runtimes.found.push_back(
            std::make_shared<Containerd>(directory_.path("ctr"), "/run/containerd.sock"));
        return {root_, References({bundle_}), runtimes, {true, "127.0.0.1:299", true}};
    }
    [[nodiscard]] std::vector<State> states(const PlacementReport& report) const {
        std::vector<State> all;
        for (const Placement& placement : report.placements)
            all.push_back(placement.state);
        return all;
    }
    PlacementReport ensure(const std::string& name, PullPolicy policy, bool dry_run = false) {
        return placer().ensure(parse_reference(name).value(), policy, dry_run);
    }
    [[nodiscard]] std::string asked() const { return directory_.read("ctr.log"); }

    tests::TempDir directory_;
    base::Root root_ = directory_.root();
    BundleClaims bundle_;
};

TEST_F(PlacementTest, PullsOnlyFromThisHost) {
    EXPECT_EQ(states(ensure("registry.example/app:v1", PullPolicy::IfNotPresent)),
              std::vector{State::Placed});
    EXPECT_NE(asked().find("pull --local --hosts-dir " + directory_.path("run/gpuhost/hosts.d") +
                           " registry.example/app:v1"),
              std::string::npos)
        << asked();
    EXPECT_NE(
        directory_.read("run/gpuhost/hosts.d/_default/hosts.toml").find("server = \"http://127.0.0.1:299\""),
        std::string::npos);
    EXPECT_EQ(states(ensure("registry.example/app:v1", PullPolicy::IfNotPresent)),
              std::vector{State::Present});
}

TEST_F(PlacementTest, OldClientIsSupported) {
    directory_.write("ctr.old", "");
    EXPECT_EQ(states(ensure("registry.example/app:v1", PullPolicy::IfNotPresent)),
              std::vector{State::Placed});
}

TEST_F(PlacementTest, PullPolicyDecides) {
    EXPECT_EQ(states(ensure("box", PullPolicy::Never)), std::vector{State::Failed});
    EXPECT_EQ(states(ensure("box", PullPolicy::Always, true)), std::vector{State::Wanted});
    EXPECT_EQ(states(ensure("box", PullPolicy::Always)), std::vector{State::Placed});
    now(digest_2); // a newer bundle moves the tag
    EXPECT_EQ(states(ensure("box", PullPolicy::Never)), std::vector{State::Present});
    EXPECT_EQ(states(ensure("box", PullPolicy::IfNotPresent)), std::vector{State::Present});
    EXPECT_EQ(states(ensure("box", PullPolicy::Always)), std::vector{State::Placed});
    EXPECT_EQ(states(ensure("box", PullPolicy::Always)), std::vector{State::Present});
}

TEST_F(PlacementTest, MissingImageIsReported) {
    EXPECT_FALSE(ensure("absent", PullPolicy::Always).problems.empty());
    const PlacementReport report = ensure("absent:v1", PullPolicy::IfNotPresent);
    EXPECT_EQ(states(report), std::vector{State::Failed});
    EXPECT_NE(report.placements.front().why.find("no bundle on this host"), std::string::npos);
    EXPECT_FALSE(report.is_good());
}

TEST_F(PlacementTest, ClientsErrorIsReported) {
    directory_.write("ctr.broken", "");
    const PlacementReport report = ensure("box", PullPolicy::Always);
    ASSERT_EQ(states(report), std::vector{State::Failed});
    EXPECT_NE(report.placements.front().why.find("failed to resolve docker.io/library/box:latest"),
              std::string::npos)
        << report.placements.front().why;
}

TEST_F(PlacementTest, PinsMatchingImagesAndUnpinsOthers) {
    PlacementReport report = placer().ensure_pinned({"registry.example/*", "box", "absent"}, false);
    EXPECT_EQ(states(report), (std::vector{State::Placed, State::Placed}));
    EXPECT_EQ(report.absent, std::vector<std::string>{"absent"});
    EXPECT_TRUE(report.is_good()) << "a later bundle may have it";
    EXPECT_NE(directory_.read("ctr.images/registry.example_app:v1").find("io.cri-containerd.pinned=pinned"),
              std::string::npos);
    report = placer().ensure_pinned({"registry.example/*"}, false);
    EXPECT_EQ(states(report), std::vector{State::Present});
    EXPECT_EQ(directory_.read("ctr.images/docker.io_library_box:latest").find("pinned"), std::string::npos);
    EXPECT_NE(directory_.read("ctr.images/registry.example_app:v1").find("pinned"), std::string::npos);
    now(digest_2);
    EXPECT_EQ(states(placer().ensure_pinned({"registry.example/*"}, true)), std::vector{State::Wanted});
    EXPECT_EQ(states(placer().ensure_pinned({"registry.example/*"}, false)), std::vector{State::Placed});
}

TEST_F(PlacementTest, DamagedImageIsPulledAgainWithoutAffectingOthers) {
    (void)placer().ensure_pinned({"*"}, false);
    directory_.write("ctr.images/docker.io_library_box:latest", "rotten sha256:" + digest_1 + "\n");
    const PlacementReport report = placer().ensure_pinned({"*"}, false);
    EXPECT_EQ(states(report), (std::vector{State::Placed, State::Present}));
    EXPECT_TRUE(report.is_good());
}

TEST_F(PlacementTest, ForeignPinsAreKept) {
    directory_.write("ctr.images/registry.example_app:v1",
                     "sha256:" + digest_1 + "\nio.cri-containerd.pinned=pinned\n");
    (void)placer().ensure_pinned({"registry.example/*"}, false);
    directory_.write("ctr.images/registry.example_app:v1",
                     "sha256:" + digest_1 + "\nio.cri-containerd.pinned=pinned\nio.gpuhost.pinned=too\n");
    (void)placer().ensure_pinned({}, false);
    EXPECT_EQ(directory_.read("ctr.images/registry.example_app:v1"),
              "sha256:" + digest_1 + "\nio.cri-containerd.pinned=pinned\n");
}

TEST_F(PlacementTest, PinOutlivesItsBundle) {
    (void)placer().ensure_pinned({"box"}, false);
    bundle_.images.clear();
    EXPECT_TRUE(placer().ensure_pinned({"box"}, false).is_good());
    EXPECT_NE(directory_.read("ctr.images/docker.io_library_box:latest").find("pinned"), std::string::npos);
}

TEST_F(PlacementTest, FindsInstalledRuntimes) {
    directory_.write("run/docker.sock", "");
    directory_.write("run/podman.sock", "");
    const ImageRuntimes runtimes =
        find_image_runtimes(root_, {{"/run/containerd.sock=/x/ctr", "/run/absent.sock=/x/ctr"},
                                    {"/run/docker.sock=/x/docker", "no"},
                                    {"/run/podman.sock=/x/podman"}});
    ASSERT_EQ(runtimes.found.size(), 3U);
    EXPECT_EQ(runtimes.found[0]->socket(), directory_.path("run/containerd.sock"));
    EXPECT_EQ(runtimes.found[1]->socket(), directory_.path("run/docker.sock"));
    EXPECT_EQ(runtimes.found[2]->socket(), directory_.path("run/podman.sock"));
}

TEST_F(PlacementTest, FindsPodmanIfNamedOrWithCrio) {
    directory_.write("run/podman/podman.sock", "");
    const auto found = [&](const std::vector<std::string>& words) {
        const ImageRuntimes runtimes = find_image_runtimes(root_, {{}, {}, words});
        return runtimes.found.size() + runtimes.problems.size(); // a missing client is a problem
    };
    EXPECT_EQ(found({"auto"}), 0U) << "without CRI-O, Podman has another purpose";
    EXPECT_EQ(found({"/run/podman/podman.sock"}), 1U);
    directory_.write(crio_socket.substr(1), "");
    EXPECT_EQ(found({"auto"}), 1U);
    EXPECT_EQ(found({}), 0U);
    ASSERT_TRUE(root_.remove("/run/podman/podman.sock"));
    const ImageRuntimes runtimes = find_image_runtimes(root_, {{}, {}, {"auto"}});
    EXPECT_TRUE(runtimes.found.empty());
    ASSERT_EQ(runtimes.problems.size(), 1U);
    EXPECT_NE(runtimes.problems.front().find("podman.socket"), std::string::npos);
}

TEST_F(PlacementTest, UnreachableRuntimeFailsUnlessAnotherHasTheImage) {
    const Reference box = parse_reference("box").value();
    const Placer placer = this->placer({"no podman"});
    EXPECT_FALSE(placer.ensure(box, PullPolicy::Never, false).is_good());
    std::string said;
    const auto report =
        placer.ensure(box, PullPolicy::Always, false, [&](const std::string& text) { said = text; });
    EXPECT_TRUE(report.is_good());
    EXPECT_EQ(said, "no podman");
    EXPECT_EQ(placer.ensure_pinned({"box"}, false).problems, std::vector<std::string>{"no podman"});
}

TEST_F(PlacementTest, PodmanAtDockersSocketIsNotDocker) {
    directory_.write("run/podman/podman.sock", "");
    ASSERT_EQ(::symlink("/run/podman/podman.sock", directory_.path("run/docker.sock").c_str()), 0);
    EXPECT_TRUE(find_image_runtimes(root_, {{}, {"/run/docker.sock=/x/docker"}, {}}).found.empty());
    EXPECT_EQ(find_image_runtimes(root_,
                                  {{}, {"/run/docker.sock=/x/docker"}, {"/run/podman/podman.sock=/x/podman"}})
                  .found.size(),
              1U);
}

TEST_F(PlacementTest, UnpinRemovesCrioPinsWithoutPodman) {
    directory_.write("etc/crio/crio.conf", "");
    const CrioPins crio(root_);
    ASSERT_TRUE(crio.add("docker.io/library/box:latest"));
    ASSERT_TRUE(placer().ensure_pinned({"box"}, false).is_good());
    EXPECT_EQ(crio.names().value().size(), 1U);
    (void)placer().ensure_pinned({}, true);
    EXPECT_EQ(crio.names().value().size(), 1U) << "a dry run";
    ASSERT_TRUE(placer().ensure_pinned({}, false).is_good());
    EXPECT_TRUE(crio.names().value().empty());
}

/// A docker(1) with one image, stored in a file.
constexpr const char* fake_docker = R"sh(#!/bin/sh
echo "$*" >> "$0.log"
echo 'WARNING: something is old' >&2
[ "$1" = --host ] && shift 2
case "$1 $2" in
    "image ls") [ ! -e "$0.image" ] || { echo sha256:$(printf %064d 7); echo sha256:$(printf %064d 7); } ;;
    "image inspect") [ ! -e "$0.gone" ] || { rm "$0.gone"; echo 'No such image' >&2; exit 1; }; cat "$0.image" ;;
    pull*) [ ! -e "$0.strict" ] || { echo 'http: server gave HTTP response to HTTPS client' >&2; exit 1; }
        while [ $# -gt 1 ]; do shift; done; echo "{\"tags\":null,\"digests\":[\"$1\"]}" > "$0.image" ;;
    tag*) sed -i "s,null,[\"$3\"]," "$0.image" ;;
esac
)sh";

TEST(DockerRuntime, PullsByDigestAndTagsTheName) {
    const tests::TempDir directory;
    directory.write("docker", fake_docker);
    ASSERT_EQ(::chmod(directory.path("docker").c_str(), 0700), 0);
    const WantedImage box{"docker.io/library/box:v1", "sha256:" + digest_1};
    const Docker docker(directory.path("docker"), "/run/x.sock");
    EXPECT_TRUE(docker.ready({box}).value().empty());
    ASSERT_TRUE(docker.pull(box, {"127.0.0.1:299", ""}));
    EXPECT_EQ(docker.ready({box}).value(), std::set<std::string>{box.name});
    directory.write("docker.gone", ""); // another image, deleted after the list was read
    EXPECT_EQ(docker.ready({box}).value(), std::set<std::string>{box.name});
    WantedImage other = box;
    other.digest = "sha256:" + digest_2; // a newer bundle
    EXPECT_TRUE(docker.ready({other}).value().empty());
    other.any = true;
    EXPECT_EQ(docker.ready({other}).value().size(), 1U);
    EXPECT_NE(directory.read("docker.log").find("127.0.0.1:299/docker.io/library/box@sha256:" + digest_1),
              std::string::npos);
    EXPECT_EQ(docker.pull({"r.example/a@sha256:" + digest_1, "sha256:" + digest_1}, {"127.0.0.1:299", ""})
                  .error()
                  .code,
              Errc::Unsupported);
}

TEST(DockerRuntime, UntrustedLoopbackHintsAtInsecureRegistries) {
    const tests::TempDir directory;
    directory.write("docker", fake_docker);
    ASSERT_EQ(::chmod(directory.path("docker").c_str(), 0700), 0);
    directory.write("docker.strict", "");
    const Docker docker(directory.path("docker"), "/run/x.sock");
    const auto refused =
        docker.pull({"docker.io/library/box:v1", "sha256:" + digest_1}, {"127.0.0.1:299", ""});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(
                  "add \"127.0.0.1:299\" to insecure-registries in /etc/docker/daemon.json"),
              std::string::npos)
        << refused.error().message;
}

/// A podman(1) with lines "NAME DIGEST" in a file; another file has the registry's digest.
constexpr const char* fake_podman = R"sh(#!/bin/sh
echo "$*" >> "$0.log"
echo 'time="now" level=warning msg="something is old"' >&2
[ "$1 $2" = "--remote --url" ] || exit 125
shift 3
touch "$0.names"
digest_of() { sed -n "s,^$1 ,,p" "$0.names"; }
without() { sed -i "\\,^$1 ,d" "$0.names"; }
case "$1 $2" in
    "image ls") while read -r name digest; do
        echo "{\"tags\":[\"$name\"],\"digests\":[\"${name%:*}@$digest\"]}"; done < "$0.names" ;;
    pull*) while [ $# -gt 1 ]; do shift; done
        [ ! -e "$0.broken" ] || { echo "Error: initializing source docker://$1: not found"; exit 125; }
        without "$1"; echo "$1 $(cat "$0.digest")" >> "$0.names" ;;
    tag*) digest=$(digest_of "$2"); without "$3"; echo "$3 $digest" >> "$0.names" ;;
    untag*) without "$3" ;;
esac
)sh";

TEST(PodmanRuntime, PullsByTagAndKeepsTheName) {
    const tests::TempDir directory;
    directory.write("podman", fake_podman);
    ASSERT_EQ(::chmod(directory.path("podman").c_str(), 0700), 0);
    directory.write("podman.digest", "sha256:" + digest_1);
    const WantedImage box{"r.example:5000/team/box:v1", "sha256:" + digest_1};
    const base::Root root = directory.root();
    const Podman podman(root, directory.path("podman"), "/run/x.sock");
    EXPECT_TRUE(podman.ready({box}).value().empty());
    ASSERT_TRUE(podman.pull(box, {"127.0.0.1:299", ""}));
    EXPECT_EQ(podman.ready({box}).value(), std::set<std::string>{box.name});
    EXPECT_EQ(directory.read("podman.names"), box.name + " sha256:" + digest_1 + "\n");
    EXPECT_NE(directory.read("podman.log")
                  .find("--url unix:///run/x.sock pull --quiet --tls-verify=false "
                        "127.0.0.1:299/r.example_5000/team/box:v1\n"),
              std::string::npos)
        << directory.read("podman.log");
    const WantedImage newer{box.name, "sha256:" + digest_2};
    EXPECT_TRUE(podman.ready({newer}).value().empty());
    directory.write("podman.digest", "sha256:" + digest_2);
    ASSERT_TRUE(podman.pull(newer, {"127.0.0.1:299", ""}));
    EXPECT_EQ(podman.ready({newer}).value(), std::set<std::string>{box.name});
    directory.write("podman.broken", "");
    EXPECT_NE(podman.pull(newer, {"127.0.0.1:299", ""}).error().message.find("not found"), std::string::npos);
    for (const std::string& name : {"r.example/a@sha256:" + digest_1, std::string("R.example/a:v1")})
        EXPECT_EQ(podman.pull({name, "sha256:" + digest_1}, {"127.0.0.1:299", ""}).error().code,
                  Errc::Unsupported)
            << name;
}

TEST(PodmanRuntime, PinnedImagesAreAddedToCriosList) {
    const tests::TempDir directory;
    directory.write("podman", fake_podman);
    ASSERT_EQ(::chmod(directory.path("podman").c_str(), 0700), 0);
    directory.write("podman.digest", "sha256:" + digest_1);
    const base::Root root = directory.root();
    const Podman podman(root, directory.path("podman"), "/run/x.sock");
    const WantedImage box{"r.example/box:v1", "sha256:" + digest_1, true};
    ASSERT_TRUE(podman.pull(box, {"127.0.0.1:299", ""}));
    EXPECT_EQ(podman.ready({box}).value().size(), 1U) << "CRI-O is not installed";
    directory.write("etc/crio/crio.conf", "");
    EXPECT_TRUE(podman.ready({box}).value().empty());
    EXPECT_EQ(podman.ready({{box.name, box.digest}}).value().size(), 1U) << "the image is not pinned";
    ASSERT_TRUE(podman.pin(box.name));
    EXPECT_EQ(podman.ready({box}).value().size(), 1U);
    EXPECT_EQ(CrioPins(root).names().value(), std::set<std::string>{box.name});
}

// --- pins

TEST(Pin, ParsesNamesAndPatterns) {
    EXPECT_EQ(Pin::parse("busybox").value().text(), "docker.io/library/busybox:latest");
    EXPECT_TRUE(Pin::parse("busybox").value().fits("docker.io/library/busybox:latest"));
    EXPECT_FALSE(Pin::parse("busybox").value().fits("docker.io/library/busybox:latest2"));
    EXPECT_TRUE(Pin::parse("*/team/*").value().fits("r.example/team/a:v1"));
    for (const char* bad : {"", "case/UPPER", "a b", "a\nPin=*", "app@sha256:" /* and no pins by digest */})
        EXPECT_FALSE(Pin::parse(bad)) << bad;
    EXPECT_FALSE(Pin::parse("app@sha256:" + std::string(64, 'a')));
    EXPECT_FALSE(pins_of({"UPPER"}).front().fits("UPPER"));
}

TEST(Pins, DropInMustOverrideOtherFiles) {
    const tests::TempDir directory;
    const base::Root root = directory.root();
    EXPECT_TRUE(read_pins(root).empty());
    ASSERT_TRUE(write_pins(root, {"a.example/b:c", "d.example/*"}));
    EXPECT_EQ(read_pins(root), (std::vector<std::string>{"a.example/b:c", "d.example/*"}));
    ASSERT_TRUE(write_pins(root, {}));
    EXPECT_TRUE(read_pins(root).empty());
    directory.write("etc/gpuhost/gpuhostd.conf.d/90-site.conf", "[Images]\nPin=x.example/y:z\n");
    const std::string ours = "etc/gpuhost/gpuhostd.conf.d/50-pinned-images.conf";
    const std::string before = directory.read(ours);
    const auto refused = write_pins(root, {"a.example/b:c"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::Refused);
    EXPECT_NE(refused.error().message.find("90-site.conf"), std::string::npos);
    EXPECT_EQ(directory.read(ours), before);
}

} // namespace
} // namespace gpuhost::images
