# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/cluster/kube daemon/cluster/policy daemon/content/crypto daemon/core
#   daemon/ctl/cli
daemon_ctl_libctl_a_SOURCES += \
    %D%/join.cpp \
    %D%/leave.cpp \
    %D%/offer.cpp \
    %D%/offer.hpp \
    %D%/policy.cpp \
    %D%/service.cpp \
    %D%/service.hpp \
    %D%/status.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
