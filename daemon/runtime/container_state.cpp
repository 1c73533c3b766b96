// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/container_state.hpp"

#include "daemon/base/handle.hpp"
#include "daemon/base/json.hpp"
#include "daemon/base/parse.hpp"
#include "daemon/base/root.hpp"

#include <cerrno>

#include <fcntl.h>

namespace gpuhost::runtime {
namespace {

using base::Errc;
using base::fail;
using base::Result;

Result<std::string> root_of_bundle(const std::string& bundle) {
    const std::string path = bundle + "/config.json";
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
        return base::fail_errno(path, errno);
    GPUHOST_TRY(text, base::read_all(file.get(), max_config, path));
    GPUHOST_TRY(config, base::parse_json(text, path));
    auto root = base::get_string(base::member(config, "root"), "path");
    if (!root || root->empty())
        return fail(Errc::BadContent, path + ": no root.path");
    return base::starts_with(*root, "/") ? std::move(*root) : bundle + "/" + *root;
}

} // namespace

Result<std::string> container_root_path(std::string_view state) {
    GPUHOST_TRY(document, base::parse_json(state, "the container's state"));
    std::string root = base::string_or(document, "root", "");
    if (base::starts_with(root, "/"))
        return root;
    const std::string bundle = base::string_or(document, "bundle", "");
    if (!base::starts_with(bundle, "/"))
        return fail(Errc::BadContent, "the container's state: no absolute path in 'bundle'",
                    "An OCI runtime writes the state to a hook's standard input.");
    return root_of_bundle(bundle);
}

} // namespace gpuhost::runtime
