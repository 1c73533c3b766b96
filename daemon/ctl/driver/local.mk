# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/content/crypto daemon/core daemon/ctl/cli daemon/ctl/host
#   images/bundle kmod kmod/module kmod/store
daemon_ctl_libctl_a_SOURCES += \
    %D%/adopt.cpp \
    %D%/build.cpp \
    %D%/clean.cpp \
    %D%/export.cpp \
    %D%/history.cpp \
    %D%/import.cpp \
    %D%/list.cpp \
    %D%/pin.cpp \
    %D%/prepare.cpp \
    %D%/remove.cpp \
    %D%/rollback.cpp \
    %D%/set_default.cpp \
    %D%/show.cpp \
    %D%/swap.cpp \
    %D%/verbs.hpp \
    %D%/verify.cpp \
    %D%/view.cpp \
    %D%/view_history.cpp \
    %D%/view_installed.cpp \
    %D%/view_installed.hpp
