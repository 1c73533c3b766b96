# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/cluster/kube daemon/ctl/cli daemon/ctl/cluster
daemon_ctl_libctl_a_SOURCES += \
    %D%/source.cpp \
    %D%/source.hpp \
    %D%/status.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp \
    %D%/view.hpp
