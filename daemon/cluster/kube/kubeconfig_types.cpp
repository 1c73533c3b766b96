// SPDX-License-Identifier: Apache-2.0
#include "daemon/cluster/kube/kubeconfig_types.hpp"

#include "daemon/base/base64.hpp"
#include "daemon/base/json.hpp"

#include <array>
#include <set>
#include <span>

namespace gpuhost::cluster {

using base::Errc;
using base::Json;
using base::Result;

namespace {

enum class Kind { Any, Text, Truth, Bytes, List, NamedList, Map, Object };

struct Type;
struct Member {
    std::string_view name;
    const Type* type;
};
struct Type {
    Kind kind;
    const Type* of = nullptr;             ///< element type of a List or a Map
    std::span<const Member> members = {}; ///< members of an Object
};

constexpr Type any{Kind::Any};
constexpr Type text{Kind::Text};
constexpr Type truth{Kind::Truth};
constexpr Type bytes{Kind::Bytes};
constexpr Type texts{Kind::List, &text};
constexpr Type text_map{Kind::Map, &text};
constexpr Type lists_of_texts{Kind::Map, &texts};

constexpr std::array extension_members{Member{"name", &text}, Member{"extension", &any}};
constexpr Type extension{Kind::Object, nullptr, extension_members};
constexpr Type extensions{Kind::NamedList, &extension};

constexpr std::array preferences_members{Member{"colors", &truth}, Member{"extensions", &extensions}};
constexpr Type preferences{Kind::Object, nullptr, preferences_members};

constexpr std::array cluster_members{
    Member{"server", &text},
    Member{"tls-server-name", &text},
    Member{"insecure-skip-tls-verify", &truth},
    Member{"certificate-authority", &text},
    Member{"certificate-authority-data", &bytes},
    Member{"proxy-url", &text},
    Member{"disable-compression", &truth},
    Member{"extensions", &extensions},
};
constexpr Type cluster{Kind::Object, nullptr, cluster_members};
constexpr std::array named_cluster_members{Member{"name", &text}, Member{"cluster", &cluster}};
constexpr Type named_cluster{Kind::Object, nullptr, named_cluster_members};
constexpr Type clusters{Kind::NamedList, &named_cluster};

constexpr std::array variable_members{Member{"name", &text}, Member{"value", &text}};
constexpr Type variable{Kind::Object, nullptr, variable_members};
constexpr Type variables{Kind::List, &variable};
constexpr std::array exec_members{
    Member{"command", &text},         Member{"args", &texts},       Member{"env", &variables},
    Member{"apiVersion", &text},      Member{"installHint", &text}, Member{"provideClusterInfo", &truth},
    Member{"interactiveMode", &text},
};
constexpr Type exec{Kind::Object, nullptr, exec_members};
constexpr std::array auth_provider_members{Member{"name", &text}, Member{"config", &text_map}};
constexpr Type auth_provider{Kind::Object, nullptr, auth_provider_members};

constexpr std::array user_members{
    Member{"client-certificate", &text},
    Member{"client-certificate-data", &bytes},
    Member{"client-key", &text},
    Member{"client-key-data", &bytes},
    Member{"token", &text},
    Member{"tokenFile", &text},
    Member{"as", &text},
    Member{"as-uid", &text},
    Member{"as-groups", &texts},
    Member{"as-user-extra", &lists_of_texts},
    Member{"username", &text},
    Member{"password", &text},
    Member{"auth-provider", &auth_provider},
    Member{"exec", &exec},
    Member{"extensions", &extensions},
};
constexpr Type user{Kind::Object, nullptr, user_members};
constexpr std::array named_user_members{Member{"name", &text}, Member{"user", &user}};
constexpr Type named_user{Kind::Object, nullptr, named_user_members};
constexpr Type users{Kind::NamedList, &named_user};

constexpr std::array context_members{Member{"cluster", &text}, Member{"user", &text},
                                     Member{"namespace", &text}, Member{"extensions", &extensions}};
constexpr Type context{Kind::Object, nullptr, context_members};
constexpr std::array named_context_members{Member{"name", &text}, Member{"context", &context}};
constexpr Type named_context{Kind::Object, nullptr, named_context_members};
constexpr Type contexts{Kind::NamedList, &named_context};

constexpr std::array config_members{
    Member{"kind", &text},
    Member{"apiVersion", &text},
    Member{"preferences", &preferences},
    Member{"clusters", &clusters},
    Member{"users", &users},
    Member{"contexts", &contexts},
    Member{"current-context", &text},
    Member{"extensions", &extensions},
};
constexpr Type config{Kind::Object, nullptr, config_members};

tl::unexpected<base::Error> wrong(const std::string& where, std::string_view problem, std::string hint) {
    return base::fail(Errc::BadContent, where + " " + std::string(problem), std::move(hint));
}

Result<void> check(const Json& value, const Type& type, const std::string& where);

Result<void> check_list(const Json& value, const Type& type, const std::string& where) {
    if (!value.is_array())
        return wrong(where, "is not a list", "Begin each of its entries with '- '.");
    std::set<std::string> names;
    for (std::size_t i = 0; i < value.size(); ++i) {
        GPUHOST_CHECK(check(value[i], *type.of, where + "[" + std::to_string(i) + "]"));
        if (type.kind == Kind::NamedList && !names.insert(base::string_or(value[i], "name", "")).second)
            return wrong(where + "[" + std::to_string(i) + "]", "has the name of an earlier entry",
                         "Remove one of the two.");
    }
    return {};
}

Result<void> check_map(const Json& value, const Type& type, const std::string& where) {
    if (!value.is_object())
        return wrong(where, "is not a map", "Write members below it, one a line, as 'key: value'.");
    if (type.kind == Kind::Map)
        for (const auto& item : value.items())
            GPUHOST_CHECK(check(item.value(), *type.of, where + ".*"));
    for (const Member& member : type.members)
        GPUHOST_CHECK(check(base::member(value, member.name), *member.type,
                            where + (where.back() == ' ' ? "" : ".") + std::string(member.name)));
    return {};
}

Result<void> check(const Json& value, const Type& type, const std::string& where) {
    if (value.is_null())
        return {};
    switch (type.kind) {
    case Kind::Any:
        return {};
    case Kind::Text:
        return value.is_string() ? Result<void>() : wrong(where, "is not a string", "Put it in quotes.");
    case Kind::Truth:
        return value.is_boolean() ? Result<void>()
                                  : wrong(where, "is neither true nor false", "Write it without quotes.");
    case Kind::Bytes:
        return value.is_string() && base::decode_base64(value.get_ref<const std::string&>())
                   ? Result<void>()
                   : wrong(where, "is not valid base64", "Encode the file with base64 -w0 FILE.");
    case Kind::List:
    case Kind::NamedList:
        return check_list(value, type, where);
    case Kind::Map:
    case Kind::Object:
        return check_map(value, type, where);
    }
    return {};
}

} // namespace

Result<void> check_kubeconfig_types(const Json& document, std::string_view what) {
    if (!document.is_object())
        return wrong(std::string(what) + ":", "is not a kubeconfig: it is not a map", "");
    return check(document, config, std::string(what) + ": ");
}

} // namespace gpuhost::cluster
