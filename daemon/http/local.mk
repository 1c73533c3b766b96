# SPDX-License-Identifier: Apache-2.0
# may include: daemon/base
noinst_LIBRARIES += %D%/libhttp.a
%C%_libhttp_a_SOURCES = \
    %D%/client.cpp \
    %D%/client.hpp \
    %D%/connections.cpp \
    %D%/connections.hpp \
    %D%/tls_files.cpp \
    %D%/tls_files.hpp \
    %D%/transfer.cpp \
    %D%/transfer.hpp \
    %D%/transfer_setup.cpp
