// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/symlinks.hpp"

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::string_view separator = "::";

struct Link {
    std::string_view target;
    std::string_view path;
};

Result<Link> parse_link(std::string_view text) {
    const auto at = text.find(separator);
    const bool two = at != std::string_view::npos && at == text.rfind(separator);
    if (!two || at == 0 || at + separator.size() == text.size())
        return fail(Errc::InvalidArgument, "link '" + std::string(text) + "': not TARGET::LINK");
    return Link{text.substr(0, at), text.substr(at + separator.size())};
}

} // namespace

Result<void> create_symlinks(const ContainerRoot& root, const std::vector<std::string>& links) {
    std::vector<Link> parsed;
    for (const std::string& text : links) {
        GPUHOST_TRY(link, parse_link(text));
        parsed.push_back(link);
    }
    Result<void> refused;
    for (const Link& link : parsed) {
        auto done = root.symlink(link.target, link.path);
        if (!done && done.error().code != Errc::Refused)
            return done;
        if (!done)
            refused = std::move(done);
    }
    return refused;
}

} // namespace gpuhost::runtime
