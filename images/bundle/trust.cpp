// SPDX-License-Identifier: Apache-2.0
#include "images/bundle/trust.hpp"

#include "daemon/base/parse.hpp"

#include <algorithm>
#include <array>

namespace gpuhost::images {

using base::Errc;
using base::Result;

namespace {

constexpr std::array suffixes{std::string_view(".pem"), std::string_view(".crt"), std::string_view(".crl")};
constexpr std::size_t most_files = 256;
constexpr std::size_t file_limit = 16U << 20U; ///< bytes; revocation lists of large sites have megabytes

bool is_trust_file(const std::string& name) {
    return name.front() != '.' && std::any_of(suffixes.begin(), suffixes.end(), [&](std::string_view suffix) {
               return base::ends_with(name, suffix);
           });
}

} // namespace

Result<content::TrustAnchors> load_trust(const base::Root& root) {
    content::TrustAnchors trust;
    auto names = root.list(trust_directory);
    if (!names && names.error().code != Errc::NotFound)
        return base::fail(std::move(names).error());
    std::size_t files = 0;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        if (!is_trust_file(name))
            continue;
        const std::string path = std::string(trust_directory) + "/" + name;
        if (++files > most_files)
            return base::fail(Errc::BadContent, std::string(trust_directory) + ": too many files");
        GPUHOST_TRY(pem, root.read(path, file_limit));
        GPUHOST_CHECK(trust.add(pem, path));
    }
    if (trust.empty())
        return base::fail(Errc::AccessDenied,
                          "no trusted certificate in " + std::string(trust_directory) +
                              ": bundles cannot be verified",
                          "Put the certificate of the site's authority there, in PEM, as NAME.pem.");
    return trust;
}

} // namespace gpuhost::images
