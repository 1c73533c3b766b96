# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/ctl/cli images images/host images/store
daemon_ctl_libctl_a_SOURCES += \
    %D%/list.cpp \
    %D%/pin.cpp \
    %D%/place.cpp \
    %D%/place.hpp \
    %D%/policy.cpp \
    %D%/pull.cpp \
    %D%/show.cpp \
    %D%/verbs.hpp \
    %D%/view.cpp
