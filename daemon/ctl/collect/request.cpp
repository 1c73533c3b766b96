// SPDX-License-Identifier: Apache-2.0
#include "daemon/ctl/collect/request.hpp"

#include "daemon/base/parse.hpp"
#include "daemon/ctl/cli/session.hpp"
#include "daemon/ctl/cli/text.hpp"
#include "daemon/ctl/collect/apt_text.hpp"
#include "daemon/ctl/collect/options.hpp"
#include "images/bundle/manifest.hpp"
#include "images/bundle/reference.hpp"

#include <algorithm>
#include <filesystem>

#include <unistd.h>

namespace gpuhost::ctl {

using base::Errc;
using base::Result;
namespace fs = std::filesystem;

namespace {

tl::unexpected<base::Error> mistake(const Option& option, const std::string& text, std::string_view why,
                                    std::string hint) {
    return base::fail(Errc::InvalidArgument,
                      "--" + std::string(option.name) + ": '" + printable(text) + "' " + std::string(why),
                      std::move(hint));
}

/// Accepts the name of a Debian package, optionally with "=VERSION".
bool is_package(std::string_view text) {
    const std::string_view name = text.substr(0, text.find('='));
    const std::string_view version = text.substr(std::min(text.size(), name.size() + 1));
    const auto has_only = [](std::string_view part, std::string_view signs) {
        return std::all_of(part.begin(), part.end(), [&](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || signs.find(c) != signs.npos;
        });
    };
    return name.size() > 1 && name.front() != '+' && name.front() != '-' && name.front() != '.' &&
           has_only(name, "+-.") && has_only(version, "+-.:~ABCDEFGHIJKLMNOPQRSTUVWXYZ") &&
           (version.empty() == (name.size() == text.size()));
}

/// Returns the absolute path of a readable regular file or, with `directory`, of a directory.
Result<std::string> existing(const Option& option, const std::string& text, bool directory) {
    std::error_code error;
    const fs::path path = fs::absolute(text, error).lexically_normal();
    const bool found = directory ? fs::is_directory(path, error) : fs::is_regular_file(path, error);
    if (!found || ::access(path.c_str(), R_OK) < 0)
        return mistake(option, text, directory ? "is not a readable directory" : "is not a readable file",
                       "Check the path.");
    return path.string();
}

Result<void> check_versions(const CollectRequest& request) {
    for (const std::string& driver : request.drivers)
        if (!base::is_driver_version(driver))
            return mistake(driver_option, driver, "is not a driver version", "Use for example 535.261.03.");
    for (const std::string& kernel : request.kernels)
        if (!base::is_kernel_release(kernel) || !is_package(kernel))
            return mistake(kernel_option, kernel, "is not a kernel release",
                           "Use what 'uname -r' prints on a host, as 6.1.0-50-amd64.");
    return {};
}

Result<void> add_packages(CollectRequest& request, const Session& session) {
    for (const std::string& text : session.arguments().values(package_option))
        if (base::ends_with(text, ".deb")) {
            GPUHOST_TRY(path, existing(package_option, text, false));
            if (!is_plain_name(fs::path(path).filename().string()))
                return mistake(package_option, text, "has a character that a specification can't have",
                               "Rename the file: use letters, digits, '.', '_', '+', '~' and '-'.");
            request.files.push_back(std::move(path));
        } else if (is_package(text)) {
            request.packages.push_back(text);
        } else {
            return mistake(package_option, text, "is not a package",
                           "Use a name, NAME=VERSION, or the path of a .deb file.");
        }
    return {};
}

Result<void> add_images(CollectRequest& request, const Session& session) {
    for (const std::string& text : session.arguments().values(image_option)) {
        GPUHOST_TRY(reference, images::parse_reference(text));
        if (!reference.digest.empty())
            return mistake(image_option, text, "has a digest",
                           "Name the image by its tag. The bundle keeps the digest that the tag has now.");
        request.images.push_back(reference.text());
    }
    return {};
}

Result<void> add_paths(CollectRequest& request, const Session& session) {
    const Arguments& given = session.arguments();
    for (const std::string& text : given.values(driver_files_option)) {
        if (text.find("://") == std::string::npos) {
            GPUHOST_TRY(path, existing(driver_files_option, text, true));
            request.driver_files.push_back(std::move(path));
            continue;
        }
        const std::string name = text.substr(text.rfind('/') + 1);
        if (!base::starts_with(text, "https://") || !base::is_package_file(name) || !is_plain_name(name))
            return mistake(driver_files_option, text, "is not an https URL of a driver package",
                           "Use a URL that ends in the name of a .run, .deb or .rpm file.");
        request.driver_files.push_back(text);
    }
    for (const std::string& text : given.values(keyring_option)) {
        GPUHOST_TRY(path, existing(keyring_option, text, false));
        request.keyrings.push_back(std::move(path));
    }
    if (const auto text = given.value(host_status_option)) {
        GPUHOST_TRY(path, existing(host_status_option, *text, false));
        request.host_status = std::move(path);
    }
    return {};
}

Result<void> set_bundle(CollectRequest& request, const Arguments& given) {
    request.name = given.value(bundle_name_option).value_or("site");
    if (!images::is_bundle_name(request.name))
        return mistake(bundle_name_option, request.name, "is not a valid bundle name",
                       "Use lower-case letters and digits, with '.', '_' and '-' between them.");
    const std::string text = given.value(generation_option).value_or("0");
    const auto generation = base::parse_uint(text);
    if (!generation || *generation > images::most_generation)
        return mistake(generation_option, text, "is not a valid generation",
                       "Use a number that grows with every bundle of that name.");
    request.generation = *generation;
    return {};
}

/// Returns the value of a required option.
Result<std::string> needed(const Arguments& given, const Option& option, std::string hint) {
    if (auto value = given.value(option); value && !value->empty())
        return *std::move(value);
    return base::fail(Errc::InvalidArgument, "--" + std::string(option.name) + " is missing",
                      std::move(hint));
}

/// Removes repeated values, and keeps the order of the others.
void remove_repeated(std::vector<std::string>& values) {
    std::vector<std::string> kept;
    for (std::string& value : values)
        if (std::find(kept.begin(), kept.end(), value) == kept.end())
            kept.push_back(std::move(value));
    values = std::move(kept);
}

} // namespace

Result<CollectRequest> chosen_request(const Session& session) {
    const Arguments& given = session.arguments();
    CollectRequest request;
    GPUHOST_TRY(name, needed(given, distribution_option,
                             "Name the distribution of the hosts, as --distribution debian-12."));
    GPUHOST_TRY(distribution, find_distribution(name));
    request.distribution = distribution;
    GPUHOST_TRY(directory,
                needed(given, directory_option, "Name the directory for the files: --directory DIRECTORY."));
    const fs::path path = fs::absolute(directory).lexically_normal();
    request.directory = (path.has_filename() ? path : path.parent_path()).string(); // no "/" at the end
    request.platform = given.value(platform_option).value_or(request.platform);
    request.drivers = given.values(driver_option);
    request.kernels = given.values(kernel_option);
    request.dry_run = given.has(collect_dry_run_option);
    GPUHOST_CHECK(check_versions(request));
    GPUHOST_CHECK(add_packages(request, session));
    GPUHOST_CHECK(add_images(request, session));
    GPUHOST_CHECK(add_paths(request, session));
    for (auto* const values : {&request.drivers, &request.kernels, &request.images, &request.packages,
                               &request.files, &request.driver_files})
        remove_repeated(*values);
    GPUHOST_CHECK(set_bundle(request, given));
    GPUHOST_TRY(sources, sources_of(*distribution, request.architecture(), given.values(mirror_option)));
    request.sources = std::move(sources);
    if (request.keyrings.empty())
        request.keyrings.emplace_back(keyring_of(*distribution).path);
    if (!request.driver_files.empty() && request.drivers.empty())
        return base::fail(Errc::InvalidArgument, "--driver-files needs --driver",
                          "Name the version of the files: --driver VERSION.");
    if (request.drivers.empty() && request.kernels.empty() && request.images.empty() &&
        request.packages.empty() && request.files.empty())
        return base::fail(Errc::InvalidArgument, "nothing to collect",
                          "Use --driver VERSION, --kernel RELEASE, --image NAME or --package PACKAGE.");
    return request;
}

} // namespace gpuhost::ctl
