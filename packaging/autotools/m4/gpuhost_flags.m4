# SPDX-License-Identifier: Apache-2.0

# GPUHOST_WARNING_FLAGS and GPUHOST_HARDENING_FLAGS add the flags that this compiler accepts to GPUHOST_CXXFLAGS,
# GPUHOST_CPPFLAGS and GPUHOST_LDFLAGS. Each flag is tested separately. The user's CXXFLAGS follow, unchanged.
AC_DEFUN([GPUHOST_WARNING_FLAGS], [
AX_APPEND_COMPILE_FLAGS(m4_normalize([
    -Wall -Wextra -Wformat=2 -Wshadow -Wconversion -Wno-sign-conversion -Wimplicit-fallthrough
    -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override -Wcast-align -Wundef -Wnull-dereference
    -Wduplicated-cond -Wlogical-op -Werror=format-security -Werror=return-type -Wno-psabi]),
    [GPUHOST_CXXFLAGS], [-Wformat -Werror])
AS_IF([test "x$enable_werror" = xyes], [GPUHOST_CXXFLAGS="$GPUHOST_CXXFLAGS -Werror"])
])

AC_DEFUN([GPUHOST_HARDENING_FLAGS], [
AX_APPEND_COMPILE_FLAGS(m4_normalize([
    -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero
    -fstrict-flex-arrays=3 -fvisibility=hidden -fPIE]),
    [GPUHOST_CXXFLAGS], [-Werror])
AX_APPEND_LINK_FLAGS(m4_normalize([
    -pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--as-needed]),
    [GPUHOST_LDFLAGS])
# Programs keep only the functions that they can reach; with sanitizers, also others.
gpuhost_gc_sections=no
AX_CHECK_LINK_FLAG([-Wl,--gc-sections], [
    AS_IF([test "x$gpuhost_sanitize" = x], [gpuhost_gc_sections=yes])
    AX_APPEND_COMPILE_FLAGS([-ffunction-sections -fdata-sections], [GPUHOST_CXXFLAGS], [-Werror])
    GPUHOST_LDFLAGS="$GPUHOST_LDFLAGS -Wl,--gc-sections"])
GPUHOST_CPPFLAGS="$GPUHOST_CPPFLAGS -D_GLIBCXX_ASSERTIONS"
GPUHOST_FORTIFY
])

# _FORTIFY_SOURCE needs optimization and conflicts with the sanitizers. A value set by a distribution is kept.
AC_DEFUN([GPUHOST_FORTIFY], [
AC_MSG_CHECKING([for _FORTIFY_SOURCE])
gpuhost_fortify=
AS_CASE([" $CPPFLAGS $CXXFLAGS "],
    [*_FORTIFY_SOURCE*], [AC_MSG_RESULT([set by the user])],
    [AS_IF([test "x$gpuhost_sanitize" != x], [AC_MSG_RESULT([no, sanitizers])], [
        gpuhost_saved_CPPFLAGS=$CPPFLAGS
        for gpuhost_level in 3 2; do
            CPPFLAGS="$gpuhost_saved_CPPFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$gpuhost_level"
            AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <features.h>
#if !defined __OPTIMIZE__ || __USE_FORTIFY_LEVEL != _FORTIFY_SOURCE
#error "no such level"
#endif]])],
                [gpuhost_fortify="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$gpuhost_level"; break])
        done
        CPPFLAGS=$gpuhost_saved_CPPFLAGS
        AC_MSG_RESULT([${gpuhost_fortify:-no}])
    ])])
GPUHOST_CPPFLAGS="$GPUHOST_CPPFLAGS $gpuhost_fortify"
])

# GPUHOST_SANITIZERS(FLAGS): compiles and links everything with FLAGS. `make SANITIZER_CXXFLAGS=` compiles without them.
AC_DEFUN([GPUHOST_SANITIZERS], [
AX_CHECK_LINK_FLAG([$1], [], [AC_MSG_ERROR([this compiler has no $1])])
gpuhost_sanitize="$1"
SANITIZER_CXXFLAGS="$1 -fno-sanitize-recover=all -fno-omit-frame-pointer"
GPUHOST_LDFLAGS="$GPUHOST_LDFLAGS $1"
])
