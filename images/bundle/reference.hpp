// SPDX-License-Identifier: Apache-2.0
// Names of images, as containerd and the kubelet understand them.
//
// Grammar: github.com/distribution/reference. "busybox" is docker.io/library/busybox:latest; the part before the
// first "/" is a registry only if it has a "." or ":" in it or is "localhost".
#pragma once

#include "daemon/base/result.hpp"

#include <string>
#include <string_view>

namespace gpuhost::images {

struct Reference {
    std::string registry;   ///< "docker.io", "registry.example:5000"
    std::string repository; ///< "library/busybox"
    std::string tag;        ///< empty in a reference by digest
    std::string digest;     ///< "sha256:<hex>"; a tag beside it means nothing and is dropped

    /// "docker.io/library/busybox:latest", or "…@sha256:<hex>".
    [[nodiscard]] std::string text() const;
    friend auto operator<=>(const Reference&, const Reference&) = default;
};

/// Normalised: what names the same image has the same text(). InvalidArgument for what is no name.
[[nodiscard]] base::Result<Reference> parse_reference(std::string_view text);

/// "[a-z0-9]…" with its separators, "/" between components: what a registry takes in a path.
[[nodiscard]] bool is_repository(std::string_view text);
[[nodiscard]] bool is_tag(std::string_view text);

/// The hex digits of "sha256:<hex>"; empty for anything else. Checked before any use as a file's name.
[[nodiscard]] std::string_view digest_hex(std::string_view digest);

enum class PullPolicy { Always, IfNotPresent, Never };

/// What the API server puts where a pod says nothing (SetDefaults_Container): Always for the tag "latest", also
/// where a digest beside it pins the image; IfNotPresent otherwise. Looks at the text as the pod has it.
[[nodiscard]] PullPolicy default_pull_policy(std::string_view text);

} // namespace gpuhost::images
