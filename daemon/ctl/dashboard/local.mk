# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base daemon/client daemon/cluster/kube daemon/ctl/bundle daemon/ctl/cli
#   daemon/ctl/cluster daemon/ctl/gpu daemon/ctl/host daemon/ctl/runtime daemon/ctl/toolkit
daemon_ctl_libctl_a_SOURCES += \
    %D%/detail.cpp \
    %D%/frame.cpp \
    %D%/frame.hpp \
    %D%/layout.cpp \
    %D%/layout.hpp \
    %D%/loop.cpp \
    %D%/loop.hpp \
    %D%/model.cpp \
    %D%/model.hpp \
    %D%/source.cpp \
    %D%/source.hpp \
    %D%/styled.cpp \
    %D%/styled.hpp \
    %D%/verb.cpp \
    %D%/view.cpp \
    %D%/view.hpp

# A library of its own, because the macros in NCURSES_CFLAGS are not meant for other sources.
noinst_LIBRARIES += %D%/libscreen.a
%C%_libscreen_a_CPPFLAGS = $(AM_CPPFLAGS) $(NCURSES_CFLAGS)
%C%_libscreen_a_SOURCES = %D%/screen.cpp %D%/screen.hpp
