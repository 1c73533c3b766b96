# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/content/crypto daemon/ctl/cli daemon/ctl/host images/bundle
#   images/create images/import images/store kmod kmod/module kmod/plan kmod/store
daemon_ctl_libctl_a_SOURCES += \
    %D%/content.cpp \
    %D%/content.hpp \
    %D%/create.cpp \
    %D%/create.hpp \
    %D%/diff.cpp \
    %D%/fetch.cpp \
    %D%/fetch.hpp \
    %D%/files.cpp \
    %D%/files.hpp \
    %D%/host_inventory.cpp \
    %D%/host_inventory.hpp \
    %D%/hosts.cpp \
    %D%/hosts.hpp \
    %D%/import.cpp \
    %D%/inventory_export.cpp \
    %D%/list.cpp \
    %D%/output.cpp \
    %D%/output.hpp \
    %D%/remove.cpp \
    %D%/scrub.cpp \
    %D%/show.cpp \
    %D%/signing.cpp \
    %D%/signing.hpp \
    %D%/verbs.hpp \
    %D%/verify.cpp \
    %D%/view.cpp
