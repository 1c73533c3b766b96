// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/search_path.hpp"

#include "daemon/base/contains.hpp"
#include "daemon/base/parse.hpp"

#include <array>
#include <set>

#include <fnmatch.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::Result;

#if defined __x86_64__
#define GPUHOST_ARCH "x86_64"
#elif defined __aarch64__
#define GPUHOST_ARCH "aarch64"
#else
#error "name this architecture as Debian's directories and musl's files do"
#endif

constexpr std::string_view top_conf = "/etc/ld.so.conf";
constexpr std::string_view drop_ins = "/etc/ld.so.conf.d";
constexpr std::string_view musl_loader = "/lib/ld-musl-" GPUHOST_ARCH ".so.1";
constexpr std::string_view musl_path = "/etc/ld-musl-" GPUHOST_ARCH ".path";
constexpr std::string_view musl_default = "/lib:/usr/local/lib:/usr/lib\n";
constexpr std::size_t max_confs = 1024; ///< limit of files, and of includes: the image decides their number
constexpr std::array ours{compat_conf, folders_conf, system_conf};

std::vector<std::string> system_folders(const ContainerRoot& root) {
    if (root.exists("/etc/debian_version"))
        return {"/lib/" GPUHOST_ARCH "-linux-gnu", "/usr/lib/" GPUHOST_ARCH "-linux-gnu", "/lib", "/usr/lib"};
    return {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
}

struct Split {
    std::string directory;
    std::string name;
};

Split split_path(const std::string& path) {
    const auto slash = path.rfind('/');
    return {path.substr(0, slash), path.substr(slash + 1)};
}

tl::unexpected<base::Error> fail_too_much() {
    return fail(Errc::BadContent, std::string(top_conf) + ": with its includes exceeds 1 MiB, " +
                                      std::to_string(max_confs) + " files or as many includes");
}

/// Adds the files that match an include and are not in `files` yet. The last component may be a pattern; the
/// directory is literal.
Result<void> add_matching(const ContainerRoot& root, const std::string& pattern,
                          std::vector<std::string>& files) {
    const auto [directory, name] = split_path(pattern);
    for (const std::string& entry : root.list(directory + "/").value_or(std::vector<std::string>())) {
        if (::fnmatch(name.c_str(), entry.c_str(), FNM_PERIOD) != 0)
            continue;
        std::string file = directory + "/" + entry;
        if (base::contains(ours, file) || base::contains(files, file))
            continue;
        if (files.size() == max_confs)
            return fail_too_much();
        files.push_back(std::move(file));
    }
    return {};
}

struct Searched {
    std::set<std::string> folders;
    std::set<std::string_view> included; ///< those of gpuhost's files that an include matches
};

/// Reads ld.so.conf and the files that it includes. Ignores unreadable files, as ldconfig does.
Result<Searched> searched_folders(const ContainerRoot& root) {
    Searched searched;
    std::vector<std::string> files{std::string(top_conf)};
    std::set<std::string> patterns;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string text = root.read(files[i]).value_or("");
        bytes += text.size();
        if (bytes > ContainerRoot::max_file)
            return fail_too_much();
        const LdConf conf = parse_ld_conf(text);
        searched.folders.insert(conf.folders.begin(), conf.folders.end());
        for (const std::string& include : conf.includes) {
            const std::string pattern =
                base::starts_with(include, "/") ? include : split_path(files[i]).directory + "/" + include;
            if (!patterns.insert(pattern).second)
                continue;
            if (patterns.size() > max_confs)
                return fail_too_much();
            for (const std::string_view own : ours)
                if (::fnmatch(pattern.c_str(), own.data(), FNM_PERIOD | FNM_PATHNAME) == 0)
                    searched.included.insert(own);
            GPUHOST_CHECK(add_matching(root, pattern, files));
        }
    }
    return searched;
}

/// Makes ld.so.conf include gpuhost's files. If the image has no ld.so.conf, writes one that includes all
/// drop-ins. Otherwise adds the missing includes before and after the image's text.
Result<void> include_ours(const ContainerRoot& root, const std::set<std::string_view>& included) {
    if (included.size() == ours.size())
        return {};
    if (!root.exists(top_conf))
        return root.write(top_conf, "include " + std::string(drop_ins) + "/*.conf\n");
    GPUHOST_TRY(text, root.read(top_conf));
    const auto line = [&](std::string_view own) {
        return included.count(own) != 0 ? "" : "include " + std::string(own) + "\n";
    };
    if (!base::ends_with(text, "\n"))
        text += '\n';
    return root.write(top_conf, line(compat_conf) + line(folders_conf) + text + line(system_conf));
}

Result<void> write_folders(const ContainerRoot& root, std::string_view path,
                           const std::vector<std::string>& folders) {
    return folders.empty() ? root.remove(path) : root.write(path, base::join(folders, "\n") + "\n");
}

} // namespace

LdConf parse_ld_conf(std::string_view text) {
    LdConf conf;
    for (const std::string& line : base::split(text, '\n')) {
        const std::string_view said = base::trim(std::string_view(line).substr(0, line.find('#')));
        const auto words = base::split_words(said);
        if (words.empty() || words.front() == "hwcap")
            continue;
        if (words.front() == "include")
            conf.includes.insert(conf.includes.end(), words.begin() + 1, words.end());
        else
            conf.folders.emplace_back(said);
    }
    return conf;
}

std::string with_musl_folders(std::string_view text, const std::vector<std::string>& folders) {
    std::string result(text);
    if (!result.empty() && result.back() != '\n')
        result += '\n';
    std::set<std::string> has;
    for (const std::string& line : base::split(text, '\n'))
        for (const std::string& folder : base::split(line, ':'))
            has.insert(folder);
    for (const std::string& folder : folders)
        if (has.insert(folder).second)
            result += folder + "\n";
    return result;
}

Result<void> write_search_path(const ContainerRoot& root, const std::vector<std::string>& folders) {
    for (const std::string& folder : folders)
        if (!base::starts_with(folder, "/") || folder.find_first_of("\n#: \t") != std::string::npos)
            return fail(Errc::InvalidArgument,
                        "folder '" + folder + "': not an absolute path without blanks");
    const std::vector<std::string> last = system_folders(root);
    GPUHOST_TRY(searched, searched_folders(root));
    searched.folders.insert(last.begin(), last.end());
    std::vector<std::string> added;
    for (const std::string& folder : folders)
        if (searched.folders.insert(folder).second)
            added.push_back(folder);
    GPUHOST_CHECK(write_folders(root, folders_conf, added));
    GPUHOST_CHECK(write_folders(root, system_conf, last));
    GPUHOST_CHECK(include_ours(root, searched.included));
    if (!root.exists(musl_loader))
        return {};
    std::string text(musl_default);
    if (root.exists(musl_path)) {
        GPUHOST_TRY(now, root.read(musl_path));
        text = std::move(now);
    }
    return root.write(musl_path, with_musl_folders(text, folders));
}

} // namespace gpuhost::runtime
