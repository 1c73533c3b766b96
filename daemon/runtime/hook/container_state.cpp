// SPDX-License-Identifier: Apache-2.0
#include "daemon/runtime/hook/container_state.hpp"

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

Result<RootOfState> root_of_bundle(const std::string& bundle) {
    if (!base::starts_with(bundle, "/"))
        return fail(Errc::BadContent, "the container's state: no absolute path in 'bundle'",
                    "Pass the container's state on standard input, as an OCI runtime does.");
    const std::string path = bundle + "/config.json";
    const base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
        return base::fail_errno(path, errno);
    GPUHOST_TRY(text, base::read_all(file.get(), max_config, path));
    GPUHOST_TRY(config, base::parse_json(text, path));
    const base::Json& root = base::member(config, "root");
    const std::string found = base::string_or(root, "path", "");
    if (found.empty())
        return fail(Errc::BadContent, path + ": no root.path");
    return RootOfState{base::starts_with(found, "/") ? found : bundle + "/" + found,
                       base::member(root, "readonly") == true};
}

} // namespace

Result<RootOfState> container_root(std::string_view state) {
    GPUHOST_TRY(document, base::parse_json(state, "the container's state"));
    const std::string root = base::string_or(document, "root", "");
    auto configured = root_of_bundle(base::string_or(document, "bundle", ""));
    if (base::starts_with(root, "/"))
        return RootOfState{root, configured && configured->read_only};
    return configured;
}

} // namespace gpuhost::runtime
