# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libhost.a
%C%_libhost_a_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
%C%_libhost_a_SOURCES = \
    %D%/bus_connection.cpp \
    %D%/bus_connection.hpp \
    %D%/event.cpp \
    %D%/event.hpp \
    %D%/journal_sink.cpp \
    %D%/journal_sink.hpp \
    %D%/notify.cpp \
    %D%/notify.hpp
include daemon/host/manager/local.mk
include daemon/host/transaction/local.mk
include daemon/host/worker/local.mk
