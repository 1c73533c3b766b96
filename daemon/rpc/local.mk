# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/librpc.a
%C%_librpc_a_CPPFLAGS = $(AM_CPPFLAGS) $(NGHTTP2_CFLAGS)
%C%_librpc_a_SOURCES = \
    %D%/acceptor.cpp \
    %D%/acceptor.hpp \
    %D%/client.cpp \
    %D%/client.hpp \
    %D%/client_session.cpp \
    %D%/client_session.hpp \
    %D%/connection.cpp \
    %D%/connection.hpp \
    %D%/http2.cpp \
    %D%/http2.hpp \
    %D%/limits.hpp \
    %D%/message.cpp \
    %D%/message.hpp \
    %D%/poller.cpp \
    %D%/poller.hpp \
    %D%/server.cpp \
    %D%/server.hpp \
    %D%/server_callbacks.cpp \
    %D%/server_callbacks.hpp \
    %D%/server_session.cpp \
    %D%/server_session.hpp \
    %D%/server_stream.cpp \
    %D%/server_stream.hpp \
    %D%/service.cpp \
    %D%/service.hpp \
    %D%/socket.cpp \
    %D%/socket.hpp \
    %D%/status.cpp \
    %D%/status.hpp
include daemon/rpc/kubelet/local.mk
