// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/distribution.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::array distributions{AptDistribution{"debian-12", "bookworm", false},
                                   AptDistribution{"debian-13", "trixie", false},
                                   AptDistribution{"ubuntu-24.04", "noble", true}};

struct Archive {
    std::string url;
    std::vector<std::string> suites;
};

std::vector<Archive> own_archives(const AptDistribution& distribution, std::string_view architecture) {
    const std::string suite(distribution.codename);
    if (!distribution.ubuntu)
        return {{"https://deb.debian.org/debian", {suite, suite + "-updates"}},
                {"https://deb.debian.org/debian-security", {suite + "-security"}}};
    const bool is_port = architecture != "amd64";
    return {{is_port ? "http://ports.ubuntu.com/ubuntu-ports" : "http://archive.ubuntu.com/ubuntu",
             {suite, suite + "-updates", suite + "-security"}}};
}

/// Accepts a URL that is safe in a line of sources.list(5).
bool is_url(const std::string& text) {
    constexpr std::array schemes{"https://", "http://", "file:/"};
    return text.find_first_of("[]\"") == std::string::npos &&
           std::any_of(schemes.begin(), schemes.end(),
                       [&](const char* scheme) { return base::starts_with(text, scheme); });
}

/// Returns the suites that a mirror of the distribution has under this URL.
std::vector<std::string> suites_of(const AptDistribution& distribution, const std::string& url) {
    const std::string suite(distribution.codename);
    const std::string_view place =
        base::ends_with(url, "/") ? std::string_view(url).substr(0, url.size() - 1) : std::string_view(url);
    if (base::ends_with(place, "security"))
        return {suite + "-security"};
    std::vector<std::string> suites{suite, suite + "-updates"};
    if (distribution.ubuntu)
        suites.push_back(suite + "-security");
    return suites;
}

DriverPackages debian_packages() {
    return {{"nvidia-smi", "libnvidia-ml1", "libcuda1", "libnvidia-ptxjitcompiler1", "firmware-nvidia-gsp"},
            {"nvidia-open-kernel-dkms", "nvidia-kernel-dkms"},
            {"libnvidia-nvvm4", "libcudadebugger1", "libnvidia-cfg1"}};
}

/// `branch` is "" or "-server".
DriverPackages ubuntu_packages(const std::string& version, const std::string& branch) {
    const std::string line = version.substr(0, version.find('.')) + branch;
    return {{"nvidia-utils-" + line, "libnvidia-compute-" + line, "nvidia-firmware-" + line + "-" + version},
            {"nvidia-kernel-source-" + line + "-open", "nvidia-kernel-source-" + line},
            {"nvidia-dkms-" + line + "-open", "nvidia-dkms-" + line, "nvidia-kernel-common-" + line}};
}

} // namespace

Result<const AptDistribution*> find_distribution(const std::string& name) {
    const auto found =
        std::find_if(distributions.begin(), distributions.end(),
                     [&](const AptDistribution& distribution) { return distribution.name == name; });
    if (found != distributions.end())
        return &*found;
    for (const char* rpm : {"el-", "rhel-", "rocky-", "almalinux-", "centos-", "fedora-"})
        if (base::starts_with(name, rpm))
            return base::fail(Errc::Unsupported,
                              "distribution '" + printable(name) + "' has no apt, which collect needs",
                              "Fetch its packages with 'dnf download --resolve --alldeps', and write the "
                              "specification by hand: see gpuhost-bundle(5).");
    std::vector<std::string> names;
    for (const AptDistribution& distribution : distributions)
        names.emplace_back(distribution.name);
    return base::fail(Errc::InvalidArgument, "unknown distribution '" + printable(name) + "'",
                      "Use one of: " + base::join(names, ", ") + ".");
}

std::string_view architecture_of(std::string_view platform) {
    if (platform == "linux/amd64")
        return "amd64";
    return platform == "linux/arm64" ? "arm64" : "";
}

Result<std::string> sources_of(const AptDistribution& distribution, std::string_view architecture,
                               const std::vector<std::string>& mirrors) {
    std::vector<Archive> archives;
    for (const std::string& mirror : mirrors) {
        std::vector<std::string> words = base::split_words(mirror);
        if (words.empty() || !is_url(words[0]))
            return base::fail(Errc::InvalidArgument, "--mirror: '" + printable(mirror) + "' is not a URL",
                              "Use for example --mirror http://mirror.example/debian.");
        Archive archive{words[0], {words.begin() + 1, words.end()}};
        if (archive.suites.empty())
            archive.suites = suites_of(distribution, archive.url);
        archives.push_back(std::move(archive));
    }
    if (archives.empty())
        archives = own_archives(distribution, architecture);
    const std::string components = distribution.ubuntu ? "main restricted universe multiverse"
                                                       : "main contrib non-free non-free-firmware";
    std::string text;
    for (const Archive& archive : archives)
        for (const std::string& suite : archive.suites) // a suite with a slash is a path, without components
            text += "deb " + archive.url + " " + suite +
                    (base::ends_with(suite, "/") ? "" : " " + components) + "\n";
    return text;
}

Keyring keyring_of(const AptDistribution& distribution) {
    if (distribution.ubuntu)
        return {"/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu-keyring"};
    return {"/usr/share/keyrings/debian-archive-keyring.gpg", "debian-archive-keyring"};
}

std::vector<DriverPackages> driver_packages(const AptDistribution& distribution, const std::string& version) {
    if (!distribution.ubuntu)
        return {debian_packages()};
    return {ubuntu_packages(version, ""), ubuntu_packages(version, "-server")};
}

std::vector<std::string> build_packages() {
    return {"gcc", "make", "kmod"};
}

} // namespace gpuhost::ctl
