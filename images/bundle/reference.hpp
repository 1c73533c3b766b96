// SPDX-License-Identifier: Apache-2.0
// Image names, as containerd and the kubelet parse them.
//
// Grammar: github.com/distribution/reference. "busybox" is docker.io/library/busybox:latest. The part before
// the first "/" is a registry only if it contains "." or ":" or is "localhost".
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::images {

struct Reference {
    std::string registry;   ///< "docker.io", "registry.example:5000"
    std::string repository; ///< "library/busybox"
    std::string tag;        ///< empty in a reference by digest
    std::string digest;     ///< "sha256:<hex>"; empty in a reference by tag. A tag beside a digest is dropped

    /// Returns "docker.io/library/busybox:latest", or "…@sha256:<hex>".
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(const Reference&, const Reference&) = default;
};

/// Returns the normalised reference: names of the same image have the same text(). Fails with InvalidArgument
/// for an invalid name.
[[nodiscard]] base::Result<Reference> parse_reference(std::string_view text);

/// Accepts a repository as in the paths of a registry's HTTP API, "library/busybox". Its components are
/// lower-case letters and digits with separators.
[[nodiscard]] bool is_repository(std::string_view text);
[[nodiscard]] bool is_tag(std::string_view text);

/// Returns the hex digits of "sha256:<hex>"; empty for anything else. Callers that use a digest as a file
/// name call this first, because the digest may be untrusted.
[[nodiscard]] std::string_view digest_hex(std::string_view digest);

enum class PullPolicy { Always, IfNotPresent, Never };

/// Returns the pull policy that the API server sets for a pod without one (SetDefaults_Container). It is
/// Always for the tag "latest", even if a digest after the tag pins the image. It is also Always without tag
/// and digest. Otherwise it is IfNotPresent. `text` is the image name exactly as the pod has it.
[[nodiscard]] PullPolicy default_pull_policy(std::string_view text);

} // namespace gpuhost::images
