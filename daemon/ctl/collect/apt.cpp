// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/apt.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"
#include "daemon/ctl/cli/output_file.hpp"
#include "daemon/ctl/cli/small_file.hpp"
#include "daemon/ctl/cli/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;

namespace {

constexpr std::size_t keyring_limit = std::size_t{4} << 20U;
constexpr std::size_t status_limit = std::size_t{64} << 20U;
/// Packages are large and networks may be slow; apt itself ends a transfer that makes no progress.
constexpr std::chrono::hours download_deadline{12};

/// The settings beside the directories. No file of /etc/apt is read: its hooks could change this machine.
constexpr const char* settings = R"(APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
APT::Get::Always-Include-Phased-Updates "true";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
Acquire::http::Timeout "60";
Acquire::https::Timeout "60";
)";

Result<void> write_file(const std::string& path, std::string_view content) {
    GPUHOST_TRY(file, OutputFile::create(path));
    GPUHOST_CHECK(base::write_all(file.fd(), content, path));
    return file.finish();
}

/// Returns the lines of 'apt-config dump' that name this machine's proxies. The private root needs them too.
std::string proxies_in(const std::string& dump) {
    std::string lines;
    for (const std::string& line : base::split(dump, '\n')) {
        const std::string key = line.substr(0, line.find(' '));
        if (base::starts_with(key, "Acquire::") && key.find("roxy") != std::string::npos)
            lines += line + "\n";
    }
    return lines;
}

const images::Tool& tool_of_apt(const std::string& program) {
    static const std::map<std::string, images::Tool> tools{{"apt-get", {"apt-get", "apt"}},
                                                           {"apt-cache", {"apt-cache", "apt"}},
                                                           {"apt-config", {"apt-config", "apt"}}};
    return tools.at(program);
}

/// Returns what to do if 'apt-get update' failed with this output.
std::string hint_for(const std::string& output) {
    const auto has = [&](const char* text) { return output.find(text) != std::string::npos; };
    if (has("NO_PUBKEY"))
        return "Name the file with the keys that sign the archive: --keyring FILE.";
    if (has("EXPKEYSIG") || has("KEYEXPIRED"))
        return "Update the package with the archive's keys, or name a file with valid ones: --keyring FILE.";
    if (has(" is expired ") || has(" is not valid yet "))
        return "Check this machine's clock with 'date', or name an up-to-date archive with --mirror URL.";
    return "Check the network and its proxy (http_proxy, https_proxy), or name another archive with --mirror "
           "URL.";
}

} // namespace

Result<Apt> Apt::open(const Programs& programs, const CollectRequest& request, std::string directory,
                      std::string private_directory) {
    for (const std::string* const path : {&private_directory, &directory})
        if (path->find_first_of("\"\\;\n") != std::string::npos)
            return base::fail(Errc::InvalidArgument, "'" + *path + "' has a character that apt can't read",
                              std::string(path == &directory ? "Use" : "Set TMPDIR to") +
                                  " a path without quotes, backslashes, semicolons and line breaks.");
    const Apt apt(programs, std::move(directory), std::move(private_directory),
                  std::string(request.architecture()));
    for (const char* part : {"lists/partial", "archives/partial", "empty", "incoming"})
        GPUHOST_CHECK(make_directory(apt.directory_ + "/" + part));
    GPUHOST_CHECK(apt.copy_keyrings(request));
    GPUHOST_CHECK(apt.write_configuration(request));
    return apt;
}

Result<void> Apt::copy_keyrings(const CollectRequest& request) const {
    GPUHOST_TRY(root, base::Root::open(directory_));
    GPUHOST_CHECK(root.remove_tree("/trusted.gpg.d")); // keys of an earlier run are not trusted
    GPUHOST_CHECK(make_directory(directory_ + "/trusted.gpg.d"));
    std::size_t number = 0;
    for (const std::string& path : request.keyrings) {
        auto keys = read_small_file(path, keyring_limit);
        if (!keys)
            return base::fail(keys.error().with_hint(
                path == keyring_of(*request.distribution).path
                    ? "Install " + std::string(keyring_of(*request.distribution).package) +
                          ", or name the file with the archive's keys: --keyring FILE."
                    : "Name the file with the archive's keys: --keyring FILE."));
        const bool armored = base::starts_with(base::trim(*keys), "-----BEGIN PGP");
        GPUHOST_CHECK(write_file(
            directory_ + "/trusted.gpg.d/" + std::to_string(number++) + (armored ? ".asc" : ".gpg"), *keys));
    }
    return {};
}

Result<void> Apt::write_configuration(const CollectRequest& request) const {
    std::string status;
    if (!request.host_status.empty()) {
        GPUHOST_TRY(text, read_small_file(request.host_status, status_limit));
        status = std::move(text);
    }
    GPUHOST_CHECK(write_file(private_ + "/status", status));
    GPUHOST_CHECK(write_file(private_ + "/sources.list", request.sources));
    GPUHOST_TRY(machine, programs_->run({tool_of_apt("apt-config"), {"dump"}}));
    std::string text = settings + proxies_in(machine) + "APT::Architecture \"" + architecture_ +
                       "\";\nAPT::Architectures { \"" + architecture_ + "\"; };\n";
    for (const auto& [key, path] : std::initializer_list<std::pair<const char*, const char*>>{
             {"Dir", "/"},
             {"Dir::State", "/"},
             {"Dir::State::lists", "/lists/"},
             {"Dir::State::extended_states", "/extended_states"},
             {"Dir::Cache", "/"},
             {"Dir::Cache::archives", "/archives/"},
             {"Dir::Etc", "/empty/"},
             {"Dir::Etc::main", "/empty/none"},
             {"Dir::Etc::parts", "/empty/"},
             {"Dir::Etc::sourceparts", "/empty/"},
             {"Dir::Etc::preferences", "/empty/none"},
             {"Dir::Etc::preferencesparts", "/empty/"},
             {"Dir::Etc::trusted", "/empty/none"},
             {"Dir::Etc::trustedparts", "/trusted.gpg.d/"},
             {"Dir::Log", "/"}})
        text += std::string(key) + " \"" + directory_ + path + "\";\n";
    text += "Dir::State::status \"" + private_ + "/status\";\nDir::Etc::sourcelist \"" + private_ +
            "/sources.list\";\n";
    return write_file(private_ + "/apt.conf", text);
}

Programs::Call Apt::call(std::string program, std::vector<std::string> words) const {
    Programs::Call call{tool_of_apt(program), std::move(words)};
    call.environment = {"APT_CONFIG=" + private_ + "/apt.conf"};
    return call;
}

Result<void> Apt::update() const {
    Programs::Call update = call("apt-get", {"update", "-q"});
    update.deadline = std::chrono::hours(1);
    GPUHOST_TRY(finished, programs_->attempt(update));
    if (finished.exit_status == 0)
        return {};
    programs_->show(finished.output);
    return base::fail(Errc::Failed, "the archive's index can't be used: " + reason_in(finished.output),
                      hint_for(finished.output));
}

Result<std::vector<ArchivePackage>> Apt::show(const std::vector<std::string>& words) const {
    if (words.empty())
        return std::vector<ArchivePackage>{};
    Programs::Call show = call("apt-cache", {"show", "--"});
    show.words.insert(show.words.end(), words.begin(), words.end());
    show.is_answer = true;
    GPUHOST_TRY(finished, programs_->attempt(show)); // the status is not 0 if it lacks one of them
    return parse_stanzas(finished.output);
}

Result<std::vector<std::string>> Apt::names(const std::string& prefix) const {
    Programs::Call list = call("apt-cache", {"pkgnames", prefix});
    list.is_answer = true;
    GPUHOST_TRY(output, programs_->run(list));
    return base::split_words(output);
}

Result<std::vector<ArchivePackage>> Apt::resolve(const std::vector<std::string>& words) const {
    Programs::Call install = call("apt-get", {"install", "-q", "-y", "--print-uris", "--"});
    install.words.insert(install.words.end(), words.begin(), words.end());
    GPUHOST_TRY(output, programs_->run(install));
    const std::vector<ArchivePackage> wanted = parse_uris(output, words);
    std::vector<std::string> names;
    std::map<std::string, std::string> urls;
    for (const ArchivePackage& package : wanted) {
        names.push_back(package.word());
        urls[package.word()] = package.url;
    }
    GPUHOST_TRY(packages, show(names));
    for (ArchivePackage& package : packages)
        package.url = urls[package.word()];
    std::sort(packages.begin(), packages.end(),
              [](const ArchivePackage& a, const ArchivePackage& b) { return a.word() < b.word(); });
    const auto same = [](const ArchivePackage& a, const ArchivePackage& b) { return a.word() == b.word(); };
    packages.erase(std::unique(packages.begin(), packages.end(), same), packages.end());
    if (packages.size() != urls.size())
        return base::fail(Errc::BadContent, "the archive's index lacks packages that apt would install");
    return packages;
}

Result<void> Apt::add_urls(std::vector<ArchivePackage>& packages) const {
    Programs::Call print = call("apt-get", {"download", "-q", "--print-uris", "--"});
    for (const ArchivePackage& package : packages)
        print.words.push_back(package.word());
    GPUHOST_TRY(output, programs_->run(print));
    for (const ArchivePackage& found : parse_uris(output, {}))
        for (ArchivePackage& package : packages)
            if (package.word() == found.word())
                package.url = found.url;
    return {};
}

std::string Apt::incoming(const ArchivePackage& package) const {
    const std::size_t end = package.file.rfind('_'); // architecture, which may be "all"
    std::string version = package.version;
    if (const std::size_t colon = version.find(':'); colon != std::string::npos)
        version.replace(colon, 1, "%3a");
    return incoming() + "/" + package.name + "_" + version +
           package.file.substr(std::min(end, package.file.size()));
}

Result<std::string> Apt::download(const std::vector<ArchivePackage>& packages,
                                  const std::function<void(const std::string& name)>& on_begin) const {
    Programs::Call download = call("apt-get", {"download", "-q", "--"});
    for (const ArchivePackage& package : packages)
        download.words.push_back(package.word());
    download.directory = incoming();
    download.deadline = download_deadline;
    download.on_line = [&](std::string_view line) {
        // "Get:1 https://… bookworm/main amd64 make amd64 4.3-4.1 [396 kB]"
        const auto words = base::split_words(line);
        if (words.size() > 4 && base::starts_with(words[0], "Get:"))
            on_begin(words[4]);
    };
    GPUHOST_TRY(finished, programs_->attempt(download));
    return finished.exit_status == 0 ? "" : std::move(finished.output);
}

} // namespace gpuhost::ctl
